"""Configurations in another language: their fields in ours, and what makes no sense in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.catalog import Catalog, ConfigError, ModelSpec
from labkit.catalog.adapters import ADAPTERS, adapt

CATALOG = Catalog.load("2026-11-30")


def spec(name: str, **changes: object) -> ModelSpec:
    return ModelSpec.from_config({**CATALOG.config(name), **changes})


# Key-value heads, which the configurations do not state as such.
@pytest.mark.parametrize(
    ("name", "heads", "kv_heads"),
    [
        ("falcon-7b", 71, 1),
        ("falcon-40b", 128, 8),
        ("falcon-180b", 232, 8),
        ("starcoder", 48, 1),
        ("mpt-30b", 64, 64),
        ("dbrx", 48, 8),
        ("chatglm3-6b", 32, 2),
        ("qwen-7b", 32, 32),
    ],
)
def test_key_value_heads(name, heads, kv_heads):
    (attention,) = CATALOG.model(name).attention
    assert (attention.heads, attention.kv_heads) == (heads, kv_heads)


def test_the_switches_of_falcon():
    assert spec("falcon-7b", multi_query=False).attention[0].kv_heads == 71
    # One norm of two LayerNorm vectors fewer per layer when both blocks share it.
    one = spec("falcon-40b", num_ln_in_parallel_attn=1).params.other
    two = spec("falcon-40b").params.other
    assert two - one == 60 * 2 * 8192


def test_qwen_1_counts_gate_and_up_together():
    by_hand = 32 * (4 * 4096 * 4096 + 3 * 4096 * 11008)
    assert CATALOG.model("qwen-7b").params.linear == by_hand


def test_dbrx_has_experts_in_every_layer():
    model = CATALOG.model("dbrx")
    assert model.moe is not None
    assert (model.moe.experts, model.moe.experts_per_token, model.moe.moe_layers) == (16, 4, 40)
    assert model.params.per_expert == 3 * 6144 * 10752


def test_llama_4_attends_in_chunks_and_has_experts_at_every_second_layer():
    model = CATALOG.model("llama-4-maverick")
    assert {(a.kind, a.layers, a.window) for a in model.attention} == {
        ("sliding", 36, 8192),
        ("full", 12, None),
    }
    assert model.moe is not None
    assert (model.moe.moe_layers, model.moe.shared_experts) == (24, 1)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 200),
    st.text(max_size=5),
    st.lists(st.integers(0, 2), max_size=4),
    st.dictionaries(st.sampled_from(["kv_n_heads", "moe_top_k"]), st.integers(0, 3), max_size=2),
)
EXTRA = (
    *("num_kv_heads", "multi_query", "new_decoder_architecture", "num_ln_in_parallel_attn"),
    *("bias", "parallel_attn", "expansion_ratio", "attn_config", "ffn_config", "kv_channels"),
    *("padded_vocab_size", "multi_query_attention", "multi_query_group_num", "add_qkv_bias"),
    *("intermediate_size", "intermediate_size_mlp", "no_rope_layers", "no_rope_layer_interval"),
    *("interleave_moe_layer_step", "attention_chunk_size", "num_local_experts", "layer_types"),
    *("hidden_size", "num_hidden_layers", "num_attention_heads"),
)


@pytest.mark.parametrize("family", ADAPTERS)
@given(fields=st.dictionaries(st.sampled_from(EXTRA), JUNK, max_size=8))
def test_nonsense_is_one_sentence(family, fields):
    """The configuration border: a model, or a sentence that names the field."""
    sound = {
        "model_type": family,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "vocab_size": 100,
    }
    try:
        model = ModelSpec.from_config({**sound, **fields})
    except ConfigError as error:
        said = str(error)
    else:
        said = ""
        assert model.params.total > 0
    assert said == "" or said.endswith(".")


def test_other_families_pass_through_unchanged():
    fields = {"model_type": "llama", "hidden_size": 64}
    assert adapt("llama", fields) == fields
