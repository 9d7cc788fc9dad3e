"""docs/accuracy.md is what the script writes from the shipped parameters, and says what it must."""

from __future__ import annotations

import dataclasses
import math

import pytest

from benchmarks.accuracy import folds, tables, worst
from benchmarks.accuracy.__main__ import main
from benchmarks.accuracy.frame import Frame, frame
from benchmarks.accuracy.markdown import number, percent, table
from benchmarks.accuracy.ordering import section as ordering
from benchmarks.accuracy.report import TARGET, TIMES, report
from benchmarks.accuracy.statistics import Scored, median_error, shared, summary
from benchmarks.rows import measurements, purposes


@pytest.fixture(scope="module")
def known() -> Frame:
    return frame()


@pytest.fixture
def _once(known: Frame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Predict all rows once for the tests that write the page."""
    monkeypatch.setattr("benchmarks.accuracy.report.frame", lambda: known)


def row(name: str = "x", measured: float = 10.0, mid: float = 10.0, **more: object) -> Scored:
    plain = Scored(
        id=name,
        source="S99",
        purpose=tables.VALIDATION,
        quantity="TPOT, batch 1",
        model="m",
        accelerator="L4",
        hardware="gddr",
        engine="e",
        family="compiled",
        weights="16 bit",
        batch=1,
        devices=1,
        measured=measured,
        low=0.8 * mid,
        mid=mid,
        high=1.5 * mid,
        kind="fit",
        others={},
    )
    return dataclasses.replace(plain, **more)


@pytest.mark.usefixtures("_once")
def test_the_page_is_what_the_script_writes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr()


@pytest.mark.usefixtures("_once")
def test_a_page_that_was_edited_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "accuracy.md"
    copy.write_text(TARGET.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    monkeypatch.setattr("benchmarks.accuracy.__main__.TARGET", copy)
    assert main(["--check"]) == 1
    assert "run python -m benchmarks.accuracy" in capsys.readouterr().out


@pytest.mark.usefixtures("_once")
def test_kept_folds_of_another_engine_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(folds, "mark", lambda _: "another")
    assert main(["--check"]) == 1
    assert "python -m benchmarks.accuracy.folds" in capsys.readouterr().err


def test_every_row_of_the_file_is_scored_or_accounted_for(known: Frame) -> None:
    assert len(known.scored) + len(known.suspect) + len(known.unsupported) == len(measurements())
    assert all(result.reason for _, result in known.unsupported)
    assert {row.source for row in known.scored} <= set(purposes())
    assert all("SUSPECT" in row["notes"] for row, _ in known.suspect)


@pytest.mark.usefixtures("_once")
def test_the_page_names_every_source_tool_and_unmet_goal(known: Frame) -> None:
    page = report()
    for source in {row.source for row in known.scored if row.quantity in TIMES}:
        assert f"| {source} |" in page
    for tool in ("naive", "llm-analysis", "mlsysim", "ridgepoint", "servcalc"):
        assert f"- **{tool}** (" in page
    for goal in tables.GOALS:
        assert f"| {goal.name} | ≤ " in page


def test_values_of_a_band_stay_in_order_when_a_rate_becomes_a_time(known: Frame) -> None:
    assert all(row.low <= row.mid <= row.high for row in known.scored)


def test_a_summary_counts_what_it_says() -> None:
    said = summary([row(measured=10), row(measured=8), row(measured=20)])
    assert said is not None
    assert said.n == 3
    assert said.error == pytest.approx(0.25)  # of 0, 0.25, 0.5
    assert said.within == pytest.approx(1 / 3)
    assert said.held == pytest.approx(2 / 3)  # 8 and 10 lie in 8 to 15
    assert said.half_width == pytest.approx(0.35)
    assert summary([]) is None


def test_a_tool_is_compared_on_the_rows_it_supports() -> None:
    rows = [row(others={"tool": 12.0}), row(others={}), row(others={"tool": 9.0})]
    assert len(shared(rows, "tool")) == 2
    assert median_error(rows, "tool") == pytest.approx(0.15)
    assert median_error(rows, "nobody") is None


def test_a_tool_that_is_nearer_is_said_so() -> None:
    near = [row(f"{i}", mid=12.0, others={"tool": 11.0, "naive": 5.0}) for i in range(10)]
    said = tables.lost(near, ["tool"], 10, 100)
    assert "tool on TPOT, batch 1, unseen (10 % against 20 %, n = 10)" in said
    assert tables.lost(near[:9], ["tool"], 10, 100) == []
    assert "**tool**" in tables.beside(near, ["tool"])
    far = [row(f"{i}", mid=10.5, others={"tool": 20.0, "naive": 5.0}) for i in range(10)]
    assert tables.lost(far, ["tool"], 10, 100) == []
    assert "| labkit |" in tables.beside(far, ["tool"])


def test_order_is_right_wrong_or_a_tie() -> None:
    # Measured 10 < 20 and 10 < 21 …: labkit has them right, the naive formula wrong.
    fast = [row(f"f{i}", 10.0, 10.0, others={"naive": 9.0}) for i in range(5)]
    slow = [row(f"s{i}", 25.0, 30.0, others={"naive": 3.0}) for i in range(5)]
    last = ordering(fast + slow).splitlines()[-1]
    assert last == "| over 2 times | 25 | 100 % | 0 % | 0 | – | – |"


def test_every_reason_for_a_far_row_speaks_of_one(known: Frame) -> None:
    for reason in worst.REASONS:
        assert any(reason.holds_for(row) for row in known.scored), reason.sentence
    assert worst.reason_of(row()) == worst.UNEXPLAINED


def test_held_out_errors_are_in_the_unit_of_the_quantity(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    mark = tmp_path / "folds.mark"
    mark.write_text("m\n", encoding="utf-8")
    monkeypatch.setattr(folds, "MARK", mark)
    record = {"source": "S99", "log_ratio": str(math.log(2)), "held_out": "1"}
    monkeypatch.setattr(folds, "read", lambda _: [{"id": "t", **record}, {"id": "r", **record}])
    rows = [row("t"), row("r", quantity="throughput"), row("not fitted")]
    found = folds.held(rows, "m")
    # The time is twice what was predicted: 50 % off as a time, 100 % as a rate.
    assert [one.error for one in found] == pytest.approx([0.5, 1.0])


def test_markdown() -> None:
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --: |\n| 1 | 2 |"
    assert [percent(v) for v in (None, 0.123, 12.0)] == ["–", "12 %", "> 1,000 %"]
    assert [number(v) for v in (1234.5, 0.01234)] == ["1,234", "0.0123"]
