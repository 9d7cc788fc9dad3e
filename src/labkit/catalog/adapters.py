"""Families whose `config.json` speaks another language: each is put into the common fields first.

Nested groups (DBRX), derived head counts (Falcon, StarCoder, ChatGLM), widths stored doubled
(Qwen 1), two MLP widths in one model (Llama 4). An adapter takes and gives canonical fields; it
never raises: what makes no sense is left for `hf_config.validate` to name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

Fields = Mapping[str, Any]
MOST_LAYERS = 10_000
Adapter = Callable[[Fields], dict[str, Any]]


def _falcon(f: Fields) -> dict[str, Any]:
    """Multi-query unless the new decoder is on; one or two norms by how the blocks run."""
    new = f.get("new_decoder_architecture") is True
    heads = f.get("num_attention_heads")
    if new:
        kv_heads = f.get("num_key_value_heads") or heads
    else:
        kv_heads = 1 if f.get("multi_query", True) is True else heads
    if f.get("parallel_attn", True) is False:
        norms = 2
    else:
        norms = f.get("num_ln_in_parallel_attn") or (2 if new else 1)
    bias = f.get("bias", False)
    return {
        **f,
        "num_key_value_heads": kv_heads,
        "norms_per_layer": norms,
        "attention_bias": bias,
        "mlp_bias": bias,
    }


def _gpt_bigcode(f: Fields) -> dict[str, Any]:
    single = f.get("multi_query", True) is True
    return {**f, "num_key_value_heads": 1 if single else f.get("num_attention_heads")}


def _mpt(f: Fields) -> dict[str, Any]:
    hidden, ratio = f.get("hidden_size"), f.get("expansion_ratio", 4)
    whole = isinstance(hidden, int) and isinstance(ratio, int)
    return {**f, "intermediate_size": hidden * ratio if whole else None}


def _dbrx(f: Fields) -> dict[str, Any]:
    attention, mlp = _group(f, "attn_config"), _group(f, "ffn_config")
    width = mlp.get("ffn_hidden_size")
    return {
        **f,
        "num_key_value_heads": attention.get("kv_n_heads"),
        "intermediate_size": width,
        "moe_intermediate_size": width,
        "num_local_experts": mlp.get("moe_num_experts"),
        "num_experts_per_tok": mlp.get("moe_top_k"),
    }


def _chatglm(f: Fields) -> dict[str, Any]:
    grouped = f.get("multi_query_attention") is True
    return {
        **f,
        "vocab_size": f.get("padded_vocab_size") or f.get("vocab_size"),
        "num_key_value_heads": f.get("multi_query_group_num") if grouped else None,
        "head_dim": f.get("kv_channels"),
        "qkv_bias": f.get("add_qkv_bias", False),
    }


def _qwen(f: Fields) -> dict[str, Any]:
    """The config's width counts the gate and the up projection together."""
    width = f.get("intermediate_size")
    return {
        **f,
        "intermediate_size": width // 2 if isinstance(width, int) else width,
        "head_dim": f.get("kv_channels"),
    }


def _stablelm(f: Fields) -> dict[str, Any]:
    """One norm where attention and MLP run in parallel; q/k norms of each head's own."""
    return {
        **f,
        "qkv_bias": f.get("use_qkv_bias", False),
        "use_qk_norm": f.get("qk_layernorm", False),
        "norms_per_layer": 1 if f.get("use_parallel_residual") is True else 2,
    }


def _internlm(f: Fields) -> dict[str, Any]:
    return {**f, "attention_bias": f.get("bias", False)}


def _llama4(f: Fields) -> dict[str, Any]:
    """Experts have `intermediate_size`, dense layers another width; every n-th layer is full."""
    step = f.get("interleave_moe_layer_step", 1)
    kinds = f.get("layer_types")
    if kinds is None:
        kinds = _llama4_layers(
            f.get("num_hidden_layers"), f.get("no_rope_layers"), f.get("no_rope_layer_interval", 4)
        )
    return {
        **f,
        "intermediate_size": f.get("intermediate_size_mlp") or f.get("intermediate_size"),
        "moe_intermediate_size": f.get("intermediate_size"),
        "n_shared_experts": 1,
        "decoder_sparse_step": step,
        "layer_types": kinds,
        "sliding_window": f.get("attention_chunk_size"),
    }


def _llama4_layers(layers: object, rotary: object, every: object) -> list[str] | None:
    """Layers with rotary positions attend within chunks; those without see everything."""
    if not isinstance(rotary, list) or not rotary:
        if not (isinstance(layers, int) and isinstance(every, int)):
            return None
        if not (0 < layers <= MOST_LAYERS and every > 0):
            return None
        rotary = [(i + 1) % every for i in range(layers)]
    return ["chunked_attention" if layer else "full_attention" for layer in rotary]


def _group(f: Fields, key: str) -> Fields:
    inner = f.get(key)
    return inner if isinstance(inner, Mapping) else {}


ADAPTERS: Mapping[str, Adapter] = MappingProxyType(
    {
        "falcon": _falcon,
        "gpt_bigcode": _gpt_bigcode,
        "mpt": _mpt,
        "dbrx": _dbrx,
        "chatglm": _chatglm,
        "qwen": _qwen,
        "stablelm": _stablelm,
        "internlm": _internlm,
        "internlm2": _internlm,
        "llama4_text": _llama4,
    }
)


def adapt(model_type: str, fields: Fields) -> dict[str, Any]:
    """`fields` in the common language; unchanged for the families that speak it already."""
    adapter = ADAPTERS.get(model_type)
    return dict(fields) if adapter is None else adapter(fields)
