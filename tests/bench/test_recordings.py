"""The shipped recordings obey physics, and each other, and name nobody."""

from __future__ import annotations

import json

import pytest

from labkit.bench.jobs.matmul import BATCHES
from labkit.bench.noise import complaints
from labkit.bench.records import recording, recordings_dir
from labkit.bench.registry import BENCHES
from labkit.bench.sweep import sweep_points
from labkit.contract import Record

SHIPPED = sorted(path.stem for path in recordings_dir().glob("*.json"))
# Rounding, and the peak and the bandwidth themselves being medians.
SLACK = 1.25
# Longer ones by CPU time: their length on quiet cores, however busy the machine was.
LONG_CPU_S = {
    "quantization": 300,
    "attention": 60,
    "speculation": 200,
    "engines": 300,
    "load": 60,  # the servers' time is not the worker's
}


@pytest.fixture
def machine() -> Record:
    return recording("machine")


@pytest.fixture
def decode() -> Record:
    return recording("decode")


@pytest.mark.parametrize("name", SHIPPED)
def test_quiet_full_and_marked(name: str) -> None:
    raw = json.loads((recordings_dir() / f"{name}.json").read_text(encoding="utf-8"))
    assert raw["live"] is False
    record = recording(name)
    assert record.id == name
    assert name in BENCHES
    assert complaints(record) == []
    assert record.facts["quick"] is False
    if name in LONG_CPU_S:
        assert record.cpu_s <= LONG_CPU_S[name]
    else:
        assert record.wall_s <= 60
    spared = BENCHES[name].indicative  # latencies of one user are one sample each
    assert all(len(s.samples) >= 5 for s in record.series if s.name not in spared)
    assert {"python", "torch"} <= record.versions.keys()
    assert record.machine() != "unknown machine"


@pytest.mark.parametrize("name", BENCHES)
def test_a_title_is_nobodys(name: str) -> None:
    """The same title stands over the learner's own record and over a recording of another's."""
    words = BENCHES[name].title.lower()
    assert not any(word in words for word in ("this machine", "your", "my machine"))
    if name in SHIPPED:
        assert recording(name).title == BENCHES[name].title


def test_the_cpu_labs_can_be_replayed() -> None:
    assert {"machine", "decode", "memory"} <= set(SHIPPED)


def test_bandwidths(machine: Record) -> None:
    read, copy = machine.median("bandwidth.read"), machine.median("bandwidth.copy")
    assert 1 < read < 1000
    assert 0.4 < copy / read < 1.5
    assert machine.facts["buffer_bytes"] >= 4 * machine.facts["llc_bytes"]


def test_bf16_units_show(machine: Record) -> None:
    assert machine.facts["bf16_units"] is True
    assert 1.5 < machine.median("gemm.bf16") / machine.median("gemm.fp32") < 3


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_no_point_lies_above_the_roof(machine: Record, dtype: str) -> None:
    peak = machine.median(f"gemm.{dtype}") * 1e9
    bandwidth = machine.median("bandwidth.read") * 1e9
    points = sweep_points(machine, dtype)
    assert tuple(point.batch for point in points) == BATCHES
    for point in points:
        assert point.flop_per_s <= SLACK * min(peak, point.intensity * bandwidth)


@pytest.mark.parametrize(("dtype", "per_row"), [("fp32", 0.5), ("bf16", 1.0)])
def test_intensity_is_that_of_the_textbook(machine: Record, dtype: str, per_row: float) -> None:
    for point in sweep_points(machine, dtype):
        assert point.intensity == pytest.approx(per_row * point.batch, rel=0.05)


def test_the_sweep_does_not_fit_the_cache(machine: Record) -> None:
    for facts in machine.facts["sweep"].values():
        assert facts["weight_bytes"] >= 4 * machine.facts["llc_bytes"]


def test_batching_is_not_free_in_fp32_here(machine: Record) -> None:
    """The finding of the lab: the second row costs as much as the first, below either roof."""
    one, two = sweep_points(machine, "fp32")[:2]
    assert two.seconds / one.seconds > 1.5
    assert two.flop_per_s < 0.5 * machine.median("gemm.fp32") * 1e9


def test_batching_is_nearly_free_in_bf16_here(machine: Record) -> None:
    points = {point.batch: point for point in sweep_points(machine, "bf16")}
    assert points[4].seconds / points[1].seconds < 1.5
    assert points[64].seconds / points[8].seconds > 2


def test_smollm2_is_counted_to_the_last_parameter(decode: Record) -> None:
    facts = decode.facts
    assert facts["parameters"] == 134_515_008
    assert facts["tied_head"] is True
    assert facts["streamed_bytes_per_token"] == 4 * 134_515_008
    assert facts["kv_bytes_per_token"] == 2 * 30 * 3 * 64 * 4


def test_decode_obeys_the_bandwidth(decode: Record, machine: Record) -> None:
    """A step cannot beat the reading of its weights, nor its own matrix products."""
    read, products, step = (
        decode.median(f"decode.{name}") for name in ("read", "products", "step")
    )
    assert read < products < step
    implied = decode.facts["streamed_bytes_per_token"] / (read / 1e3)
    assert 0.6 < implied / (machine.median("bandwidth.read") * 1e9) < SLACK
    assert decode.median("decode.rate") == pytest.approx(1e3 / step, rel=0.01)


def test_decode_streams_and_does_not_hit_the_cache(decode: Record, machine: Record) -> None:
    assert decode.facts["streamed_bytes_per_token"] > 8 * machine.facts["llc_bytes"]
