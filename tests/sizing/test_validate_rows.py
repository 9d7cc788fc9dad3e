"""Whole rows: what a run is read as, which are unsupported and why, and that none crashes."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.sizing.validate import (
    RowResult,
    SchemaError,
    Unsupported,
    read_run,
    schema_of,
    score,
    validate,
)
from labkit.sizing.validate.load import OFFLINE_REQUESTS
from labkit.sizing.validate.schema import REQUIRED

DATA = Path(__file__).parents[2] / "benchmarks" / "data"

ROW = {
    "id": "r1",
    "source_id": "S",
    "engine": "vLLM",
    "engine_version": "0.6.3",
    "model": "Llama-3.1-8B",
    "weights_dtype": "bf16",
    "kv_dtype": "",
    "gpu": "L4",
    "gpu_count": "1",
    "instance_type": "",
    "tensor_parallel": "1",
    "batch_or_concurrency": "1",
    "prompt_tokens": "512",
    "output_tokens": "128",
    "metric": "tpot_ms",
    "value": "60",
    "notes": "",
}
LOG = {
    "id": "k1",
    "engine": "vLLM",
    "engine_version": "0.8.5",
    "model": "Qwen2.5-7B-Instruct",
    "gpu": "NVIDIA L4",
    "tp": "1",
    "util": "0.9",
    "total_gib_log": "22.16",
    "weights_gib": "14.25",
    "kv_gib": "4.1",
    "kv_tokens": "76000",
    "kv_dtype": "auto",
    "vocab": "152064",
    "n_layers": "28",
    "n_kv_heads": "4",
    "head_dim": "128",
    "attn_kind": "GQA",
}


def row(**cells: str) -> dict[str, str]:
    return {**ROW, **cells}


def table(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def why(**cells: str) -> str:
    with pytest.raises(Unsupported) as caught:
        read_run(row(**cells))
    return caught.value.reason


def test_a_plain_row():
    run = read_run(ROW)
    assert (run.model.name, run.accelerator, run.engine.name) == ("llama-3.1-8b", "L4", "vllm")
    assert (run.weights.name, run.kv.name) == ("bf16", "bf16")
    assert (run.devices, run.pipeline_devices, run.replicas, run.batch) == (1, 1, 1, 1)
    assert (run.prompt_tokens, run.output_tokens, run.measured) == (512, 128, 60)
    assert run.closed_loop
    assert not run.suspect
    assert run.assumptions == ()


def test_what_the_notes_say_is_in_the_run():
    run = read_run(
        row(
            engine="TensorRT-LLM",
            engine_version="0.6.1",
            metric="decode_tok_s_total",
            gpu="H100-SXM",
            gpu_count="4",
            tensor_parallel="4",
            batch_or_concurrency="64",
            notes="out tok/s/GPU; static batch, prefill inside; SUSPECT twice the roofline",
        )
    )
    assert run.per_device
    assert not run.closed_loop
    assert not run.decode_only
    assert run.suspect
    assert run.device.link == "nvlink"
    assert read_run(row(notes="decode only (prefill removed)")).decode_only


@pytest.mark.parametrize(
    ("cells", "devices", "pipeline", "replicas"),
    [
        ({"gpu_count": "4", "tensor_parallel": "4"}, 4, 1, 1),
        ({"gpu_count": "4", "tensor_parallel": "4?"}, 4, 1, 1),
        ({"gpu_count": "1", "tensor_parallel": ""}, 1, 1, 1),
        ({"gpu_count": "", "tensor_parallel": ""}, 1, 1, 1),
        ({"gpu_count": "8", "tensor_parallel": "2", "batch_or_concurrency": "8"}, 2, 1, 4),
        ({"gpu_count": "4", "tensor_parallel": "1", "engine": "llama.cpp"}, 1, 4, 1),
        ({"gpu_count": "2", "notes": "layer split over 2 GPUs"}, 1, 2, 1),
        (
            {
                "engine": "optimum-neuron",
                "gpu": "Inferentia2",
                "gpu_count": "12",
                "tensor_parallel": "24",
            },
            24,
            1,
            1,
        ),
    ],
)
def test_how_the_hardware_is_shared_out(cells, devices, pipeline, replicas):
    run = read_run(row(**cells))
    assert (run.devices, run.pipeline_devices, run.replicas) == (devices, pipeline, replicas)


def test_replicas_share_the_sequences():
    shared = row(gpu_count="4", tensor_parallel="1", batch_or_concurrency="10")
    run = read_run(shared)
    assert (run.replicas, run.batch) == (4, 3)
    assert any("4 replicas" in text for text in run.assumptions)


@pytest.mark.parametrize(
    ("text", "batch", "saturated", "rate"),
    [
        ("32", 32, False, None),
        ("1,024", 1024, False, None),
        ("offline", OFFLINE_REQUESTS, True, None),
        ("1000 requests at inf rate", 1000, True, None),
        ("1000 requests at 200 req/s", 1000, True, 200.0),
    ],
)
def test_loads(text, batch, saturated, rate):
    run = read_run(row(batch_or_concurrency=text, metric="decode_tok_s_total"))
    assert (run.batch, run.saturated, run.offered_rate) == (batch, saturated, rate)


def test_what_is_left_open_is_assumed_and_said():
    run = read_run(row(prompt_tokens="", output_tokens="", batch_or_concurrency=""))
    said = " ".join(run.assumptions)
    for column in ("prompt_tokens", "output_tokens", "batch_or_concurrency"):
        assert f"{column} is not stated" in said


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ({"engine": "magic"}, "engine 'magic' is not known"),
        ({"model": "GPT-9"}, "model 'GPT-9' is not in the catalogue"),
        ({"gpu": "TPU v5e"}, "gpu 'TPU v5e' is not in the catalogue"),
        ({"weights_dtype": "?"}, "weights_dtype is not stated"),
        ({"kv_dtype": "int3"}, "'int3' is not known"),
        ({"metric": "joy"}, "metric 'joy' is not predicted"),
        ({"metric": "ttft_ms_p99"}, "not predicted"),
        ({"value": "fast"}, "value is 'fast'"),
        ({"value": "-3"}, "negative"),
        ({"gpu_count": "0"}, "gpu_count is 0"),
        ({"gpu_count": "2.5"}, "gpu_count is 2.5"),
        ({"gpu_count": "8", "tensor_parallel": ""}, "not stated for 8 devices"),
        ({"tensor_parallel": "1 or 2 (not in log)"}, "which of them is not stated"),
        ({"tensor_parallel": "4"}, "only 1 devices"),
        ({"gpu_count": "8", "tensor_parallel": "3"}, "no multiple of tensor_parallel 3"),
        ({"batch_or_concurrency": "server"}, "no number can be read"),
        ({"batch_or_concurrency": "", "metric": "req_s"}, "req_s depends on it"),
        ({"batch_or_concurrency": "offline", "metric": "ttft_ms_p50"}, "growing queue"),
        ({"prompt_tokens": "", "metric": "ttft_ms_p50"}, "ttft_ms_p50 depends on it"),
        ({"prompt_tokens": "0", "metric": "prefill_tok_s"}, "needs a prompt"),
        ({"output_tokens": "", "metric": "latency_s"}, "latency_s depends on it"),
        ({"notes": "beam search width 4"}, "beam search of width 4"),
        ({"engine": "Transformers NeuronX"}, "does not run on L4"),
        ({"gpu": "Inferentia2"}, "'vLLM' does not run on Inferentia2"),
        ({"gpu": "CPU Graviton4"}, "no model of a run on a CPU"),
    ],
)
def test_what_cannot_be_read_says_why(cells, says):
    reason = why(**cells)
    assert says in reason
    assert reason.endswith(".")


def test_a_predicted_row_and_an_unsupported_one():
    good, bad = validate([ROW, row(id="r2", gpu="TPU")])
    assert good.status == "ok"
    assert good.low is not None
    assert good.mid is not None
    assert good.high is not None
    assert 0 < good.low <= good.mid <= good.high
    # 8B in bf16 is 15 GB streamed; an L4 reads 300 GB/s at most.
    assert good.mid > 15.0 / 300 * 1e3
    assert (good.accelerator, good.engine, good.sequences) == ("L4", "vLLM", "1")
    assert (bad.status, bad.mid, bad.measured) == ("unsupported", None, 60)
    assert "TPU" in bad.reason


def test_a_suspect_row_is_predicted_and_not_scored():
    (found,) = validate([row(notes="SUSPECT: above the roofline")])
    assert found.status == "suspect"
    assert found.mid is not None
    assert found.error is None
    assert found.covered is None


def test_hardware_that_cannot_hold_the_format_is_a_reason_not_a_crash():
    (found,) = validate([row(gpu="T4", weights_dtype="bf16")])
    assert found.status == "unsupported"
    assert "T4" in found.reason


def test_log_rows_give_two_values():
    gib, tokens = validate([LOG])
    assert (gib.metric, tokens.metric) == ("kv_gib", "kv_tokens")
    assert gib.measured == 4.1
    assert (gib.accelerator, gib.engine) == ("L4", "vLLM")
    assert gib.mid is not None


def test_the_two_tables_are_told_by_their_columns():
    assert schema_of(ROW) == "measurements"
    assert schema_of([*LOG, "more"]) == "kv-logs"
    assert schema_of(["\N{NO-BREAK SPACE}id ", *REQUIRED["kv-logs"][1:]]) == "kv-logs"


@pytest.mark.parametrize("schema", REQUIRED)
def test_each_missing_column_is_named(schema):
    for column in REQUIRED[schema]:
        rest = [name for name in REQUIRED[schema] if name != column]
        with pytest.raises(SchemaError) as caught:
            schema_of(rest)
        assert str(caught.value) == f"The {schema} table lacks the column {column}."


def test_a_table_that_is_neither_names_both():
    with pytest.raises(SchemaError, match=r"neither measurements .* nor KV logs"):
        validate([{"cpu": "Graviton4", "check": "new"}])
    with pytest.raises(SchemaError, match="neither"):
        validate([])
    # Columns that both have do not tell which was meant.
    with pytest.raises(SchemaError, match="neither"):
        schema_of(["id", "engine", "model", "gpu"])


def test_nine_of_ten_published_rows_are_predicted():
    results = validate(table("measurements.csv"))
    summary = score(results)
    assert summary.rows == 814
    assert summary.supported_share >= 0.9
    assert summary.suspect == 23
    for one in results:
        if one.status == "unsupported":
            assert len(one.reason) > 15
            continue
        assert one.low is not None
        assert one.mid is not None
        assert one.high is not None
        assert 0 < one.low <= one.mid <= one.high < math.inf


def test_every_model_of_the_published_rows_is_in_the_catalogue():
    unknown = [r.reason for r in validate(table("measurements.csv")) if "model" in r.reason]
    assert not [reason for reason in unknown if "catalogue" in reason]


def test_log_rows_are_predicted_where_their_table_says_they_can_be():
    rows = table("kv-logs.csv")
    results = {(r.id, r.metric): r for r in validate(rows)}
    can = [r["id"] for r in rows if r["predictable"] == "1"]
    assert len(can) >= 40
    predicted = [name for name in can if results[name, "kv_gib"].status == "ok"]
    assert len(predicted) / len(can) >= 0.9


CELL = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            *("", "?", "~12", "41-49", "1 or 2", "-1", "0", "1e999", "nan", "inf", "NaN", "1/0"),
            *("999999999", "0.0000001", "8", "64", "offline", "1000 requests at inf rate"),
            *("CPU Graviton4", "Inferentia2", "H100-PCIe?", "A100", "T4", "llama.cpp", "TGI"),
            *("bnb4", "q4_k_m", "fp8", "bf16", "Falcon-7B", "DeepSeek-V3", "gpt-oss-20b"),
            *("Mixtral-8x7B", "ttft_ms_p50", "req_s", "vram_gb", "prefill_tok_s", "latency_s"),
            "SUSPECT",
            "\x00",
            "9" * 5000,
        ]
    ),
    st.integers(-(10**12), 10**12).map(str),
    st.floats().map(str),
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(list(ROW)), CELL, max_size=6))
def test_no_mangled_measurement_crashes(cells):
    (found,) = validate([row(**cells)], ROW)
    checked(found)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(list(LOG)), CELL, max_size=5))
def test_no_mangled_log_crashes(cells):
    for found in validate([{**LOG, **cells}], LOG):
        checked(found)


def checked(found: RowResult) -> None:
    if found.status == "unsupported":
        assert found.reason
        assert found.mid is None
    else:
        assert found.low is not None
        assert found.mid is not None
        assert found.high is not None
        assert 0 <= found.low <= found.mid <= found.high < math.inf


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["vLLM", "TGI", "transformers", "llama.cpp", "TensorRT-LLM", "exllamav2"]),
    st.sampled_from(["Llama-2-7b", "Mixtral-8x7B", "Falcon-7B", "DeepSeek-V2-Lite", "GPT-J-6B"]),
    st.sampled_from(["fp16", "int8", "awq4", "fp8", "bnb4"]),
    st.sampled_from(["A10G", "L4", "T4", "A100-80GB-SXM", "H100-PCIe"]),
    st.sampled_from([1, 2, 4, 8]),
    st.integers(1, 512),
    st.integers(1, 16384),
    st.integers(1, 8192),
    st.sampled_from(
        ["tpot_ms", "ttft_ms_p50", "decode_tok_s_total", "req_s", "latency_s", "prefill_tok_s"]
    ),
)
def test_sensible_rows_get_finite_bands_or_reasons(
    engine, model, weights, gpu, devices, batch, prompt, output, metric
):
    (found,) = validate(
        [
            row(
                engine=engine,
                model=model,
                weights_dtype=weights,
                gpu=gpu,
                gpu_count=str(devices),
                tensor_parallel=str(devices),
                batch_or_concurrency=str(batch),
                prompt_tokens=str(prompt),
                output_tokens=str(output),
                metric=metric,
            )
        ]
    )
    checked(found)
