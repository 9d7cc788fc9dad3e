"""How each model family departs from the general decoder rules: one row per `model_type`.

The general rules are Llama's: pre-norm with two RMS norms per layer, grouped-query attention
without biases, a gated MLP of three matrices, rotary positions, an output head of its own. A
row says only what differs, and which values the family's config class fills in when a published
`config.json` leaves a field out. Each row is held to transformers' own model by a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from labkit.catalog.hf_config import HFConfig

SlidingRule = Callable[[HFConfig], tuple[bool, ...]]


def _general(config: HFConfig) -> tuple[bool, ...]:
    """Every layer slides where a window is set, or all but each n-th where a pattern is."""
    if not config.sliding_window or config.use_sliding_window is False:
        return (False,) * config.num_hidden_layers
    pattern = config.sliding_window_pattern
    return tuple(pattern is None or (i + 1) % pattern != 0 for i in range(config.num_hidden_layers))


def _every_second(config: HFConfig) -> tuple[bool, ...]:
    on = bool(config.sliding_window)
    return tuple(on and i % 2 == 0 for i in range(config.num_hidden_layers))


def _from_max_window_layers(config: HFConfig) -> tuple[bool, ...]:
    on = config.use_sliding_window is True and bool(config.sliding_window)
    first = config.max_window_layers or 0
    return tuple(on and i >= first for i in range(config.num_hidden_layers))


def _even_before_max_window_layers(config: HFConfig) -> tuple[bool, ...]:
    on = config.use_sliding_window is True and bool(config.sliding_window)
    last = config.max_window_layers or 0
    return tuple(on and i % 2 == 0 and i < last for i in range(config.num_hidden_layers))


@dataclass(frozen=True, slots=True)
class Family:
    """One family's departures. `True`/`False` is fixed; a text names the config's own switch.

    `qkv_bias`, `out_bias`, `mlp_bias`: biases on q/k/v, on the attention output, in the MLP.
    `norms`: norms of width `hidden_size` per layer; `norm_bias`: LayerNorm with a bias.
    `qk_norm`: "" none, "head" over one head's width, "full" over all heads together.
    `positions`: extra rows of a learned position table, None where positions are not learned.
    `sinks`: one learned attention sink per head. `expert_bias`: router and experts have biases.
    `embedding_norm`: a norm right after the embedding. `head_bias`: a bias on the output head.
    `mlp_ratio`: the MLP's width as a multiple of `hidden_size` where the config gives none.
    `multi_head`: the config cannot express fewer key-value heads than heads.
    """

    defaults: Mapping[str, Any] = field(default_factory=dict)
    gated: bool = True
    qkv_bias: bool | str = False
    out_bias: bool | str = False
    mlp_bias: bool | str = False
    norms: int = 2
    norm_bias: bool = False
    qk_norm: str = ""
    qk_norm_switch: str = ""
    positions: int | None = None
    sinks: bool = False
    expert_bias: bool = False
    embedding_norm: bool = False
    head_bias: bool = False
    mlp_ratio: int | None = None
    multi_head: bool = False
    sliding: SlidingRule = _general


_LLAMA = Family(qkv_bias="attention_bias", out_bias="attention_bias", mlp_bias="mlp_bias")
_ATTENTION_BIAS: Mapping[str, Any] = {"qkv_bias": "attention_bias", "out_bias": "attention_bias"}
_WINDOW_4096 = {"sliding_window": 4096, "use_sliding_window": False, "max_window_layers": 28}
_GEMMA = {"tie_word_embeddings": True, "head_dim": 256, "vocab_size": 256000}
_DEEPSEEK_V3 = Family(
    defaults={
        "q_lora_rank": 1536,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "num_local_experts": 256,
        "num_experts_per_tok": 8,
        "n_shared_experts": 1,
        "first_k_dense_replace": 3,
        "moe_intermediate_size": 2048,
    },
    **_ATTENTION_BIAS,
)

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "llama": _LLAMA,
        "granite": _LLAMA,
        "smollm3": Family(
            defaults={"tie_word_embeddings": True, "num_key_value_heads": 4},
            mlp_bias="mlp_bias",
            **_ATTENTION_BIAS,
        ),
        "mistral": Family(defaults={"num_key_value_heads": 8, "sliding_window": 4096}),
        "mixtral": Family(
            defaults={
                "num_key_value_heads": 8,
                "num_local_experts": 8,
                "num_experts_per_tok": 2,
            }
        ),
        "qwen2": Family(defaults=_WINDOW_4096, qkv_bias=True, sliding=_from_max_window_layers),
        "qwen2_moe": Family(
            defaults={
                **_WINDOW_4096,
                "qkv_bias": True,
                "num_local_experts": 60,
                "num_experts_per_tok": 4,
                "moe_intermediate_size": 1408,
                "shared_expert_intermediate_size": 5632,
            },
            qkv_bias="qkv_bias",
            sliding=_even_before_max_window_layers,
        ),
        "qwen3": Family(
            defaults={**_WINDOW_4096, "head_dim": 128},
            qk_norm="head",
            sliding=_from_max_window_layers,
            **_ATTENTION_BIAS,
        ),
        "qwen3_moe": Family(
            defaults={
                "use_sliding_window": False,
                "num_key_value_heads": 4,
                "num_local_experts": 128,
                "num_experts_per_tok": 8,
                "moe_intermediate_size": 768,
            },
            qk_norm="head",
            **_ATTENTION_BIAS,
        ),
        "gemma": Family(defaults=_GEMMA, **_ATTENTION_BIAS),
        "gemma2": Family(
            defaults={**_GEMMA, "sliding_window": 4096, "num_key_value_heads": 4},
            norms=4,
            sliding=_every_second,
            **_ATTENTION_BIAS,
        ),
        "gemma3_text": Family(
            defaults={
                **_GEMMA,
                "vocab_size": 262208,
                "max_position_embeddings": 131072,
                "sliding_window": 4096,
                "sliding_window_pattern": 6,
                "num_attention_heads": 8,
                "num_key_value_heads": 4,
            },
            norms=4,
            qk_norm="head",
            **_ATTENTION_BIAS,
        ),
        "phi3": Family(),
        "phi": Family(
            gated=False,
            qkv_bias=True,
            out_bias=True,
            mlp_bias=True,
            norms=1,
            norm_bias=True,
            head_bias=True,
        ),
        "opt": Family(
            defaults={"tie_word_embeddings": True},
            gated=False,
            qkv_bias="enable_bias",
            out_bias="enable_bias",
            mlp_bias="enable_bias",
            norm_bias=True,
            positions=2,
            multi_head=True,
        ),
        "gpt2": Family(
            defaults={"tie_word_embeddings": True},
            gated=False,
            qkv_bias=True,
            out_bias=True,
            mlp_bias=True,
            norm_bias=True,
            positions=0,
            mlp_ratio=4,
            multi_head=True,
        ),
        "gpt_neox": Family(
            defaults={"attention_bias": True},
            gated=False,
            mlp_bias=True,
            norm_bias=True,
            multi_head=True,
            **_ATTENTION_BIAS,
        ),
        "bloom": Family(
            defaults={"tie_word_embeddings": True},
            gated=False,
            qkv_bias=True,
            out_bias=True,
            mlp_bias=True,
            norm_bias=True,
            embedding_norm=True,
            mlp_ratio=4,
            multi_head=True,
        ),
        "starcoder2": Family(
            defaults={"tie_word_embeddings": True, "num_key_value_heads": 2},
            gated=False,
            qkv_bias="enable_bias",
            out_bias="enable_bias",
            mlp_bias="enable_bias",
            norm_bias=True,
        ),
        "cohere": Family(
            defaults={"tie_word_embeddings": True},
            norms=1,
            qk_norm="full",
            qk_norm_switch="use_qk_norm",
            **_ATTENTION_BIAS,
        ),
        "cohere2": Family(
            defaults={
                "tie_word_embeddings": True,
                "sliding_window": 4096,
                "sliding_window_pattern": 4,
            },
            norms=1,
            **_ATTENTION_BIAS,
        ),
        "olmo2": Family(qk_norm="full", **_ATTENTION_BIAS),
        "olmo3": Family(
            defaults={"sliding_window": 4096, "sliding_window_pattern": 4},
            qk_norm="full",
            **_ATTENTION_BIAS,
        ),
        "olmoe": Family(
            defaults={"num_local_experts": 64, "num_experts_per_tok": 8},
            qk_norm="full",
            **_ATTENTION_BIAS,
        ),
        "deepseek_v2": Family(
            defaults={
                "q_lora_rank": 1536,
                "kv_lora_rank": 512,
                "qk_nope_head_dim": 128,
                "qk_rope_head_dim": 64,
                "v_head_dim": 128,
                "num_local_experts": 64,
                "n_shared_experts": 2,
                "moe_intermediate_size": 1407,
            },
            mlp_bias="mlp_bias",
            **_ATTENTION_BIAS,
        ),
        "deepseek_v3": _DEEPSEEK_V3,
        "glm4_moe": Family(
            defaults={
                "num_key_value_heads": 8,
                "num_local_experts": 128,
                "num_experts_per_tok": 8,
                "n_shared_experts": 1,
                "first_k_dense_replace": 1,
                "moe_intermediate_size": 1408,
            },
            qkv_bias="attention_bias",
            qk_norm="head",
            qk_norm_switch="use_qk_norm",
        ),
        "gpt_oss": Family(
            defaults={
                "attention_bias": True,
                "head_dim": 64,
                "num_key_value_heads": 8,
                "sliding_window": 128,
                "num_local_experts": 128,
                "num_experts_per_tok": 4,
            },
            sinks=True,
            expert_bias=True,
            sliding=_every_second,
            **_ATTENTION_BIAS,
        ),
    }
)

# Multimodal wrappers name their language model's family only inside; these do not even there.
_SYNONYMS: Mapping[str, str] = MappingProxyType({"gemma3": "gemma3_text"})


def family_of(model_type: str) -> Family | None:
    """The family's row, or None: then the general rules count, and the spec's note says so."""
    return FAMILIES.get(_SYNONYMS.get(model_type, model_type))
