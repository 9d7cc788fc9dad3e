"""What a terminal shows of a record, and one row per format; on a record made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from labkit.bench import format_points
from labkit.bench.quant.summary import summary
from labkit.cli import bench as bench_command
from labkit.contract import LabkitError, Record, Series


def form(label: str, emulated: bool, perplexity: float, **more: Any) -> dict[str, Any]:
    return {
        "label": label,
        "kind": "float",
        "bits": 4,
        "bits_per_weight": 4.5,
        "weight_bytes": 89_941_248,
        "file_bytes": None,
        "emulated": emulated,
        "nll": [3.0, 3.4],
        "perplexity": perplexity,
        **more,
    }


@pytest.fixture
def record() -> Record:
    return Record(
        id="quantization",
        title="Formats",
        live=True,
        made_on="2026-11-30",
        hardware={"summary": "a machine"},
        versions={},
        series=(
            Series("torch.fp32.step", "ms", (90.0, 91.0, 95.0)),
            Series("torch.fp32.cpu", "ms", (80.0, 81.0, 85.0)),
            Series("llama.fp32.cpu", "ms", (28.0, 29.0)),
        ),
        facts={
            "text": {"windows": 20, "window_tokens": 100},
            "formats": {
                "fp32": form("FP32", False, 24.6, weight_bytes=538_060_032, file_bytes=5),
                "q4_0": form("Q4_0", True, 30.53),
                "rtn2": form("RTN 2-bit, g64", True, 1_441_010.0),
            },
            "kv": {
                "fp32": {
                    "label": "FP32",
                    "bytes_per_token": 46_080,
                    "perplexity": 24.6,
                    "attention_error": [],
                },
                "int8": {
                    "label": "INT8, a scale per token and head",
                    "bytes_per_token": 11_880,
                    "perplexity": 24.63,
                    "attention_error": [0.01, 0.031],
                },
            },
        },
        notes=("A remark.",),
    )


def test_one_row_per_format_and_none_where_it_was_not_run(record: Record) -> None:
    fp32, q4_0, _ = format_points(record)
    assert (fp32.torch_ms, fp32.torch_cpu_ms) == (91.0, 81.0)
    assert (fp32.llama_ms, fp32.llama_cpu_ms) == (None, 28.5)
    assert (q4_0.torch_ms, q4_0.llama_cpu_ms, q4_0.file_bytes) == (None, None, None)
    assert q4_0.nll == (3.0, 3.4)


def test_another_measurement_s_record_is_refused(record: Record) -> None:
    with pytest.raises(LabkitError, match="'machine' holds no formats"):
        format_points(replace(record, id="machine", facts={}))


def test_the_terminal_shows_formats_caches_and_origin_in_80_columns(record: Record) -> None:
    shown = bench_command.in_words(record)
    assert shown == summary(record)
    *table, origin, note = shown.splitlines()
    assert max(len(line) for line in table) <= 80
    text = "\n".join(table)
    assert "~30.53" in text
    assert "+24.11 %" in text
    assert "× 58,578" in text
    assert "3.1 %" in text
    assert "20 windows of 100 tokens" in text
    assert origin.startswith("measured live on a machine")
    assert note == "A remark."
