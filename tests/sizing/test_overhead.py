"""The engine overhead: its parts, its eras, and the mistakes it must not make."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.sizing.engine_defaults import (
    VLLM_ERAS,
    Card,
    sglang_defaults,
    vllm_defaults,
    vllm_era,
)
from labkit.sizing.inputs import EngineConfig, SizingError
from labkit.sizing.overhead import (
    OverheadCase,
    sglang_parts,
    step_bytes_per_token,
    vllm_overhead,
    vllm_parts,
)
from labkit.sizing.overhead_fitted import FITTED
from labkit.sizing.versions import parse_version

GIB = 2**30
T4 = Card(14.74 * GIB, before_ampere=True)
L40S = Card(44.52 * GIB)
A100 = Card(79.15 * GIB, is_a100=True)
H100 = Card(79.18 * GIB)
B200 = Card(178 * GIB)

# Llama-3.1-8B, 0.10, on a card that warms 256 sequences.
EIGHT_B = OverheadCase(
    engine="vllm",
    version="0.10.2",
    tensor_parallel_size=1,
    layer_parameters=218e6,
    moe=False,
    vocab_size=128_256,
    max_num_seqs=256,
    max_num_batched_tokens=2_048,
)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0.10.1.1", (0, 10, 1, 1)),
        ("v0.8.5.post1", (0, 8, 5)),
        ("0.26.1rc1.dev156+g0eec856cc.d20260731", (0, 26, 1)),
        ("0.13.0+faa43dbf.nv26.01", (0, 13, 0)),
        (" 0.7 ", (0, 7)),
    ],
)
def test_versions_are_read_as_engines_write_them(text, numbers):
    assert parse_version(text) == numbers


@pytest.mark.parametrize("text", ["latest", "", "2024", "-1.2", "99999.1", "０.９"])
def test_what_is_no_version_is_one_sentence(text):
    with pytest.raises(SizingError, match=r"engine_version must look like 0\.11\.0, not"):
        EngineConfig("bf16", "bf16", engine_version=text)


def test_fewer_slots_than_the_batch_are_refused():
    with pytest.raises(SizingError, match="max_num_seqs must be a whole number of at least 8"):
        EngineConfig("bf16", "bf16", 8, max_num_seqs=4)


@pytest.mark.parametrize(
    ("version", "share"),
    [("0.6.0", 0.90), ("0.19.2rc1.dev206", 0.90), ("0.20.0", 0.92), ("0.27.1", 0.92), (None, 0.92)],
)
def test_the_default_share_is_92_percent_after_0_19(version, share):
    assert vllm_defaults(version, L40S).gpu_memory_utilization == share


@pytest.mark.parametrize(
    ("version", "card", "sequences", "tokens"),
    [
        ("0.10.2", L40S, 256, 2_048),
        ("0.10.2", A100, 256, 2_048),
        ("0.10.2", H100, 1_024, 8_192),
        (None, H100, 1_024, 8_192),
        (None, B200, 1_024, 16_384),
        ("0.7.3", H100, 256, 8_000),  # the old engine runs the whole prompt
    ],
)
def test_default_limits_of_a_step(version, card, sequences, tokens):
    defaults = vllm_defaults(version, card, max_model_len=8_000)
    assert (defaults.max_num_seqs, defaults.max_num_batched_tokens) == (sequences, tokens)


def test_the_old_engine_cuts_prompts_above_32k_only():
    assert vllm_defaults("0.6.4", L40S, max_model_len=32_768).max_num_batched_tokens == 32_768
    assert vllm_defaults("0.6.4", L40S, max_model_len=32_769).max_num_batched_tokens == 2_048


def test_cards_before_ampere_keep_the_old_engine_until_0_11():
    assert vllm_era("0.10.2", before_ampere=True) is VLLM_ERAS[0]
    assert vllm_era("0.11.0", before_ampere=True) is VLLM_ERAS[1]
    assert vllm_era("0.8.0") is VLLM_ERAS[1]
    assert not vllm_era("0.8.5", before_ampere=True).sampler_may_fuse


def test_eras_are_in_order_and_sourced():
    assert [era.since for era in VLLM_ERAS] == sorted(era.since for era in VLLM_ERAS)
    assert all(era.source for era in VLLM_ERAS)


def test_big_cards_warm_their_sampler_with_1024_sequences():
    """0.10 on an H100 logged 5.59 GiB of activations for a vocabulary of 151,936; 0.17 does not."""
    case = replace(EIGHT_B, vocab_size=151_936, max_num_seqs=1_024, max_num_batched_tokens=8_192)
    assert _part(case, "sampler's trial pass").size.mid == pytest.approx(5.59 * GIB, rel=0.02)
    later = vllm_overhead(replace(case, version="0.17.0"))
    assert later.mid < 0.4 * vllm_overhead(case).mid


def test_embedding_models_have_no_sampler():
    case = replace(EIGHT_B, max_num_seqs=1_024, generates=False)
    assert "sampler's trial pass" not in [part.name for part in vllm_parts(case)]
    assert vllm_overhead(case).mid < 0.5 * GIB


def test_a_whole_prompt_in_one_step_is_what_fills_the_old_engine():
    """0.6 on an RTX 3090 logged 2.07 and 2.99 GiB of peak at 20,000 and 29,000 tokens."""
    for tokens, peak in ((20_000, 2.07), (29_000, 2.99)):
        case = replace(EIGHT_B, version="0.6.4", max_num_batched_tokens=tokens)
        part = _part(case, "activations of the longest step")
        assert part.size.mid == pytest.approx(peak * GIB, rel=0.2)


def test_graphs_count_inside_from_0_21_unless_eager():
    newest = replace(EIGHT_B, version=None)
    assert "CUDA graphs" in [part.name for part in vllm_parts(newest)]
    for other in (replace(newest, enforce_eager=True), replace(newest, version="0.20.0")):
        assert "CUDA graphs" not in [part.name for part in vllm_parts(other)]


def test_a_fused_sampler_may_have_been_installed_so_the_low_end_is_lower():
    low = _part(EIGHT_B, "sampler's trial pass").size.low
    assert low < 0.5 * _part(EIGHT_B, "sampler's trial pass").size.mid
    old = _part(replace(EIGHT_B, version="0.7.3"), "sampler's trial pass").size
    assert old.low == old.mid


def test_experts_and_tp_need_less_of_a_step():
    assert step_bytes_per_token(replace(EIGHT_B, moe=True)) < step_bytes_per_token(EIGHT_B)
    assert step_bytes_per_token(replace(EIGHT_B, tensor_parallel_size=8)) < step_bytes_per_token(
        EIGHT_B
    )


def test_every_part_has_a_name_and_a_source():
    for era in VLLM_ERAS:
        version = ".".join(map(str, era.since)) + ".0"
        case = replace(EIGHT_B, version=version, tensor_parallel_size=4, images=True)
        parts = vllm_parts(case)
        assert len({part.name for part in parts}) == len(parts) >= 4
        assert all(part.name and part.source for part in parts)
        assert sum(part.size.mid for part in parts) == pytest.approx(vllm_overhead(case).mid)


def test_sglang_keeps_only_its_context_of_what_it_takes():
    (context,) = sglang_parts(0.88)
    assert 0 <= context.size.low < context.size.mid < context.size.high < 1.5 * GIB


@pytest.mark.parametrize(
    ("version", "card", "tp", "share"),
    [
        ("0.4.6", L40S, 1, 0.88),
        ("0.4.6", L40S, 2, 0.87),
        ("0.4.6.post3", H100, 8, 0.81),
        # 81,080 MiB - (512 + 1.5 x 8,192 + 2 x 256 + 128 x 1) MiB
        ("0.5.3", H100, 1, 0.834),
        (None, H100, 1, 0.834),
    ],
)
def test_sglang_derives_its_share_from_the_card(version, card, tp, share):
    assert sglang_defaults(version, card, tp).gpu_memory_utilization == pytest.approx(
        share, abs=2e-3
    )


@given(
    version=st.sampled_from([None, "0.6.4", "0.8.5", "0.15.0", "0.19.1", "0.27.1"]),
    tp=st.sampled_from([1, 2, 4, 8]),
    layer=st.floats(1e5, 1e11),
    moe=st.booleans(),
    vocab=st.integers(1_000, 300_000),
    sequences=st.integers(1, 2_048),
    tokens=st.integers(1, 131_072),
    images=st.booleans(),
    generates=st.booleans(),
)
def test_the_band_is_ordered_and_grows_with_what_is_asked(
    version, tp, layer, moe, vocab, sequences, tokens, images, generates
):
    case = OverheadCase(
        "vllm", version, tp, layer, moe, vocab, sequences, tokens, False, False, generates, images
    )
    band = vllm_overhead(case)
    assert 0 <= band.low <= band.mid <= band.high
    assert band.kind == "fit"
    more = replace(case, max_num_seqs=2 * sequences, max_num_batched_tokens=2 * tokens)
    assert vllm_overhead(more).mid >= band.mid


def test_fitted_numbers_are_few_and_positive():
    assert len(FITTED) <= 9
    assert all(value >= 0 for value in FITTED.values())


def _part(case, name):
    return next(part for part in vllm_parts(case) if part.name == name)
