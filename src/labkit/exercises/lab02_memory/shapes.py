"""What Lab 02's exercises share: a model's shape as givens, the cache's arithmetic, and configs.

A *config* here is what a published `config.json` holds, as a plain dict with its field names.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from labkit.catalog import ModelSpec, NumberFormat
from labkit.contract.givens import Given, Givens

CACHE = "the KV cache: its bytes, its time, its room"
ENGINE = ("labkit.sizing", "labkit.catalog")
KINDS = ("mha", "gqa", "mqa", "mla")

Config = Mapping[str, Any]


def shape(model: ModelSpec) -> tuple[Given, ...]:
    """Layers, query heads, KV heads and head_dim of a model whose layers are all alike."""
    kind = model.attention[0]
    return (
        Given("layers", kind.layers, "", f"{model.name}: layers", "num_hidden_layers"),
        Given("heads", kind.heads, "", "query heads", "num_attention_heads"),
        Given("kv_heads", kind.kv_heads, "", "KV heads", "num_key_value_heads"),
        Given("head_dim", kind.head_dim, "", "numbers per head", "head_dim"),
    )


def kv_width(fmt: NumberFormat) -> Given:
    """Bytes of one cached number."""
    return Given(
        "bytes_per_element",
        fmt.bytes_per_weight,
        "B",
        f"bytes per {fmt.name.upper()} number in the cache",
        "the format's definition",
    )


def kv_per_token(g: Givens) -> float:
    """K and V of every layer and KV head, for one token."""
    return float(2 * g.layers * g.kv_heads * g.head_dim * g.bytes_per_element)


# --- configs ---------------------------------------------------------------------------------


def draw_config(rng: Random, kind: str) -> dict[str, Any]:
    """A decoder of this kind of attention that nobody has published."""
    heads = rng.choice((8, 16, 24, 32, 40, 64))
    head_dim = rng.choice((64, 80, 96, 128))
    groups = {"mha": 1, "gqa": rng.choice((2, 4, 8)), "mqa": heads, "mla": 1}[kind]
    hidden = heads * head_dim
    config: dict[str, Any] = {
        "hidden_size": hidden,
        "intermediate_size": 128 * rng.randint(16, 160),
        "num_hidden_layers": rng.randint(8, 96),
        "num_attention_heads": heads,
        "num_key_value_heads": heads // groups,
        "vocab_size": 64 * rng.randint(500, 4000),
        "tie_word_embeddings": rng.random() < 0.5,
    }
    if kind == "mla":
        return config | latent(rng)
    if rng.random() < 0.5:
        config["head_dim"] = head_dim
    elif rng.random() < 0.5:
        config["head_dim"] = head_dim * 2
    return config


def latent(rng: Random) -> dict[str, Any]:
    """The fields by which a config says that its attention is latent (MLA)."""
    return {
        "kv_lora_rank": rng.choice((256, 384, 512, 640)),
        "q_lora_rank": rng.choice((768, 1536)),
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": rng.choice((32, 64, 96)),
        "v_head_dim": 128,
    }


def without(config: Config, *fields: str) -> dict[str, Any]:
    """The same config with fields left out."""
    return {name: value for name, value in config.items() if name not in fields}


def config_givens(config: Config) -> tuple[Given, ...]:
    """Each field of a config as a given of the same name."""
    return tuple(Given(name, value, "", name, "config.json") for name, value in config.items())


def kv_heads_of(config: Config) -> int:
    """KV heads; a config that does not say has one for each query head."""
    return int(config.get("num_key_value_heads", config["num_attention_heads"]))


def head_dim_of(config: Config) -> int:
    """Numbers per head; a config that does not say divides the hidden size evenly."""
    return int(config.get("head_dim", config["hidden_size"] // config["num_attention_heads"]))
