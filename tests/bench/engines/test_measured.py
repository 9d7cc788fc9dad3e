"""Both measurements live at their smallest size, with what torch brings; relations only."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import bench
from labkit.bench.jobs.engines import QUICK_COUNT, QUICK_ROUNDS
from labkit.contract import Record

pytestmark = pytest.mark.quiet
GIB = 1 << 30


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("LABKIT_RECORDS", "LABKIT_REPLAY", "LABKIT_RUNNER"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".labkit").mkdir()
    monkeypatch.setenv("LABKIT_WORKSPACE", str(tmp_path))


def engines(*modes: str) -> Record:
    """A busy machine may scatter the samples; the relations hold all the same."""
    try:
        return bench.engines(quick=True, modes=modes)
    except bench.NoisyMeasurement as noisy:
        return noisy.record


def test_engines_quick() -> None:
    record = engines("static", "continuous")
    facts = record.facts
    modes = facts["modes"]
    assert record.live
    assert list(modes) == ["sequential", "static", "continuous"]
    assert len(facts["requests"]["output_tokens"]) == QUICK_COUNT
    assert facts["rounds"] == QUICK_ROUNDS
    for mode in modes.values():
        assert mode["agreement"] >= 0.95
        assert mode["counts"]
        assert len(mode["cpu_rate"]) == QUICK_ROUNDS
        assert 0 < mode["memory_bytes"] < 3 * GIB
    assert record.median("engines.continuous.cpu_rate") > record.median(
        "engines.sequential.cpu_rate"
    )
    assert record.median("engines.continuous.speedup") > record.median("engines.static.speedup")
    assert record.median("engines.continuous.alone") < record.median("engines.continuous.speedup")
    assert facts["address_space_limit_bytes"] in (6 * GIB, None)


def test_load_quick() -> None:
    record = bench.load(quick=True, servers=["plain", "continuous"])
    facts = record.facts
    stairs = {name: s["levels"]["4"]["ttft_ms"] for name, s in facts["staircase"].items()}
    # One at a time: the last waits for three whole answers. In one batch nobody does.
    assert stairs["plain"][3] > 2.5 * stairs["plain"][0]
    assert stairs["continuous"][3] < stairs["plain"][3]
    prefix = facts["prefix"]
    assert prefix["continuous"]["warm_ms"][0] < 0.5 * prefix["continuous"]["cold_ms"][0]
    assert prefix["plain"]["warm_ms"][0] > 0.5 * prefix["plain"]["cold_ms"][0]
    chunked = facts["chunked"]["continuous"]
    assert chunked["whole"]["worst_ms"][0] > 4 * chunked["whole"]["usual_ms"]
    assert chunked["chunked"]["worst_ms"][0] < chunked["whole"]["worst_ms"][0]
    assert "plain" not in facts["chunked"]
    for server in facts["servers"].values():
        assert server["memory_bytes"] < 3 * GIB
    assert bench.last("load") == record
