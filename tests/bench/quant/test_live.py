"""The measurement once, live, at its smallest honest size: only coarse relations are asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import bench
from labkit.bench.quant.formats import FORMATS
from labkit.bench.registry import BENCHES
from labkit.contract import Record

pytestmark = pytest.mark.quiet


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, steps_told: list[int]) -> Record:
    for name in ("LABKIT_RECORDS", "LABKIT_REPLAY", "LABKIT_RUNNER"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / ".labkit").mkdir()
    monkeypatch.setenv("LABKIT_WORKSPACE", str(tmp_path))
    try:
        found = bench.measure("quantization", quick=True, device="cpu")
        assert bench.last("quantization") == found
    except bench.NoisyMeasurement as noisy:
        found = noisy.record
    assert steps_told == list(range(1, BENCHES["quantization"].steps + 1))
    return found


def test_quantization(record: Record) -> None:
    facts = record.facts
    assert facts["left_out"] == {}
    points = {point.key: point for point in bench.format_points(record)}
    assert list(points) == list(FORMATS)
    reference = points["fp32"].perplexity
    # Quality. 2-bit is a cliff; the two 4-bit formats off the reference's grid lose visibly.
    assert abs(points["q8_0"].perplexity / reference - 1) < 0.02
    assert abs(points["bnb_int8"].perplexity / reference - 1) < 0.05
    for key in ("q4_0", "bnb_nf4", "rtn4"):
        assert points[key].perplexity > reference
    assert reference < points["rtn4"].perplexity < points["rtn3"].perplexity
    assert points["rtn3"].perplexity < points["rtn2"].perplexity
    if not facts["reference"]["original"]:
        assert points["q4_1"].nll == points["fp32"].nll
    # Bytes: fewer bits take fewer.
    sizes = [points[key].weight_bytes for key in ("fp32", "fp16", "q8_0", "q4_1", "q4_0")]
    assert sizes == sorted(sizes, reverse=True)
    assert points["fp32"].weight_bytes == 4 * 134_515_008
    assert points["bnb_nf4"].weight_bytes < points["bnb_int8"].weight_bytes < sizes[0]
    assert all(point.file_bytes for point in points.values() if point.llama_ms)
    # Speed, in CPU time: llama.cpp turns a seventh of the bytes into a speed-up.
    assert points["q4_0"].llama_cpu_ms < points["fp32"].llama_cpu_ms / 1.3
    assert facts["llama_agreement"] >= 0.9
    # The quantised caches: half a percent of loss, errors that are seen in every layer.
    for key in ("int8", "fp8"):
        assert abs(facts["kv"][key]["perplexity"] / reference - 1) < 0.05
        assert all(0 < error < 0.3 for error in facts["kv"][key]["attention_error"])
    assert facts["kv"]["fp8"]["bytes_per_token"] == facts["kv"]["fp32"]["bytes_per_token"] / 4
