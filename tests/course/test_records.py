"""Where a needed measurement is found: in the notebook, among what was handed in, or saved."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from labkit.contract import Record, Series, Status
from labkit.contract.paths import LEARNER_FILE, RECORDS_DIR, STATE_DIR
from labkit.course import kernel, records
from labkit.course.lab import Lab
from labkit.exercises import Tier, given
from labkit.exercises.kinds import MeasurementKind
from tests.course.toy import exercise, material

MEASURED = (
    exercise("1.5", tier=Tier.OWN, kind=MeasurementKind("machine", ("read",), ()), mistakes=()),
    exercise(
        "1.6",
        tier=Tier.OWN,
        needs=("machine",),
        mistakes=(),
        draw=lambda draw: (given.measured(draw.records["machine"], "read", "size", "size", "GB"),),
    ),
)


def record(value: float, live: bool = True, bench: str = "machine") -> Record:
    return Record(
        id=bench,
        title="This machine",
        live=live,
        made_on="2026-11-30",
        hardware={"summary": "a toy"},
        versions={},
        series=(Series("read", "GB/s", (value, value, value)),),
    )


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The variables of a notebook that seems to run here."""
    variables: dict[str, Any] = {}
    shell = SimpleNamespace(user_ns=variables)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.delenv("LABKIT_LEARNER", raising=False)
    return variables


@pytest.fixture(params=["workspace", "memory"])
def root(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path | None:
    monkeypatch.setenv("LABKIT_WORKSPACE", str(tmp_path / "none"))
    if request.param == "memory":
        return None
    (tmp_path / STATE_DIR).mkdir()
    (tmp_path / STATE_DIR / LEARNER_FILE).write_text('[learner]\nid = "ada"\n', "utf-8")
    return tmp_path


def open_lab(root: Path | None) -> Lab:
    return Lab("01", workspace=root, material=material(*MEASURED), show=lambda _thing: None)


def test_a_replay_in_the_notebook_is_worked_on_at_once(
    root: Path | None, names: dict[str, Any]
) -> None:
    lab = open_lab(root)
    assert "run the cell with bench.machine() first" in str(lab.given("1.6"))
    names["machine"] = record(9, live=False)
    assert lab.given("1.6").size == 9
    assert lab.check("1.6", 18).status is Status.PASSED


def test_the_notebook_comes_before_what_was_handed_in_and_that_before_what_is_saved(
    root: Path | None, names: dict[str, Any]
) -> None:
    if root is not None:
        records.keep(record(1), root)
        assert open_lab(root).given("1.6").size == 1
    lab = open_lab(root)
    lab.check("1.5", record(2))
    if root is not None:  # measured elsewhere meanwhile
        records.keep(record(3), root)
    assert lab.given("1.6").size == 2
    names["mine"] = record(4, live=False)
    assert lab.given("1.6").size == 4
    assert lab.carry("1.5") == record(2)  # an earlier answer is what was handed in


def test_the_newest_is_the_one_seen_last_not_the_name_made_last(names: dict[str, Any]) -> None:
    seen = kernel.Sightings()
    names |= {"machine": record(1), "_3": record(1), "other": record(7, bench="decode")}
    names["second"] = second = record(2)
    assert seen.newest("machine") is second
    names["machine"] = third = record(3)
    assert seen.newest("machine") is third
    del names["machine"]
    assert seen.newest("machine") is second
    names["_9"] = record(4)  # an output that nobody gave a name
    assert seen.newest("machine") is second
    del names["second"]
    assert seen.newest("machine") is names["_9"]
    assert seen.newest("unheard") is None


def test_objects_that_fight_back_are_not_asked(names: dict[str, Any]) -> None:
    class Hostile:
        @property
        def __class__(self) -> Any:  # type: ignore[override]
            raise RuntimeError("no")

    names |= {"trap": Hostile(), "machine": record(5)}
    found = kernel.Sightings().newest("machine")
    assert found is not None
    assert found.median("read") == 5


def test_a_saved_record_that_is_torn_is_one_that_has_yet_to_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABKIT_WORKSPACE", str(tmp_path / "none"))
    (tmp_path / STATE_DIR / RECORDS_DIR).mkdir(parents=True)
    (tmp_path / STATE_DIR / RECORDS_DIR / "machine.json").write_text('{"schema": 1, "id', "utf-8")
    assert records.kept("machine", tmp_path) is None
    records.keep(replace(record(6), live=False), tmp_path)
    assert records.kept("machine", tmp_path) == record(6, live=False)
    assert records.kept("../machine", tmp_path) is None
