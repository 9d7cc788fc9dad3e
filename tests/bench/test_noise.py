"""Noisy measurements are refused, by their own samples and not by the machine's load."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.bench.noise import Kind, NoisyMeasurement, complaints, refuse_if_noisy
from labkit.contract import LabkitError, Record, Series

QUIET = (10.0, 10.1, 9.9, 10.05, 10.2, 9.95, 10.0)
WILD = (10.0, 16.0, 9.0, 15.0, 10.5, 17.0, 9.5)


def record(facts: dict[str, Any] | None = None, **series: tuple[float, ...]) -> Record:
    """A record of these series; "a" is called "Figure a"."""
    return Record(
        id="machine",
        title="t",
        live=True,
        made_on="2026-01-02",
        hardware={"summary": "a machine"},
        versions={},
        series=tuple(
            Series(name, "ms", samples, f"Figure {name}") for name, samples in series.items()
        ),
        facts={"device": "cpu", **(facts or {})},
    )


def test_a_quiet_record_passes_unchanged() -> None:
    quiet = record({"cpu_share": {"a": 0.99}}, a=QUIET)
    assert refuse_if_noisy(quiet) is quiet


def test_wild_samples_are_refused_with_both_ways_on() -> None:
    with pytest.raises(NoisyMeasurement) as e:
        refuse_if_noisy(record(a=QUIET, b=WILD))
    assert isinstance(e.value, LabkitError)
    assert str(e.value) == (
        'This measurement is too noisy to keep: "Figure b" scattered by 55 %; 20 % is allowed. '
        "Close other programs and run the cell again, or take a recording: "
        "bench.machine(replay=True)"
    )
    assert e.value.record["b"].samples == WILD


def test_no_recording_is_offered_where_none_ships() -> None:
    with pytest.raises(NoisyMeasurement, match=r"run the cell again\.$"):
        refuse_if_noisy(record(b=WILD), recorded=False)


def test_one_outlier_among_many_is_not_noise() -> None:
    assert complaints(record(a=(*QUIET, 90.0))) == []


def test_steady_samples_without_the_core_are_refused() -> None:
    """Two programs that share a core evenly give steady times, at half the speed."""
    found = complaints(record({"cpu_share": {"a": 0.51}}, a=QUIET))
    assert [(c.series, c.kind) for c in found] == [("a", Kind.WAITED)]
    with pytest.raises(NoisyMeasurement, match='"Figure a" had a core for 51 % of its time; 90 %'):
        refuse_if_noisy(record({"cpu_share": {"a": 0.51}}, a=QUIET))


def test_a_waiting_cpu_says_nothing_about_a_gpu() -> None:
    assert complaints(record({"cpu_share": {"a": 0.2}, "device": "cuda"}, a=QUIET)) == []
    assert complaints(record({"device": "cuda"}, a=WILD)) != []


def test_the_worst_comes_first_and_at_most_two_are_named() -> None:
    noisy = record({"cpu_share": {"a": 0.85}}, a=QUIET, b=WILD)
    assert [c.series for c in complaints(noisy)] == ["b", "a"]
    wilder = tuple(2 * x if x > 12 else x for x in WILD)
    many = record({"cpu_share": {"a": 0.85, "b": 0.5}}, a=QUIET, b=WILD, c=wilder, d=WILD)
    with pytest.raises(NoisyMeasurement) as e:
        refuse_if_noisy(many)
    assert 'keep (4 of 4 figures): "Figure c" scattered by ' in e.value.finding
    assert ' % and "Figure b" by 55 %; 20 % is allowed.' in e.value.finding
    assert "Figure a" not in e.value.finding
    assert "Figure d" not in e.value.finding


def bandwidths(read: float, huge: float | None, device: str = "cpu") -> Record:
    samples = {"bandwidth.read": (read,) * 9, "bandwidth.copy": (20.0,) * 9}
    return record({"huge_pages": huge, "device": device}, **samples)


def test_a_read_below_its_copy_was_disturbed_where_both_had_huge_pages() -> None:
    """Steady samples and the whole core: only the order gives it away."""
    with pytest.raises(NoisyMeasurement, match="came out at 17 ms, well below") as e:
        refuse_if_noisy(bandwidths(17.0, huge=1.0))
    assert '"Figure bandwidth.copy" with 20' in e.value.finding
    assert complaints(bandwidths(18.1, huge=1.0)) == []


@pytest.mark.parametrize(
    ("huge", "device"), [(0.0, "cpu"), (0.5, "cpu"), (None, "cpu"), (1.0, "cuda")]
)
def test_without_huge_pages_the_order_proves_nothing(huge: float | None, device: str) -> None:
    """A quiet machine with 4 KiB pages reads at 15 and copies at 19 GB/s, as chance has it."""
    assert complaints(bandwidths(15.0, huge, device)) == []
