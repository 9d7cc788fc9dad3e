"""What the shipped recording shows, which is what Lab 04 is about."""

from __future__ import annotations

import statistics

import pytest

from labkit import bench
from labkit.bench.quant.formats import FORMATS
from labkit.bench.quant.points import FormatPoint
from labkit.bench.records import recording
from labkit.bench.text import HELD_OUT
from labkit.contract import Record


@pytest.fixture
def record() -> Record:
    return recording("quantization")


@pytest.fixture
def points(record: Record) -> dict[str, FormatPoint]:
    return {point.key: point for point in bench.format_points(record)}


def test_it_is_whole(record: Record, points: dict[str, FormatPoint]) -> None:
    assert record.facts["left_out"] == {}
    assert list(points) == list(FORMATS)
    assert record.facts["text"]["sha256"] == HELD_OUT.sha256
    assert record.facts["text"]["windows"] >= 20
    assert {len(point.nll) for point in points.values()} == {record.facts["text"]["windows"]}
    assert record.facts["llama_agreement"] >= 0.95


def test_the_reference_lies_on_the_grid_of_q4_1(
    record: Record, points: dict[str, FormatPoint]
) -> None:
    assert record.facts["reference"]["original"] is False
    assert points["q4_1"].nll == points["fp32"].nll
    assert abs(points["q8_0"].perplexity / points["fp32"].perplexity - 1) < 0.02
    assert points["q4_0"].perplexity > 1.1 * points["fp32"].perplexity


def test_below_four_bits_is_a_cliff(points: dict[str, FormatPoint]) -> None:
    four, three, two = (points[f"rtn{bits}"].perplexity for bits in (4, 3, 2))
    assert four < 2 * points["fp32"].perplexity
    assert three > 3 * four
    assert two > 3 * three


def test_every_window_pays_for_q4_0(points: dict[str, FormatPoint]) -> None:
    """Paired by window the loss is plain: no window is better off."""
    pairs = zip(points["q4_0"].nll, points["fp32"].nll, strict=True)
    rises = [rounded - exact for rounded, exact in pairs]
    assert min(rises) > 0
    assert statistics.fmean(rises) > 2 * statistics.stdev(rises) / len(rises) ** 0.5


def test_llama_cpp_turns_fewer_bytes_into_speed_until_it_leaves_the_line(
    record: Record, points: dict[str, FormatPoint]
) -> None:
    times = {key: p.llama_cpu_ms for key, p in points.items() if p.llama_cpu_ms is not None}
    assert times["fp32"] > 1.5 * times["fp16"]
    assert times["fp32"] > 1.5 * times["q4_0"]
    bandwidth = record.median("read.fp32") * 1e9
    line = {key: 1e3 * points[key].weight_bytes / bandwidth for key in times}
    # Nobody reads faster than the memory; and the smaller the format, the further from the line.
    assert all(times[key] > 0.8 * line[key] for key in times)
    assert times["q4_0"] / line["q4_0"] > 1.3 * times["fp32"] / line["fp32"]


def test_torch_does_not_follow_the_bytes(points: dict[str, FormatPoint]) -> None:
    """A quarter of the bytes, and INT8 by bitsandbytes is the slower one."""
    times = {key: p.torch_cpu_ms for key, p in points.items() if p.torch_cpu_ms is not None}
    assert times["bnb_int8"] > times["fp32"]
    shrunk = points["fp32"].weight_bytes / points["bnb_nf4"].weight_bytes
    assert times["fp32"] / times["bnb_nf4"] < shrunk / 1.5
