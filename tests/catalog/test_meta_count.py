"""Parameter counts against transformers' own models, built on torch's meta device (no weights)."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labkit.catalog import Catalog, ModelSpec
from labkit.catalog.families import FAMILIES, REMOTE_CODE, family_name
from labkit.catalog.models import records

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
transformers.logging.set_verbosity_error()

SHIPPED = records(Catalog.load().snapshot)
EMBEDDINGS = ("embed_tokens.weight", "wte.weight", "word_embeddings.weight", "embed_in.weight")
HEADS = ("lm_head.weight", "embed_out.weight")
# Billions of parameters as the publishers state them (model cards), for what transformers lacks.
PUBLISHED = {
    "internlm-7b": 7.32,
    "internlm-20b": 20.09,
    "internlm2-7b": 7.74,
    "internlm2-20b": 19.86,
    "baichuan-7b": 7.00,
    "baichuan-13b": 13.26,
    "baichuan2-7b": 7.51,
    "baichuan2-13b": 13.90,
    "qwen-7b": 7.72,
    "qwen-14b": 14.17,
    "qwen-72b": 72.29,
    "chatglm2-6b": 6.24,
    "chatglm3-6b": 6.24,
    "grok-1": 314.0,
}
REMOTE = [n for n, record in SHIPPED.items() if record["config"]["model_type"] in REMOTE_CODE]


def meta_parameters(fields: dict) -> dict[str, int]:
    """Name to element count of every parameter of transformers' model of this configuration."""
    fields = {k: v for k, v in fields.items() if k != "quantization_config"}
    if "text_config" in fields:
        fields = dict(fields["text_config"])
    kind = family_name(fields.pop("model_type"))
    config = transformers.AutoConfig.for_model(kind, **fields)
    auto = {
        "bert": transformers.AutoModel,
        "resnet": transformers.AutoModelForImageClassification,
    }.get(kind, transformers.AutoModelForCausalLM)
    with torch.device("meta"):
        model = auto.from_config(config)
    return {name: p.numel() for name, p in model.named_parameters()}


def ending(parameters: dict[str, int], ends: tuple[str, ...]) -> int:
    return sum(n for name, n in parameters.items() if name.endswith(ends))


def routed(parameters: dict[str, int]) -> int:
    return sum(
        n for name, n in parameters.items() if ".experts." in name and not name.endswith("bias")
    )


@pytest.mark.parametrize("name", [name for name in SHIPPED if name not in REMOTE])
def test_every_shipped_model_at_full_size(name):
    parameters = meta_parameters(SHIPPED[name]["config"])
    counted = Catalog.load().model(name).params
    assert counted.total == sum(parameters.values())
    if Catalog.load().model(name).kind == "decoder":
        assert counted.embedding == ending(parameters, EMBEDDINGS)
        assert counted.head == ending(parameters, HEADS)
        assert counted.positions == ending(parameters, ("embed_positions.weight", "wpe.weight"))
        assert counted.experts == routed(parameters)
        vectors = sum(n for p, n in parameters.items() if p.endswith(("bias", "norm.weight")))
        assert counted.other >= vectors


def test_what_transformers_lacks_has_a_published_count():
    known = transformers.models.auto.configuration_auto.CONFIG_MAPPING
    assert not set(REMOTE_CODE) & set(known)
    assert set(REMOTE) == set(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_model_with_code_of_its_own_has_its_published_size(name):
    spec = Catalog.load().model(name)
    assert spec.params.total / 1e9 == pytest.approx(PUBLISHED[name], rel=0.006)
    assert "general decoder rules" not in spec.note


# What a family needs beside the common fields, under the names its own config class uses.
MOE = {"num_experts_per_tok": 2, "moe_intermediate_size": 24}
EXTRA: dict[str, dict] = {
    "mixtral": {"num_local_experts": 4},
    "qwen2_moe": {**MOE, "num_experts": 4, "shared_expert_intermediate_size": 40},
    "qwen3_moe": {**MOE, "num_experts": 4},
    "olmoe": {"num_experts": 4, "num_experts_per_tok": 2},
    "deepseek_v2": {**MOE, "n_routed_experts": 4},
    "deepseek_v3": {**MOE, "n_routed_experts": 4, "n_group": 1, "topk_group": 1},
    "glm4_moe": {**MOE, "n_routed_experts": 4},
    "gpt_oss": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "phimoe": {"num_local_experts": 4, "num_experts_per_tok": 2},
    "llama4_text": {"num_local_experts": 4, "num_experts_per_tok": 1, "attention_chunk_size": 16},
}
LATENT = {"deepseek_v2", "deepseek_v3"}
OWN_NAMES = {
    "gpt2": {
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
        "max_position_embeddings": "n_positions",
        "intermediate_size": "n_inner",
    },
    "gptj": {
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
        "max_position_embeddings": "n_positions",
        "intermediate_size": "n_inner",
    },
    "gpt_bigcode": {
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
        "max_position_embeddings": "n_positions",
        "intermediate_size": "n_inner",
    },
    "mpt": {
        "hidden_size": "d_model",
        "num_hidden_layers": "n_layers",
        "num_attention_heads": "n_heads",
        "max_position_embeddings": "max_seq_len",
    },
    "dbrx": {
        "hidden_size": "d_model",
        "num_hidden_layers": "n_layers",
        "num_attention_heads": "n_heads",
        "max_position_embeddings": "max_seq_len",
    },
    "falcon": {"intermediate_size": "ffn_hidden_size", "num_key_value_heads": "num_kv_heads"},
    "bloom": {"num_hidden_layers": "n_layer", "num_attention_heads": "n_head"},
    "opt": {"intermediate_size": "ffn_dim"},
    "starcoder2": {"attention_bias": "use_bias"},
}
WITHOUT_WIDTH = {"bloom", "mpt"}  # the MLP's width is a multiple of the model's
WITHOUT_HEAD_DIM = {
    "olmoe",
    "falcon",
    "gpt_bigcode",
    "dbrx",
    "stablelm",
}  # heads x head_dim = hidden_size


# Switches that only the adapted families have.
ADAPTED = {
    "falcon": st.fixed_dictionaries(
        {
            "new_decoder_architecture": st.booleans(),
            "multi_query": st.booleans(),
            "parallel_attn": st.booleans(),
            "bias": st.booleans(),
        },
        optional={"num_ln_in_parallel_attn": st.integers(1, 2)},
    ),
    "gpt_bigcode": st.fixed_dictionaries({"multi_query": st.booleans()}),
    "mpt": st.fixed_dictionaries({"expansion_ratio": st.just(4)}),
    "stablelm": st.fixed_dictionaries(
        {
            "use_qkv_bias": st.booleans(),
            "qk_layernorm": st.booleans(),
            "use_parallel_residual": st.booleans(),
        }
    ),
    "phimoe": st.fixed_dictionaries({"lm_head_bias": st.booleans()}),
    "llama4_text": st.fixed_dictionaries(
        {"interleave_moe_layer_step": st.integers(1, 3), "intermediate_size_mlp": st.just(20)}
    ),
    "dbrx": st.fixed_dictionaries(
        {
            "tie_word_embeddings": st.just(False),
            "attn_config": st.fixed_dictionaries(
                {"kv_n_heads": st.just(1), "rope_theta": st.just(500000.0)}
            ),
            "ffn_config": st.fixed_dictionaries(
                {
                    "ffn_hidden_size": st.integers(1, 40),
                    "moe_num_experts": st.just(4),
                    "moe_top_k": st.integers(1, 4),
                }
            ),
        }
    ),
}


@st.composite
def small_config(draw, family: str) -> dict:
    kv = draw(st.integers(1, 3))
    heads = kv * draw(st.integers(1, 3))
    width = draw(st.sampled_from([4, 8, 16]))
    fields = {
        "hidden_size": heads * width,
        "num_hidden_layers": draw(st.integers(1, 7)),
        "num_attention_heads": heads,
        "num_key_value_heads": heads if family in LATENT else kv,
        "intermediate_size": draw(st.integers(1, 60)),
        "vocab_size": draw(st.integers(5, 300)),
        "max_position_embeddings": draw(st.integers(8, 64)),
        "tie_word_embeddings": draw(st.booleans()),
        "attention_bias": draw(st.booleans()),
        "mlp_bias": draw(st.booleans()),
        "use_qk_norm": draw(st.booleans()),
        "pad_token_id": 0,
        **EXTRA.get(family, {}),
    }
    free = family not in LATENT | WITHOUT_HEAD_DIM and not FAMILIES[family].multi_head
    if free and draw(st.booleans()):
        fields["head_dim"] = draw(st.sampled_from([2, 6, 32]))
    if family in LATENT:
        fields |= {
            "q_lora_rank": draw(st.none() | st.integers(1, 20)),
            "kv_lora_rank": draw(st.integers(1, 20)),
            "qk_nope_head_dim": draw(st.sampled_from([2, 8])),
            "qk_rope_head_dim": draw(st.sampled_from([2, 4])),
            "v_head_dim": draw(st.sampled_from([3, 8])),
            "first_k_dense_replace": draw(st.integers(0, 2)),
            "n_shared_experts": draw(st.integers(1, 2)),
        }
    if family in {"qwen2_moe", "qwen3_moe"}:
        fields["decoder_sparse_step"] = draw(st.integers(1, 3))
        fields["mlp_only_layers"] = draw(st.sampled_from([[], [0], [1, 2]]))
    if family in {"qwen2", "qwen3", "qwen2_moe"}:
        fields |= {
            "use_sliding_window": draw(st.booleans()),
            "sliding_window": 16,
            "max_window_layers": draw(st.integers(0, 4)),
        }
    if family in ADAPTED:
        fields |= draw(ADAPTED[family])
    if family == "opt":
        fields["word_embed_proj_dim"] = draw(st.sampled_from([fields["hidden_size"], 12]))
        fields["do_layer_norm_before"] = draw(st.booleans())
        fields["enable_bias"] = draw(st.booleans())
    if family in WITHOUT_WIDTH:
        del fields["intermediate_size"]
    own = OWN_NAMES.get(family, {})
    return {"model_type": family, **{own.get(k, k): v for k, v in fields.items()}}


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_family_on_random_small_configurations(family, data):
    fields = data.draw(small_config(family))
    parameters = meta_parameters(fields)
    spec = ModelSpec.from_config(fields)
    assert spec.params.total == sum(parameters.values())
    assert spec.params.experts == routed(parameters)
    assert "general decoder rules" not in spec.note
    kind = transformers.AutoConfig.for_model(fields.pop("model_type"), **fields)
    if getattr(kind, "layer_types", None) and "mla" not in {a.kind for a in spec.attention}:
        slides = sum(t in {"sliding_attention", "chunked_attention"} for t in kind.layer_types)
        assert sum(a.layers for a in spec.attention if a.kind == "sliding") == slides


def test_what_transformers_writes_back_is_read_the_same():
    """A config saved by transformers spells out its defaults: the count must not change."""
    for name in ("gpt-oss-20b", "qwen2.5-7b", "deepseek-v2-lite", "opt-13b"):
        fields = dict(SHIPPED[name]["config"])
        fields.pop("quantization_config", None)
        kind = fields.pop("model_type")
        written = transformers.AutoConfig.for_model(kind, **fields).to_dict()
        assert ModelSpec.from_config(written).params == Catalog.load().model(name).params
