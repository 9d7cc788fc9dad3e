"""Noisy measurements are refused, by their own samples and not by the machine's load."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.bench.noise import NoisyMeasurement, complaints, refuse_if_noisy
from labkit.contract import LabkitError, Record, Series

QUIET = (10.0, 10.1, 9.9, 10.05, 10.2, 9.95, 10.0)
WILD = (10.0, 16.0, 9.0, 15.0, 10.5, 17.0, 9.5)


def record(facts: dict[str, Any] | None = None, **series: tuple[float, ...]) -> Record:
    return Record(
        id="machine",
        title="t",
        live=True,
        made_on="2026-01-02",
        hardware={"summary": "a machine"},
        versions={},
        series=tuple(Series(name, "ms", samples) for name, samples in series.items()),
        facts={"device": "cpu", **(facts or {})},
    )


def test_a_quiet_record_passes_unchanged() -> None:
    quiet = record({"cpu_share": {"a": 0.99}}, a=QUIET)
    assert refuse_if_noisy(quiet) is quiet


def test_wild_samples_are_refused_with_both_ways_on() -> None:
    with pytest.raises(NoisyMeasurement, match=r"^This measurement is too noisy to keep: b: ") as e:
        refuse_if_noisy(record(a=QUIET, b=WILD))
    assert isinstance(e.value, LabkitError)
    assert "run it again" in str(e.value)
    assert "replay=True" in str(e.value)
    assert e.value.record["b"].samples == WILD


def test_one_outlier_among_many_is_not_noise() -> None:
    assert complaints(record(a=(*QUIET, 90.0))) == []


def test_steady_samples_without_the_core_are_refused() -> None:
    """Two programs that share a core evenly give steady times, at half the speed."""
    found = complaints(record({"cpu_share": {"a": 0.51}}, a=QUIET))
    assert [c.series for c in found] == ["a"]
    assert "51%" in found[0].reason


def test_a_waiting_cpu_says_nothing_about_a_gpu() -> None:
    assert complaints(record({"cpu_share": {"a": 0.2}, "device": "cuda"}, a=QUIET)) == []
    assert complaints(record({"device": "cuda"}, a=WILD)) != []


def test_the_worst_comes_first_and_the_rest_is_counted() -> None:
    noisy = record({"cpu_share": {"a": 0.85}}, a=QUIET, b=WILD)
    assert [c.series for c in complaints(noisy)] == ["b", "a"]
    with pytest.raises(NoisyMeasurement, match=r"b \(and 1 more\)"):
        refuse_if_noisy(noisy)
