"""The estimate's answers: refusals with their number, what is timed, what is explained."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from labkit.contract.errors import LabkitError
from labkit.sizing import (
    SLO,
    EngineConfig,
    SizingError,
    Workload,
    as_dict,
    estimate,
    explain,
    usd_per_million_tokens,
    usd_per_request,
)
from tests.sizing.sizing_specs import (
    BERT,
    CPU,
    CPU_UNKNOWN,
    G5,
    G5_12XL,
    G6E,
    G6F,
    INF2,
    LLAMA_2_7B,
    LLAMA_2_13B,
    LLAMA_3_8B,
    LLAMA_3_70B,
    MIXTRAL,
    MLA,
    P5,
    SMOLLM2,
    instance,
)

CHAT = Workload(512, 256)


def run(model, machine, weights="fp16", kv="fp16", batch=1, workload=CHAT, **options):
    price = {k: options.pop(k) for k in ("price_kind", "region") if k in options}
    return estimate(model, machine, EngineConfig(weights, kv, batch, **options), workload, **price)


def codes(result) -> list[str]:
    return [str(refusal.code) for refusal in result.refusals]


def test_weights_refusal_says_how_much_is_missing():
    result = run(LLAMA_3_70B, G5)
    assert codes(result) == ["WEIGHTS"]
    assert "131.42 GiB" in result.refusals[0].detail
    assert "too little" in result.refusals[0].detail
    assert (result.max_sequences, result.running_sequences) == (0, 0)
    assert result.tpot_ms is None
    assert result.memory.kv_pool_bytes == 0


def test_not_one_sequence_fits_is_kv_cache_not_weights():
    result = run(LLAMA_2_13B, G6E, workload=Workload(3000, 1000), gpu_memory_utilization=0.6)
    assert codes(result) == ["KV_CACHE"]
    assert result.refusals[0].detail.startswith("0 of 1 sequences fit")
    assert result.tpot_ms is None


def test_budget_is_utilization_times_usable_minus_weights_minus_overhead():
    budget = run(LLAMA_3_8B, G6E).memory
    assert budget.kv_pool_bytes == pytest.approx(
        0.92 * G6E.accelerator_usable_bytes - budget.weights_bytes - budget.overhead.mid
    )
    assert budget.max_cached_tokens % 16 == 0
    assert budget.max_cached_tokens * 131_072 <= budget.kv_pool_bytes


def test_engines_that_take_a_share_of_what_is_free():
    budget = run(LLAMA_3_8B, G6E, engine="lmdeploy").memory
    free = G6E.accelerator_usable_bytes - budget.weights_bytes - budget.overhead.mid
    assert budget.kv_pool_bytes == pytest.approx(0.8 * free)


def test_tp_larger_than_the_instance_is_not_offered():
    result = run(LLAMA_2_7B, G5, tensor_parallel_size=2)
    assert "NOT_OFFERED" in codes(result)
    assert "g5.xlarge has 1 A10G" in result.refusals[0].detail


def test_an_engine_that_does_not_run_there():
    assert codes(run(LLAMA_2_7B, INF2, engine="vllm"))[0] == "ENGINE_UNSUPPORTED"
    assert "neuron instance" in run(LLAMA_2_7B, INF2, engine="vllm").refusals[0].detail
    assert "ENGINE_UNSUPPORTED" in codes(run(LLAMA_2_7B, CPU, engine="vllm"))


def test_a_cache_format_that_the_engine_does_not_keep():
    result = run(LLAMA_2_7B, G6E, kv="int8")
    assert codes(result) == ["ENGINE_UNSUPPORTED"]
    assert "fp8" in result.refusals[0].detail
    assert run(LLAMA_2_7B, G6E, kv="int8", engine="lmdeploy").fits


def test_an_encoder_generates_nothing():
    result = run(BERT, G5)
    assert codes(result) == ["ENGINE_UNSUPPORTED"]
    assert result.memory.kv_bytes_per_token == 0


def test_a_context_longer_than_the_model_is_made_for():
    result = run(LLAMA_2_7B, P5, workload=Workload(4000, 200))
    assert codes(result) == ["ENGINE_UNSUPPORTED"]
    assert "4,096" in result.refusals[0].detail


def test_an_unknown_price_leaves_the_estimate_without_a_cost():
    result = run(LLAMA_3_8B, instance("p5e.48xlarge", P5.accelerator, 8, usd=None))
    assert codes(result) == ["UNKNOWN_PRICE"]
    assert result.fits
    assert result.tpot_ms is not None
    assert result.usd_per_hour is result.usd_per_million_output_tokens is None
    assert codes(run(LLAMA_3_8B, G6E, region="eu-west-1")) == ["UNKNOWN_PRICE"]


def test_sagemaker_does_not_offer_every_type():
    machine = instance("g6f.x", G6F.accelerator, sagemaker=False)
    assert codes(run(LLAMA_3_8B, machine, price_kind="sagemaker")) == ["NOT_OFFERED"]


def test_slo_refusals_carry_the_estimate_and_the_limit():
    slow = replace(CHAT, slo=SLO(ttft_ms=1.0, tpot_ms=1.0))
    result = run(LLAMA_3_8B, G6E, workload=slow)
    assert codes(result) == ["SLO_TTFT", "SLO_TPOT"]
    assert "asked: 1.0 ms" in result.refusals[0].detail
    assert result.fits  # memory holds; the promise does not
    assert codes(run(LLAMA_3_8B, G6E, workload=replace(CHAT, slo=SLO(5000, 5000)))) == []


def test_several_obstacles_are_all_named():
    result = run(LLAMA_3_70B, INF2, weights="int4", engine="vllm", tensor_parallel_size=3)
    assert set(codes(result)) >= {
        "ENGINE_UNSUPPORTED", "DTYPE_UNSUPPORTED", "NOT_OFFERED", "HEADS_NOT_DIVISIBLE",
    }  # fmt: skip


def test_a_cpu_instance_decodes_at_its_bandwidth_share_and_has_no_ttft():
    result = run(LLAMA_2_7B, CPU, weights="int4")
    assert result.engine.name == "llama.cpp"
    assert result.fits
    assert result.ttft_ms is None
    assert result.tpot_ms.low >= 3.6e9 / 102.4e9 * 1e3
    unknown = run(LLAMA_2_7B, CPU_UNKNOWN, weights="int4")
    assert unknown.fits
    assert unknown.tpot_ms is None


def test_throughput_pays_for_prefill():
    result = run(LLAMA_3_8B, G6E, batch=8)
    decode_alone = 8 / result.tpot_ms.mid * 1e3
    cycle = 8 * result.ttft_ms.mid / 1e3 + 255 * result.tpot_ms.mid / 1e3
    assert result.output_tokens_per_s.mid == pytest.approx(8 * 256 / cycle)
    assert result.output_tokens_per_s.mid < decode_alone
    assert result.requests_per_s.mid == pytest.approx(result.output_tokens_per_s.mid / 256)


def test_one_output_token_comes_from_the_prefill_alone():
    result = run(LLAMA_3_8B, G6E, workload=Workload(512, 1))
    assert result.output_tokens_per_s.mid == pytest.approx(1e3 / result.ttft_ms.mid)


def test_cost_follows_the_throughput_the_other_way_round():
    result = run(LLAMA_3_8B, G6E, batch=8)
    band, rate = result.usd_per_million_output_tokens, result.output_tokens_per_s
    assert band.low == pytest.approx(usd_per_million_tokens(1.861, rate.high))
    assert band.high == pytest.approx(usd_per_million_tokens(1.861, rate.low))
    assert usd_per_request(1.861, 1.0) == pytest.approx(1.861 / 3600)
    with pytest.raises(SizingError, match="tokens_per_s"):
        usd_per_million_tokens(1.0, 0.0)


def test_bound_names_the_largest_term():
    assert run(LLAMA_3_8B, G6E).bound == "memory"
    assert run(SMOLLM2, P5).bound == "overhead"
    busy = Workload(8, 8)
    assert run(LLAMA_3_8B, P5, batch=1000, workload=busy).bound == "compute"


@pytest.mark.parametrize("model", [LLAMA_2_13B, MIXTRAL, MLA, SMOLLM2], ids=lambda m: m.name)
def test_explain_accounts_for_every_byte(model):
    result = run(model, P5, tensor_parallel_size=1 if model is SMOLLM2 else 2)
    terms = {term.name: term for term in explain(result)}
    parts = (
        "input embedding (resident, not streamed)", "output head", "position table",
        "linear layers", "experts, all of them", "norms, biases, routers",
    )  # fmt: skip
    total = sum(terms[name].value for name in parts if name in terms)
    assert total == terms["weights, resident"].value
    pool = terms["KV pool"].value
    assert pool == pytest.approx(
        terms["gpu_memory_utilization"].value * terms["usable memory"].value
        - terms["weights on this device"].value
        - terms["engine overhead"].value
    )
    assert terms["decode: total"].value == pytest.approx(result.tpot_ms.mid)
    assert terms["prefill: total"].value == pytest.approx(result.ttft_ms.mid)
    assert all(term.unit and term.source for term in explain(result))


def test_explain_says_which_occupancy_is_which():
    terms = {term.name: term for term in explain(run(LLAMA_2_13B, G6E, batch=32))}
    assert terms["sequences at full length"].value == 27
    assert "decides `fits`" in terms["sequences at full length"].source
    assert terms["sequences mid-generation"].value == 33
    assert "prompt + output / 2" in terms["sequences mid-generation"].source


def test_explain_states_expected_distinct_experts_beside_the_bound():
    terms = {term.name: term for term in explain(run(MIXTRAL, P5, batch=4, tensor_parallel_size=2))}
    assert terms["experts read per layer and step"].value == 8
    assert terms["distinct experts expected"].value == pytest.approx(8 * (1 - 0.75**4))


def test_explain_names_idle_devices():
    terms = {term.name: term for term in explain(run(LLAMA_2_7B, G5_12XL))}
    assert terms["idle devices"].value == 3


def test_json_has_the_agreed_keys_and_no_others():
    answer = as_dict(run(LLAMA_2_13B, G6E, batch=32))
    assert list(answer) == [
        "fits", "max_sequences", "refusals", "memory", "ttft_ms", "tpot_ms",
        "output_tokens_per_s", "requests_per_s", "bound", "usd_per_hour",
        "usd_per_million_output_tokens", "terms",
    ]  # fmt: skip
    assert set(answer["memory"]) == {
        "weights_bytes", "kv_bytes_per_token", "kv_pool_bytes", "max_cached_tokens",
        "overhead_bytes", "usable_bytes",
    }  # fmt: skip
    assert all(isinstance(value, int) for value in answer["memory"].values())
    assert set(answer["ttft_ms"]) == {"low", "mid", "high"}
    assert all(set(r) == {"code", "detail"} for r in answer["refusals"])
    assert all(set(t) == {"name", "value", "unit", "source"} for t in answer["terms"])
    names = [term["name"] for term in answer["terms"]]
    assert len(names) == len(set(names))
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Workload(0, 1), "prompt_tokens must be a whole number of at least 1, not 0"),
        (lambda: Workload(1, -5), "output_tokens must be a whole number of at least 1, not -5"),
        (lambda: Workload(1, 10**12), "output_tokens must be at most 1,000,000,000"),
        (lambda: Workload(1, 1, prefix_hit_rate=1.0), "prefix_hit_rate must be at least 0"),
        (lambda: Workload(1, 1, prefix_hit_rate=float("nan")), "prefix_hit_rate"),
        (lambda: Workload(1, 1, requests_per_second=0.0), "requests_per_second"),
        (lambda: SLO(ttft_ms=-1.0), "ttft_ms must be a number above 0, not -1.0"),
        (lambda: SLO(percentile=100.0), "percentile must lie between 0 and 100"),
        (lambda: EngineConfig("fp16", "fp16", 0), "batch must be a whole number"),
        (lambda: EngineConfig("fp16", "fp16", True), "batch must be a whole number"),
        (lambda: EngineConfig("fp16", "fp16", 1, 0), "tensor_parallel_size"),
        (
            lambda: EngineConfig("fp16", "fp16", gpu_memory_utilization=1.5),
            "gpu_memory_utilization must be above 0 and at most 1, not 1.5",
        ),
        (lambda: EngineConfig("int5", "fp16"), "Unknown number format 'int5': did you mean int"),
        (lambda: run(LLAMA_2_7B, G5, engine="vlm"), "Unknown engine 'vlm': did you mean vllm?"),
        (lambda: run(LLAMA_2_7B, G5, loader="stream"), "Unknown loader 'stream': did you mean"),
    ],
)
def test_values_that_can_never_be_right_get_one_sentence(build, words):
    with pytest.raises(LabkitError) as caught:
        build()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
