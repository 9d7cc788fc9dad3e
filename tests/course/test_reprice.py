"""The use case, priced: the engine's own numbers, with band, price and age."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from labkit.catalog import Catalog
from labkit.contract import LabkitError
from labkit.course import reprice
from labkit.course.cards import Card, Notice, Table
from labkit.course.lab import Lab
from labkit.course.workload import FILE, UseCase, parse, template
from labkit.course.workspace import init
from labkit.sizing import EngineConfig, estimate

EXAMPLE = parse(template().decode("utf-8"))
CATALOG = Catalog.load()


def priced(use: UseCase) -> dict[str, reprice.Priced]:
    return {one.name: one for one in reprice.price(use, CATALOG)}


def table(use: UseCase, today: date = date(2026, 11, 30)) -> Table:
    return reprice.table(use, CATALOG, today)


@pytest.mark.parametrize("name", EXAMPLE.instances)
def test_the_numbers_are_the_engines(name: str) -> None:
    one = priced(EXAMPLE)[name]
    config = EngineConfig(weights="bf16", kv="bf16", batch=one.estimate.config.batch)
    again = estimate(EXAMPLE.spec(), CATALOG.instance(name), config, EXAMPLE.traffic)
    assert one.estimate == again
    assert again.requests_per_s is not None
    assert one.machines is not None
    assert one.machines.mid == math.ceil(2.0 / again.requests_per_s.mid)
    assert one.machines.low <= one.machines.mid <= one.machines.high
    assert one.usd_per_month is not None
    assert again.usd_per_hour is not None
    monthly = one.machines.mid * again.usd_per_hour * 730
    assert one.usd_per_month.mid == pytest.approx(monthly)


@pytest.mark.parametrize("name", EXAMPLE.instances)
def test_no_other_batch_carries_more_in_time(name: str) -> None:
    one = priced(EXAMPLE)[name]
    assert one.in_time
    for batch in range(1, 260, 7):
        config = EngineConfig(weights="bf16", kv="bf16", batch=batch)
        other = estimate(EXAMPLE.spec(), CATALOG.instance(name), config, EXAMPLE.traffic)
        late = any(r.code in reprice._SLOW for r in other.refusals)
        if other.fits and not late and batch in (1, 2, 4, 8, 16, 32, 64, 128, 256):
            assert other.requests_per_s.mid <= one.estimate.requests_per_s.mid


def test_band_price_age_and_source_of_ranges_are_shown() -> None:
    shown = str(table(EXAMPLE))
    assert "Price's age" in shown
    assert "The ranges come from published measurements" in shown
    price = CATALOG.instance("g6.xlarge").price("on-demand", "us-east-1")
    assert price is not None
    assert f"{price.usd_per_hour:.3f}" in shown
    assert price.age(date(2026, 11, 30)) in shown
    assert "within your budget of 1,500 USD" in shown
    assert "still the example" in shown


def test_an_old_price_is_called_expired() -> None:
    assert "expired" not in str(table(EXAMPLE))
    assert "expired" in str(table(EXAMPLE, date(2026, 11, 30) + timedelta(days=400)))


def test_what_does_not_run_says_why() -> None:
    shown = str(table(replace(EXAMPLE, model="llama-3-70b", instances=("g6.xlarge",))))
    assert "does not run" in shown
    assert "g6.xlarge: WEIGHTS: " in shown
    assert "None of these machines keeps your wishes" in shown


def test_a_wish_that_nothing_keeps_is_refused_with_its_number() -> None:
    use = replace(EXAMPLE, tpot_ms=1.0, instances=("g6e.xlarge",))
    one = priced(use)["g6e.xlarge"]
    assert not one.in_time
    assert one.estimate.config.batch == 1
    assert "SLO_TPOT" in str(table(use))


def test_a_region_without_a_price_is_not_guessed() -> None:
    shown = str(table(replace(EXAMPLE, region="eu-west-3")))
    assert "unknown" in shown
    assert "UNKNOWN_PRICE" in shown
    assert "None of these machines keeps your wishes at a known price" in shown


def test_over_budget_and_without_one() -> None:
    assert "over your budget of 10 USD" in str(table(replace(EXAMPLE, usd_per_month=10)))
    assert "budget" not in str(table(replace(EXAMPLE, usd_per_month=None)))


def test_in_a_lab(tmp_path: Path) -> None:
    init(tmp_path / "ws", "ada")
    lab = Lab("00", workspace=tmp_path / "ws", show=lambda _thing: None)
    use = lab.workload()
    assert isinstance(use, UseCase)
    assert isinstance(lab.reprice(), Table)
    (tmp_path / "ws" / FILE).write_text("[model]\nname = 3\n", encoding="utf-8")
    told = lab.reprice()
    assert isinstance(told, Notice)
    assert "line 2: model.name must be text" in str(told)
    (tmp_path / "ws" / FILE).unlink()
    assert "labkit init . --update" in str(lab.reprice())


def test_without_a_workspace_it_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LABKIT_WORKSPACE", raising=False)
    lab = Lab("00", strict=True, show=lambda _thing: None)
    shown = lab.reprice()
    assert isinstance(shown, Card)
    assert "labkit init DIR --learner ID" in str(shown)
    missing = lab.workload()
    assert "no workspace here" in str(missing)
    with pytest.raises(LabkitError, match="no workspace here"):
        missing.traffic  # noqa: B018  # using the notice raises its sentence
