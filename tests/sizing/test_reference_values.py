"""The course's reference numbers, recomputed on the byte basis that their statements name."""

from __future__ import annotations

import pytest

from labkit.sizing import (
    active_parameters,
    arithmetic_intensity,
    attainable_flops,
    compute_bound_context_limit,
    critical_batch,
    decode_bytes,
    decode_ceiling_tokens_per_s,
    decode_step_seconds,
    kv_blocks,
    kv_bytes_per_token,
    max_cached_tokens,
    prefill_floor_seconds,
    resident_weight_bytes,
    ridge_point,
    streamed_weight_bytes,
    usd_per_million_tokens,
)
from tests.sizing.sizing_specs import (
    A10G,
    A100,
    BF16,
    FP16,
    GIB,
    H100,
    INFERENTIA2,
    INT4,
    INT8,
    L4,
    L40S,
    LLAMA_2_7B,
    LLAMA_2_13B,
    LLAMA_3_8B,
    LLAMA_3_70B,
    MIB,
    MIXTRAL,
    QWEN_7B,
    SMOLLM2,
    T4,
    TINYLLAMA,
)


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        (LLAMA_2_7B, 6_738_415_616),
        (LLAMA_2_13B, 13_015_864_320),
        (LLAMA_3_8B, 8_030_261_248),
        (LLAMA_3_70B, 70_553_706_496),
        (QWEN_7B, 7_615_616_512),
        (MIXTRAL, 46_702_792_704),
        (TINYLLAMA, 1_100_048_384),
        (SMOLLM2, 134_515_008),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_hand_built_specs_have_the_published_sizes(model, parameters):
    assert model.params.total == parameters


@pytest.mark.parametrize(
    ("model", "gigabytes"),
    [
        (LLAMA_2_7B, 3.89),
        (LLAMA_2_13B, 7.25),
        (LLAMA_3_8B, 5.73),
        (QWEN_7B, 5.57),
        (TINYLLAMA, 0.77),
        (LLAMA_3_70B, 39.77),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_int4_checkpoints_keep_embeddings_and_head_at_16_bits(model, gigabytes):
    assert resident_weight_bytes(model, INT4) / 1e9 == pytest.approx(gigabytes, abs=0.005)


@pytest.mark.parametrize(
    ("accelerator", "ridge"),
    [(T4, 203.1), (A10G, 116.667), (L4, 403.3), (L40S, 419.0), (A100, 200.6), (H100, 295.3)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_ridge_points(accelerator, ridge):
    assert ridge_point(accelerator, FP16) == pytest.approx(ridge, rel=1e-3)


def test_intensity_of_batch_1_decode_is_1_flop_per_byte():
    assert arithmetic_intensity(LLAMA_3_8B, BF16) == pytest.approx(1.0, rel=1e-4)
    assert arithmetic_intensity(LLAMA_3_8B, BF16, batch=64) == pytest.approx(64.0, rel=1e-4)


def test_critical_batch_moves_left_with_fewer_bytes():
    assert critical_batch(A10G, FP16) == pytest.approx(116.667, rel=1e-4)
    assert critical_batch(A10G, INT8) == pytest.approx(58.333, rel=1e-4)
    # 4.15625 bits with scales and zero points; 4.00 bits would give 29.17.
    assert critical_batch(A10G, INT4) == pytest.approx(116.667 * 4.15625 / 16, rel=1e-4)


def test_decode_ceiling_on_streamed_and_on_resident_bytes():
    assert decode_ceiling_tokens_per_s(LLAMA_3_8B, A10G, BF16) == pytest.approx(39.97, abs=0.005)
    resident = decode_ceiling_tokens_per_s(LLAMA_3_8B, A10G, BF16, resident=True)
    assert resident == pytest.approx(37.36, abs=0.005)


def test_decode_ceiling_with_4096_tokens_in_the_cache():
    ceiling = decode_ceiling_tokens_per_s(LLAMA_3_8B, A10G, BF16, context=4096)
    assert ceiling == pytest.approx(38.59, abs=0.005)


def test_batch_16_step_on_an_l4():
    seconds = decode_step_seconds(LLAMA_2_7B, L4, BF16, batch=16, context=1024)
    assert seconds * 1e3 == pytest.approx(72.7, abs=0.05)


def test_prefill_floor_is_causal_and_computes_the_head_once():
    seconds = prefill_floor_seconds(LLAMA_3_8B, A10G, BF16, 2048, efficiency=0.5)
    assert seconds * 1e3 == pytest.approx(848, abs=0.5)


def test_cached_tokens_and_blocks_of_7b_on_an_a10g():
    pool = 0.9 * 22_888 * MIB - resident_weight_bytes(LLAMA_2_7B, BF16) - GIB
    per_token = kv_bytes_per_token(LLAMA_2_7B)
    assert pool / per_token == pytest.approx(13_445.4, abs=0.1)
    assert kv_blocks(pool, per_token) == 840
    assert max_cached_tokens(pool, per_token) == 13_440


def test_int4_speedup_bound_on_both_bases():
    streamed = streamed_weight_bytes(LLAMA_2_7B, BF16) / streamed_weight_bytes(LLAMA_2_7B, INT4)
    resident = resident_weight_bytes(LLAMA_2_7B, BF16) / resident_weight_bytes(LLAMA_2_7B, INT4)
    assert streamed == pytest.approx(3.64, abs=0.005)
    assert resident == pytest.approx(3.465, abs=0.005)


def test_tokens_that_7b_int4_can_write_in_380_ms_on_an_a10g():
    streamed = decode_step_seconds(LLAMA_2_7B, 600e9, INT4)
    resident = decode_step_seconds(LLAMA_2_7B, 600e9, INT4, resident=True)
    assert streamed * 1e3 == pytest.approx(6.05, abs=0.005)
    assert resident * 1e3 == pytest.approx(6.48, abs=0.005)
    assert (int(0.38 / streamed), int(0.38 / resident)) == (62, 58)


def test_mixtral_streams_its_active_experts_at_batch_1():
    assert active_parameters(MIXTRAL) == pytest.approx(12_879_925_248, rel=1e-6)
    everything = 600e9 / (MIXTRAL.params.total * 2)
    active = 600e9 / (active_parameters(MIXTRAL) * 2)
    assert (everything, active) == (pytest.approx(6.4, abs=0.05), pytest.approx(23.3, abs=0.05))


@pytest.mark.parametrize(
    ("accelerator", "tokens"),
    [(A10G, 1050), (T4, 603), (L4, 303), (L40S, 292), (A100, 610), (H100, 415)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_llama_3_8b_is_never_compute_bound_beyond_this_mean_context(accelerator, tokens):
    # The published limits count the embedding and leave attention FLOPs out: within 7 %.
    limit = compute_bound_context_limit(LLAMA_3_8B, accelerator, FP16)
    assert limit == pytest.approx(tokens, rel=0.07)
    # And the limit is one: a batch of a million is compute-bound just below, not just above.
    for context, side in ((limit * 0.95, 1), (limit * 1.05, -1)):
        intensity = arithmetic_intensity(LLAMA_3_8B, FP16, batch=10**6, context=context)
        assert (intensity - ridge_point(accelerator, FP16)) * side > 0


def test_aggregate_bytes_of_inf2_48xlarge_in_10_ms():
    assert 12 * INFERENTIA2.bandwidth_bytes_per_s * 0.01 == pytest.approx(98.4e9)


def test_cost_per_million_tokens():
    assert usd_per_million_tokens(1.006, 1060) == pytest.approx(0.263627, abs=1e-6)


def test_attainable_takes_numbers_and_arrays():
    import numpy as np

    assert attainable_flops(0.0, 70e12, 600e9) == 0.0
    assert attainable_flops(70e12 / 600e9, 70e12, 600e9) == pytest.approx(70e12)
    curve = attainable_flops(np.array([0.0, 1.0, 1e6]), 70e12, 600e9)
    assert curve.tolist() == [0.0, 600e9, 70e12]


def test_decode_bytes_are_weights_once_and_a_cache_per_sequence():
    alone = decode_bytes(LLAMA_2_7B, BF16, batch=1, context=1024)
    many = decode_bytes(LLAMA_2_7B, BF16, batch=16, context=1024)
    assert many - alone == pytest.approx(15 * 1024 * 524_288)
