"""The model families that labkit counts to the last parameter: one row per `model_type`.

A row says only what differs from the general rules (`family`), and which values the family's
config class fills in when a published `config.json` leaves a field out. Each row is held to
transformers' own model by a test.
Families whose fields have another form are put into the common one first (`adapters`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from labkit.catalog.family import (
    Family,
    even_before_max_window_layers,
    every_second,
    from_max_window_layers,
)

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
        "qwen2": Family(defaults=_WINDOW_4096, qkv_bias=True, sliding=from_max_window_layers),
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
            sliding=even_before_max_window_layers,
        ),
        "qwen3": Family(
            defaults={**_WINDOW_4096, "head_dim": 128},
            qk_norm="head",
            sliding=from_max_window_layers,
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
            sliding=every_second,
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
        "stablelm": Family(
            norm_bias=True, qkv_bias="qkv_bias", qk_norm="full", qk_norm_switch="use_qk_norm"
        ),
        "nemotron": Family(gated=False, norm_bias=True, mlp_bias="mlp_bias", **_ATTENTION_BIAS),
        "phimoe": Family(
            defaults={
                "num_key_value_heads": 8,
                "num_local_experts": 16,
                "num_experts_per_tok": 2,
            },
            norm_bias=True,
            head_bias="lm_head_bias",
            **_ATTENTION_BIAS,
        ),
        "falcon": Family(
            defaults={"tie_word_embeddings": True},
            gated=False,
            mlp_bias="mlp_bias",
            norm_bias=True,
            mlp_ratio=4,
            **_ATTENTION_BIAS,
        ),
        "gptj": Family(
            gated=False,
            mlp_bias=True,
            norms=1,
            norm_bias=True,
            head_bias=True,
            mlp_ratio=4,
            multi_head=True,
        ),
        "mpt": Family(
            defaults={"tie_word_embeddings": True}, gated=False, mlp_ratio=4, multi_head=True
        ),
        "gpt_bigcode": Family(
            defaults={"tie_word_embeddings": True},
            gated=False,
            qkv_bias=True,
            out_bias=True,
            mlp_bias=True,
            norm_bias=True,
            positions=0,
            mlp_ratio=4,
        ),
        "dbrx": Family(),
        "llama4_text": Family(
            defaults={
                "num_key_value_heads": 8,
                "head_dim": 128,
                "intermediate_size": 8192,
                "intermediate_size_mlp": 16384,
                "num_local_experts": 16,
                "num_experts_per_tok": 1,
                "attention_chunk_size": 8192,
            },
            **_ATTENTION_BIAS,
        ),
        "glm": Family(
            defaults={"attention_bias": True, "num_key_value_heads": 2, "head_dim": 128},
            qkv_bias="attention_bias",
        ),
        "glm4": Family(
            defaults={"attention_bias": True, "num_key_value_heads": 2, "head_dim": 128},
            qkv_bias="attention_bias",
            norms=4,
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
            sliding=every_second,
            **_ATTENTION_BIAS,
        ),
    }
)

# Models with code of their own on the hub, which transformers does not hold: these rows are held
# to the published parameter counts instead.
REMOTE_CODE: Mapping[str, Family] = MappingProxyType(
    {
        "chatglm": Family(qkv_bias="qkv_bias"),
        "qwen": Family(qkv_bias=True),
        "baichuan": Family(),
        "internlm": Family(**_ATTENTION_BIAS),
        "internlm2": Family(**_ATTENTION_BIAS),
        "grok-1": Family(defaults={"tie_word_embeddings": True}, norms=4),
    }
)

# Multimodal wrappers name their language model's family only inside; these do not even there.
# Kimi K2 is DeepSeek-V3's architecture under another name.
_SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        "gemma3": "gemma3_text",
        "llama4": "llama4_text",
        "kimi_k2": "deepseek_v3",
        "qwen2_vl": "qwen2",
        "qwen2_vl_text": "qwen2",
        "qwen2_5_vl": "qwen2",
        "qwen2_5_vl_text": "qwen2",
        "qwen3_vl_text": "qwen3",
        "qwen3_vl_moe_text": "qwen3_moe",
    }
)


def family_name(model_type: str) -> str:
    """The row that a `model_type` is counted by: itself, unless it is a synonym."""
    return _SYNONYMS.get(model_type, model_type)


def family_of(model_type: str) -> Family | None:
    """The family's row, or None: then the general rules count, and the spec's note says so."""
    name = family_name(model_type)
    return FAMILIES.get(name) or REMOTE_CODE.get(name)
