"""Every trap that public sizing tools fall into, each as a test that names it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labkit.catalog.formats import number_format
from labkit.sizing import (
    EngineConfig,
    RefusalCode,
    SizingError,
    Workload,
    compute_dtype,
    compute_peak,
    decode_flops,
    estimate,
    expected_distinct_experts,
    experts_touched,
    kv_bytes_per_sequence,
    kv_bytes_per_token,
    kv_growth_bytes_per_token,
    kv_heads_per_device,
    prefill_floor_seconds,
    prefill_flops,
    resident_weight_bytes,
    resident_weight_parts,
    ridge_point,
    streamed_weight_bytes,
)
from labkit.sizing.device import device_of
from labkit.sizing.weights import device_weight_bytes
from tests.sizing.sizing_specs import (
    A10G,
    BF16,
    FP8,
    FP16,
    G4DN,
    G5,
    G5_48XL,
    G6,
    G6E,
    G6E_48XL,
    G6F,
    GEMMA_2,
    GIB,
    H100,
    INF2,
    INF2_48XL,
    INT4,
    INT8,
    L4,
    L40S,
    LLAMA_2_7B,
    LLAMA_2_13B,
    LLAMA_3_8B,
    MIXTRAL,
    MLA,
    MXFP4,
    P4D,
    QWEN_7B,
    SMOLLM2,
    T4,
)

CHAT = Workload(512, 256)


def codes(result) -> list[str]:
    return [str(refusal.code) for refusal in result.refusals]


def test_gqa_counts_kv_heads_and_reads_head_dim_from_the_config():
    assert kv_bytes_per_token(LLAMA_3_8B, FP16) == 2 * 32 * 8 * 128 * 2
    # Gemma-2: head_dim is 256, hidden / heads would be 224.
    assert kv_bytes_per_token(GEMMA_2, FP16) == 2 * 42 * 8 * 256 * 2


def test_kv_dtype_need_not_be_the_weights():
    assert kv_bytes_per_token(LLAMA_3_8B, FP8) == kv_bytes_per_token(LLAMA_3_8B, FP16) / 2
    mixed = estimate(LLAMA_3_8B, G6E, EngineConfig("int4", "fp8"), CHAT)
    assert mixed.memory.kv_bytes_per_token == 65_536
    assert mixed.memory.weights_bytes == resident_weight_bytes(LLAMA_3_8B, INT4)


def test_tp_beyond_kv_heads_replicates_the_cache():
    assert [kv_heads_per_device(4, n) for n in (1, 2, 4, 8)] == [4, 2, 1, 1]
    assert kv_heads_per_device(6, 4) == 2  # an uneven cut rounds up
    per_device = [kv_bytes_per_token(QWEN_7B, FP16, tensor_parallel_size=n) for n in (4, 8)]
    assert per_device[0] == per_device[1] == 57_344 / 4


def test_an_mla_latent_is_not_divided_by_tp():
    assert kv_bytes_per_token(MLA, FP16) == 27 * (512 + 64) * 2
    assert kv_bytes_per_token(MLA, FP16, tensor_parallel_size=8) == 27 * (512 + 64) * 2


@pytest.mark.parametrize(
    ("model", "tp", "ok"),
    [(LLAMA_2_13B, 8, True), (QWEN_7B, 8, False), (QWEN_7B, 4, True), (SMOLLM2, 2, False)],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_heads_must_divide_by_tp(model, tp, ok):
    result = estimate(model, G5_48XL, EngineConfig("bf16", "bf16", 1, tp), CHAT)
    assert ("HEADS_NOT_DIVISIBLE" in codes(result)) is not ok
    if not ok:
        assert result.tpot_ms is None
        detail = result.refusals[0].detail
        assert str(tp) in detail
        assert "these do: 1" in detail


def test_40_heads_refuse_16_neuroncores_and_take_20():
    bad = estimate(LLAMA_2_13B, INF2_48XL, EngineConfig("bf16", "bf16", 1, 16), CHAT)
    good = estimate(LLAMA_2_13B, INF2_48XL, EngineConfig("bf16", "bf16", 1, 20), CHAT)
    assert "HEADS_NOT_DIVISIBLE" in codes(bad)
    assert good.fits


def test_moe_memory_is_all_experts():
    assert resident_weight_bytes(MIXTRAL, BF16) == MIXTRAL.params.total * 2
    assert resident_weight_bytes(MIXTRAL, BF16) > 93e9


@pytest.mark.parametrize(("batch", "touched"), [(1, 2), (2, 4), (3, 6), (4, 8), (5, 8), (64, 8)])
def test_moe_step_streams_min_n_batch_k_experts(batch, touched):
    assert experts_touched(8, 2, batch) == touched
    moved = streamed_weight_bytes(MIXTRAL, BF16, batch) - streamed_weight_bytes(MIXTRAL, BF16, 1)
    assert moved == (touched - 2) * 32 * MIXTRAL.params.per_expert * 2


def test_expected_distinct_experts_lie_below_the_bound():
    assert expected_distinct_experts(8, 2, 1) == pytest.approx(2.0)
    assert expected_distinct_experts(8, 2, 4) == pytest.approx(8 * (1 - 0.75**4))
    for batch in (2, 3, 8, 100):
        assert expected_distinct_experts(8, 2, batch) <= experts_touched(8, 2, batch)


def test_moe_flops_are_those_of_the_routed_experts_only():
    dense = decode_flops(replace(MIXTRAL, moe=None))
    routed = 2 * 2 * 32 * MIXTRAL.params.per_expert
    assert decode_flops(MIXTRAL) == pytest.approx(dense + routed)


def test_mla_scores_the_latent_at_decode_and_expanded_heads_in_prefill():
    per_token = decode_flops(MLA, context=1000) - decode_flops(MLA)
    assert per_token == pytest.approx(1000 * 27 * 2 * 16 * (2 * 512 + 64))
    quadratic = prefill_flops(MLA, 2000) - 2 * prefill_flops(MLA, 1000)
    head = 2 * MLA.params.head
    assert quadratic == pytest.approx(1000**2 * 27 * 2 * 16 * (192 + 128) - head, rel=1e-6)


def test_sliding_layers_stop_growing_at_their_window():
    inside = kv_bytes_per_sequence(GEMMA_2, FP16, 4096)
    beyond = kv_bytes_per_sequence(GEMMA_2, FP16, 8192)
    assert inside == 4096 * kv_bytes_per_token(GEMMA_2, FP16)
    assert beyond - inside == 4096 * kv_growth_bytes_per_token(GEMMA_2, FP16)
    assert kv_growth_bytes_per_token(GEMMA_2, FP16) == kv_bytes_per_token(GEMMA_2, FP16) / 2
    assert beyond > 8192 * kv_growth_bytes_per_token(GEMMA_2, FP16)  # the capped term stays


def test_linear_attention_holds_a_constant_state():
    hybrid = replace(
        LLAMA_3_8B,
        attention=(
            replace(LLAMA_3_8B.attention[0], layers=8),
            replace(LLAMA_3_8B.attention[0], kind="linear", layers=24),
        ),
    )
    assert kv_bytes_per_token(hybrid, FP16) == kv_bytes_per_token(LLAMA_3_8B, FP16) / 4
    growth = kv_bytes_per_sequence(hybrid, FP16, 2000) - kv_bytes_per_sequence(hybrid, FP16, 1000)
    assert growth == 1000 * kv_bytes_per_token(hybrid, FP16)
    assert kv_bytes_per_sequence(hybrid, FP16, 1) > 24 * 32 * 128 * 128 * 4


def test_the_input_embedding_is_resident_and_not_streamed():
    parts = resident_weight_parts(LLAMA_3_8B, BF16)
    assert parts.embedding == parts.head == pytest.approx(1.05e9, rel=0.01)
    left_out = resident_weight_bytes(LLAMA_3_8B, BF16) - streamed_weight_bytes(LLAMA_3_8B, BF16)
    assert left_out == parts.embedding


def test_a_tied_table_is_stored_once_and_streamed_as_the_head():
    assert resident_weight_parts(SMOLLM2, BF16).head == 0
    assert streamed_weight_bytes(SMOLLM2, BF16) == resident_weight_bytes(SMOLLM2, BF16)


def test_a_swiglu_mlp_has_three_matrices():
    per_layer = 3 * 4096 * 14336 + 2 * 4096 * 4096 + 2 * 4096 * 1024
    assert LLAMA_3_8B.params.linear == 32 * per_layer


def test_four_bit_weights_cost_scales_and_zero_points():
    assert INT4.bits_per_weight == 4.15625
    assert resident_weight_parts(LLAMA_2_7B, INT4).linear / LLAMA_2_7B.params.linear == (
        pytest.approx(4.15625 / 8)
    )


@pytest.mark.parametrize("fmt", [INT8, FP8, INT4, MXFP4], ids=lambda fmt: fmt.name)
def test_quantized_checkpoints_keep_embeddings_head_and_norms_at_16_bits(fmt):
    parts = resident_weight_parts(LLAMA_3_8B, fmt)
    assert parts.embedding == LLAMA_3_8B.params.embedding * 2
    assert parts.head == LLAMA_3_8B.params.head * 2
    assert parts.other == LLAMA_3_8B.params.other * 2


def test_a_native_mxfp4_model_quantizes_its_experts_only():
    native = replace(MIXTRAL, native_format="mxfp4", native_parts=("experts",))
    parts = resident_weight_parts(native, MXFP4)
    assert parts.experts == MIXTRAL.params.experts * 4.25 / 8
    assert parts.linear == MIXTRAL.params.linear * 2


@pytest.mark.parametrize("name", ["int8", "int4"])
def test_weight_only_formats_do_not_speed_up_prefill(name):
    fmt = number_format(name)
    sixteen = prefill_floor_seconds(LLAMA_3_8B, A10G, FP16, 2048)
    assert prefill_floor_seconds(LLAMA_3_8B, A10G, fmt, 2048) == pytest.approx(sixteen)
    quick = estimate(LLAMA_3_8B, G6E, EngineConfig(name, "fp16"), Workload(2048, 8))
    plain = estimate(LLAMA_3_8B, G6E, EngineConfig("fp16", "fp16"), Workload(2048, 8))
    # Unpacking costs a little; fewer bytes are no gain where arithmetic decides.
    assert plain.ttft_ms.mid * 0.95 < quick.ttft_ms.mid < plain.ttft_ms.mid * 1.5
    assert quick.tpot_ms.mid < plain.tpot_ms.mid


def test_fp8_speeds_up_prefill_only_where_the_silicon_has_it():
    assert compute_dtype(L40S, FP8) == "fp8"
    assert compute_peak(L40S, FP8) == pytest.approx(733e12)
    assert compute_dtype(A10G, FP8) in {"bf16", "fp16"}
    assert compute_peak(A10G, FP8) == 70e12


def test_dense_rates_not_sparse_ones():
    assert ridge_point(L40S, FP16) == pytest.approx(419, abs=0.5)  # 838 with sparsity
    assert ridge_point(H100, FP16) == pytest.approx(295, abs=0.5)


def test_the_a10g_is_not_the_a10():
    assert ridge_point(A10G, FP16) == pytest.approx(70e12 / 600e9)


def test_gb_are_not_gib():
    size = resident_weight_bytes(LLAMA_2_13B, FP16)
    assert size / 1e9 == pytest.approx(26.0, abs=0.05)
    assert size / GIB == pytest.approx(24.2, abs=0.05)


def test_g6_decodes_slower_than_g5_and_g6e_is_the_l40s():
    def tpot(machine):
        return estimate(LLAMA_2_7B, machine, EngineConfig("bf16", "bf16"), CHAT).tpot_ms.mid

    assert tpot(G6) > tpot(G5) > tpot(G6E)


def test_a_fraction_of_a_gpu_gets_a_memory_answer_and_no_invented_speed():
    result = estimate(SMOLLM2, G6F, EngineConfig("bf16", "bf16"), CHAT)
    assert result.fits
    assert result.memory.usable_bytes == pytest.approx(L4.usable_bytes / 8, abs=1)
    assert result.tpot_ms is result.ttft_ms is result.output_tokens_per_s is None
    assert result.usd_per_million_output_tokens is None
    assert result.bound is None


def test_a_neuron_core_is_half_a_chip_and_tp_counts_cores():
    core = device_of(INF2)
    assert core.usable_bytes == 16 * GIB
    assert core.bandwidth == 410e9
    assert device_of(INF2_48XL).count == 24
    chip = estimate(LLAMA_2_7B, INF2, EngineConfig("bf16", "bf16"), CHAT)
    assert chip.tensor_parallel_size == 2  # both cores of the one chip


def test_inf2_48xlarge_has_384_gib():
    device = device_of(INF2_48XL)
    assert device.count * device.usable_bytes == 384 * GIB


def test_int4_is_refused_on_inferentia2():
    result = estimate(LLAMA_2_7B, INF2, EngineConfig("int4", "bf16"), CHAT)
    assert "DTYPE_UNSUPPORTED" in codes(result)
    assert "int8" in result.refusals[0].detail
    assert not result.fits


def test_bf16_is_refused_on_a_t4():
    result = estimate(SMOLLM2, G4DN, EngineConfig("bf16", "fp16"), CHAT)
    assert "DTYPE_UNSUPPORTED" in codes(result)
    cache = estimate(SMOLLM2, G4DN, EngineConfig("fp16", "bf16"), CHAT)
    assert "DTYPE_UNSUPPORTED" in codes(cache)
    with pytest.raises(SizingError, match=r"T4 does not compute in bf16 .*fp16"):
        ridge_point(T4, BF16)


def test_int4_on_a_t4_computes_in_fp16():
    assert compute_dtype(T4, INT4) == "fp16"
    assert estimate(LLAMA_2_7B, G4DN, EngineConfig("int4", "fp16"), CHAT).fits


def test_host_ram_refuses_by_loader():
    whole = estimate(LLAMA_2_13B, INF2, EngineConfig("bf16", "bf16"), CHAT)
    assert codes(whole) == ["HOST_RAM"]
    assert "16.00 GiB" in whole.refusals[0].detail
    assert whole.tpot_ms is not None  # pre-sharded artifacts would run
    split = estimate(LLAMA_2_13B, INF2, EngineConfig("bf16", "bf16", loader="presharded"), CHAT)
    assert split.fits
    # A GPU streams its weights: 16 GiB of host memory are no obstacle on g5.xlarge.
    assert estimate(LLAMA_2_7B, G5, EngineConfig("bf16", "bf16"), CHAT).fits
    eager = EngineConfig("bf16", "bf16", loader="state_dict")
    assert "HOST_RAM" in codes(estimate(LLAMA_3_8B, G5, eager, CHAT))


@pytest.mark.parametrize(
    ("version", "share", "room"),
    [
        (None, None, 27),  # the newest vLLM takes 0.92 of the card
        ("0.11.0", None, 26),  # 0.90, and it sorts the logits of 256 sequences
        ("0.11.0", 0.87, 24),
    ],
)
def test_13b_fp16_batch_32_does_not_fit_on_one_l40s(version, share, room):
    """24.24 GiB of weights leave about 16 GiB; a 768-token sequence takes 600 MiB."""
    config = EngineConfig("fp16", "fp16", 32, engine_version=version, gpu_memory_utilization=share)
    result = estimate(LLAMA_2_13B, G6E, config, CHAT)
    assert not result.fits
    assert codes(result) == ["KV_CACHE"]
    assert result.max_sequences == result.running_sequences == room
    assert f"{room} of 32 sequences fit at full length (768 tokens" in result.refusals[0].detail


def test_tp_on_pcie_speeds_decode_up_and_prefill_down():
    """Operator tables of 13B on L40S: TTFT 66/61/188/422 ms, TPOT 38.5/21.5/12.1/7.8 at TP 1-8."""
    results = [
        estimate(LLAMA_2_13B, G6E_48XL, EngineConfig("fp16", "fp16", 1, n), CHAT)
        for n in (1, 2, 4, 8)
    ]
    ttft = [result.ttft_ms.mid for result in results]
    tpot = [result.tpot_ms.mid for result in results]
    assert ttft[1] < ttft[0] * 1.1 < ttft[2] < ttft[3]
    assert tpot[0] > tpot[1] > tpot[2]
    for result, measured in zip(results, (66, 61, 188, 422), strict=True):
        assert result.ttft_ms.low < measured < result.ttft_ms.high
    for result, measured in zip(results, (38.5, 21.5, 12.1, 7.8), strict=True):
        assert result.tpot_ms.low < measured < result.tpot_ms.high
    assert results[3].prefill.bound == "communication"


def test_nvlink_does_not_pay_that_price():
    """Operator tables of 13B on A100: TTFT 60/38/26/17.5 ms at TP 1/2/4/8."""
    ttft = [
        estimate(LLAMA_2_13B, P4D, EngineConfig("fp16", "fp16", 1, n), CHAT).ttft_ms
        for n in (1, 2, 4, 8)
    ]
    assert ttft[0].mid > ttft[1].mid > ttft[2].mid > ttft[3].mid
    for band, measured in zip(ttft, (60, 38, 26, 17.5), strict=True):
        assert band.low < measured < band.high


def test_norms_are_on_every_device_and_matrices_are_cut():
    one, four = (device_weight_bytes(LLAMA_3_8B, BF16, n) for n in (1, 4))
    norms = LLAMA_3_8B.params.other * 2
    assert four == (one - norms) / 4 + norms


def test_refusal_codes_are_the_agreed_ten():
    assert set(RefusalCode) == {
        "WEIGHTS", "KV_CACHE", "HEADS_NOT_DIVISIBLE", "DTYPE_UNSUPPORTED", "HOST_RAM", "SLO_TTFT",
        "SLO_TPOT", "NOT_OFFERED", "ENGINE_UNSUPPORTED", "UNKNOWN_PRICE",
    }  # fmt: skip
