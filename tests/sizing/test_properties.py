"""What must hold for every model, machine and workload."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from labkit.sizing import (
    Band,
    EngineConfig,
    RefusalCode,
    Workload,
    all_reduce_seconds,
    as_dict,
    decode_step_seconds,
    estimate,
    kv_bytes_per_sequence,
    kv_bytes_per_token,
    kv_heads_per_device,
    resident_weight_bytes,
    streamed_weight_bytes,
)
from labkit.sizing.efficiency import build_link, shipped
from labkit.sizing.engines import ENGINES
from labkit.sizing.weights import device_weight_bytes
from tests.sizing.sizing_specs import (
    A10G,
    ALL_INSTANCES,
    ALL_MODELS,
    FP16,
    G5_48XL,
    G6E,
    INT4,
    INT8,
    LLAMA_2_13B,
    LLAMA_3_8B,
)

models = st.sampled_from(ALL_MODELS)
machines = st.sampled_from(ALL_INSTANCES)
formats = st.sampled_from(["fp32", "fp16", "bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4"])
kv_formats = st.sampled_from(["fp32", "fp16", "bf16", "fp8", "int8"])
batches = st.integers(1, 512)
tokens = st.integers(1, 20_000)
sizes = st.sampled_from([1, 2, 4, 8])
hit_rates = st.floats(0.0, 0.99)


def _bands(result) -> list[Band]:
    found = (
        result.ttft_ms,
        result.tpot_ms,
        result.output_tokens_per_s,
        result.requests_per_s,
        result.usd_per_million_output_tokens,
    )
    return [band for band in found if band is not None]


@given(
    models, machines, formats, kv_formats, batches, tokens, tokens, sizes, hit_rates,
    st.sampled_from([None, *ENGINES]),
)  # fmt: skip
def test_every_valid_input_gives_finite_numbers_or_a_refusal(
    model, machine, weights, kv, batch, prompt, output, tp, hit_rate, engine
):
    config = EngineConfig(weights, kv, batch, tp, engine)
    result = estimate(model, machine, config, Workload(prompt, output, prefix_hit_rate=hit_rate))
    for band in (*_bands(result), result.memory.pool, result.memory.overhead):
        assert math.isfinite(band.low)
        assert band.low <= band.mid <= band.high
    assert all(band.low > 0 for band in _bands(result))
    blocked = {r.code for r in result.refusals} - {RefusalCode.UNKNOWN_PRICE}
    assert result.fits is not bool(blocked)
    assert result.running_sequences <= min(batch, result.max_sequences)
    assert all(refusal.detail.endswith(".") for refusal in result.refusals)
    assert as_dict(result)["fits"] is result.fits


@given(models, machines, formats, batches, tokens, tokens, sizes)
def test_never_faster_than_the_roofline(model, machine, weights, batch, prompt, output, tp):
    config = EngineConfig(weights, "fp16", batch, tp)
    result = estimate(model, machine, config, Workload(prompt, output))
    assume(result.decode is not None)
    device, running = result.device, result.running_sequences
    moved = streamed_weight_bytes(model, config.weight_format, running) + running * (
        kv_bytes_per_sequence(model, config.kv_format, result.workload.mean_context)
    )
    # All devices of the group together cannot read less than the model's own bytes.
    assert result.tpot_ms.low / 1e3 >= moved / (device.bandwidth * tp) * (1 - 1e-12)
    assert (
        result.output_tokens_per_s.high
        <= running / (result.decode.roofline * (output - 1) / output) * (1 + 1e-9)
        if output > 1
        else True
    )
    if result.prefill.compute is not None:
        assert result.ttft_ms.low / 1e3 >= result.prefill.roofline


@given(models, st.integers(1, 4096), st.integers(1, 512))
def test_a_longer_context_is_never_smaller_or_faster(model, context, more):
    short, long = (kv_bytes_per_sequence(model, FP16, c) for c in (context, context + more))
    assert short <= long
    assert decode_step_seconds(model, A10G, FP16, context=context) <= decode_step_seconds(
        model, A10G, FP16, context=context + more
    )


@given(models, st.integers(1, 256), st.integers(1, 256))
def test_a_larger_batch_takes_longer_per_step_and_yields_more(model, batch, more):
    def seconds(b: int) -> float:
        return decode_step_seconds(model, A10G, FP16, batch=b, context=512)

    assert seconds(batch) <= seconds(batch + more)
    if model.moe is None:  # an MoE reads more experts with a larger batch
        assert batch / seconds(batch) <= (batch + more) / seconds(batch + more) * (1 + 1e-12)


@given(st.integers(1, 60), st.integers(1, 60))
def test_more_sequences_never_lower_the_throughput_until_the_cache_is_full(batch, more):
    def rate(b: int) -> float:
        config = EngineConfig("fp16", "fp16", b)
        return estimate(LLAMA_3_8B, G6E, config, Workload(512, 256)).output_tokens_per_s.mid

    assert rate(batch) <= rate(batch + more) * (1 + 1e-12)


@given(models)
def test_fewer_bits_are_never_more_bytes(model):
    sixteen, eight, four = (resident_weight_bytes(model, fmt) for fmt in (FP16, INT8, INT4))
    assert sixteen >= eight >= four
    assert streamed_weight_bytes(model, FP16) <= sixteen


@given(models, st.integers(1, 64))
def test_streamed_never_exceeds_resident(model, batch):
    assert streamed_weight_bytes(model, INT4, batch) <= resident_weight_bytes(model, INT4)


@given(models, sizes)
def test_tp_divides_weights_and_never_loses_any(model, n):
    per_device = device_weight_bytes(model, FP16, n)
    whole = resident_weight_bytes(model, FP16)
    assert whole / n <= per_device <= whole
    assert per_device * n >= whole * (1 - 1e-12)


@given(models, sizes)
def test_tp_replicates_kv_only_beyond_the_kv_heads(model, n):
    one = kv_bytes_per_token(model, FP16)
    many = kv_bytes_per_token(model, FP16, tensor_parallel_size=n)
    assert one / n <= many <= one
    if all(kind.kind != "mla" and kind.kv_heads % n == 0 for kind in model.attention):
        assert many == one / n


@given(st.integers(1, 128), st.integers(1, 128))
def test_kv_heads_per_device_cover_all_heads(heads, n):
    each = kv_heads_per_device(heads, n)
    assert each >= 1
    assert each * n >= heads
    assert (each - 1) * n < heads or each == 1


@given(st.sampled_from([1, 2, 4, 8]), st.integers(1, 64))
def test_tp_never_reduces_how_many_sequences_fit(n, batch):
    """40 heads divide by 1, 2, 4 and 8, so weights and cache are both cut evenly."""

    def room(tp: int) -> int:
        config = EngineConfig("fp16", "fp16", batch, tp)
        return estimate(LLAMA_2_13B, G5_48XL, config, Workload(512, 256)).max_sequences

    assert room(n) >= (room(n // 2) if n > 1 else 0)


@given(st.floats(1.0, 1e12), st.floats(1.0, 4.0))
def test_more_bandwidth_is_never_slower(bandwidth, factor):
    faster = replace(A10G, bandwidth_bytes_per_s=bandwidth * factor)
    slower = replace(A10G, bandwidth_bytes_per_s=bandwidth)
    assert decode_step_seconds(LLAMA_3_8B, faster, FP16, batch=4, context=100) <= (
        decode_step_seconds(LLAMA_3_8B, slower, FP16, batch=4, context=100)
    )


@given(st.floats(0.01, 1000.0), st.floats(1.0, 10.0))
def test_cost_is_linear_in_the_price(usd, factor):
    def cost(price: float) -> float:
        priced = replace(G6E, prices=(replace(G6E.prices[0], usd_per_hour=price),))
        result = estimate(LLAMA_3_8B, priced, EngineConfig("fp16", "fp16", 8), Workload(512, 256))
        return result.usd_per_million_output_tokens.mid

    assert math.isclose(cost(usd * factor), cost(usd) * factor, rel_tol=1e-9)


@given(
    st.sampled_from(["pcie", "nvlink", "neuronlink"]),
    st.sampled_from([2, 4, 8, 16]),
    st.floats(0, 1e9),
    st.floats(1e9, 1e12),
)
def test_an_all_reduce_costs_more_with_more_bytes_and_less_with_more_bandwidth(
    link, n, message, rate
):
    seconds = all_reduce_seconds(message, n, link, rate)
    assert seconds > 0
    assert seconds <= all_reduce_seconds(message * 2, n, link, rate)
    assert seconds >= all_reduce_seconds(message, n, link, rate * 2)
    # A ring cannot beat its links: 2(n-1)/n of the message over one direction of one link.
    assert seconds >= 2 * (n - 1) / n * message / (rate / 2)


@given(st.sampled_from([2, 3, 4, 6, 8]))
def test_pcie_bandwidth_falls_with_the_number_of_peers(n):
    pcie = build_link(shipped(), "pcie")
    assert pcie.bandwidth(n, 32e9) >= pcie.bandwidth(n + 1, 32e9)


def test_pcie_effective_bandwidth_is_that_of_the_operator_tables():
    implied = {2: 15e9, 4: 3.7e9, 8: 1.8e9}
    for n, rate in implied.items():
        assert math.isclose(build_link(shipped(), "pcie").bandwidth(n, 32e9), rate, rel_tol=0.03)


@given(hit_rates, hit_rates)
def test_a_better_prefix_cache_never_lengthens_ttft_and_frees_no_memory(low, high):
    low, high = sorted((low, high))

    def run(rate: float):
        workload = Workload(2048, 64, prefix_hit_rate=rate)
        return estimate(LLAMA_3_8B, G6E, EngineConfig("fp16", "fp16", 8), workload)

    worse, better = run(low), run(high)
    assert better.ttft_ms.mid <= worse.ttft_ms.mid
    assert better.max_sequences == worse.max_sequences
