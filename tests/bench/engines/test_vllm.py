"""vLLM for real: installed into its cached environment, and compared at the smallest honest size.

A machine that cannot have it fails here. Finer ratios are reported from a quiet run, not asserted.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from labkit import bench
from labkit.bench.engine.install import install
from labkit.contract import Record

pytestmark = [pytest.mark.heavy, pytest.mark.quiet]
GIB = 1 << 30


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    found = install("vllm")
    assert install("vllm") == found  # the second time nothing happens


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("LABKIT_RECORDS", "LABKIT_REPLAY", "LABKIT_RUNNER"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".labkit").mkdir()
    monkeypatch.setenv("LABKIT_WORKSPACE", str(tmp_path))


def measured(quick: bool = True) -> Record:
    try:
        return bench.engines(quick=quick, modes=["continuous", "vllm"])
    except bench.NoisyMeasurement as noisy:
        return noisy.record


def test_vllm_says_the_same_and_is_faster_only_in_company() -> None:
    record = measured()
    vllm = record.facts["modes"]["vllm"]
    assert vllm["origin"] == ""
    assert vllm["agreement"] >= record.facts["agreement_needed"]
    assert vllm["counts"]
    assert statistics.median(vllm["speedup"]) > 1
    assert statistics.median(vllm["alone"]) > 0.5
    assert statistics.median(vllm["alone"]) < statistics.median(vllm["speedup"])
    assert statistics.median(record.facts["modes"]["continuous"]["speedup"]) > 1
    # Worker and server together.
    peaks = [mode["memory_bytes"] for mode in record.facts["modes"].values()]
    assert max(peaks[:-1]) + vllm["memory_bytes"] < 6 * GIB


def test_vllm_under_load() -> None:
    record = bench.load(quick=True, servers=["vllm"])
    facts = record.facts
    four = facts["staircase"]["vllm"]["levels"]["4"]
    # No staircase: on one, the last of four waits three quarters of its time for the others.
    assert four["ttft_ms"][-1] < 0.6 * four["e2e_ms"][-1]
    prefix, chunked = facts["prefix"]["vllm"], facts["chunked"]["vllm"]
    assert prefix["warm_ms"][0] < 0.5 * prefix["cold_ms"][0]
    assert chunked["chunked"]["worst_ms"][0] < chunked["whole"]["worst_ms"][0]
    assert facts["servers"]["vllm"]["memory_bytes"] < 5 * GIB
