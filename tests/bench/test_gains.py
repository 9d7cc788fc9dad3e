"""Published gains of batching: the benchmarks' rows, and what their answer lengths alone give."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from labkit.bench.gains import published_gains
from labkit.contract import LabkitError
from labkit.exercises.lab05_batching.variance import gain as gain_of

ROOT = Path(__file__).parents[2]


def test_published_rows_are_the_benchmarks_rows() -> None:
    path = ROOT / "benchmarks" / "data" / "batching_speedups.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    gains = published_gains()
    assert len(gains) == 7
    for gain in gains:
        row = rows[gain.id]
        assert (gain.low, gain.high) == (float(row["low"]), float(row["high"]))
        assert gain.as_printed.replace("x to ", "x-") == row["as_printed"]
        assert gain.source
        assert gain.conditions
    alone = {gain.id: gain.from_scheduling() for gain in gains}
    assert alone["vllm-vs-oracle"] is None
    for gain in gains:
        if gain.outputs is not None:
            assert alone[gain.id] == pytest.approx(gain_of(gain.outputs, gain.slots))
            assert 1 < (alone[gain.id] or 0) < gain.low / 2  # none of them is scheduling alone


def test_a_damaged_table_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "batching-gains.csv").write_text("id,source\nx,y\n", encoding="utf-8")
    for path in (tmp_path / "batching-gains.csv", tmp_path / "none.csv"):
        with pytest.raises(LabkitError, match="install labkit afresh"):
            published_gains(path)
