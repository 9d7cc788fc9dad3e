"""Lab 02, exercise 2.8: KV bytes per token as a function of any decoder's config."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import FunctionKind
from labkit.exercises.lab02_memory.shapes import (
    CACHE,
    ENGINE,
    KINDS,
    Config,
    config_givens,
    draw_config,
    head_dim_of,
    kv_heads_of,
    without,
)
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

BITS = (8, 16, 32)


def kv_bytes_per_token(config: Config, kv_bits: int = 16) -> float:
    """2 x layers x KV heads x head_dim; with MLA layers x (latent + RoPE part); times bytes."""
    if "kv_lora_rank" in config:
        elements = config["kv_lora_rank"] + config["qk_rope_head_dim"]
    else:
        elements = 2 * kv_heads_of(config) * head_dim_of(config)
    return float(config["num_hidden_layers"] * elements * kv_bits / 8)


def _draw(draw: Draw) -> tuple[Given, ...]:
    config = draw_config(draw.rng, draw.rng.choice(KINDS))
    bits = Given("kv_bits", draw.rng.choice(BITS), "bits", "bits per number in the cache")
    return (*config_givens(config), bits)


def _pack(g: Givens) -> tuple[Any, ...]:
    return without(g, "kv_bits"), g.kv_bits


def _edges(g: Givens) -> tuple[tuple[Any, ...], ...]:
    """The four kinds, each field missing once, and each width, whatever was drawn."""
    heads, hidden = int(g.num_attention_heads), int(g.hidden_size)
    # Numbers that no heads × head_dim of a drawn config gives: each mistake looks like itself.
    mla = {"kv_lora_rank": 448, "q_lora_rank": 1536, "qk_rope_head_dim": 48}
    mla |= {"qk_nope_head_dim": 128, "v_head_dim": 128}
    base = without(g, "kv_bits", *mla)
    gqa = base | {"num_key_value_heads": heads // 4, "head_dim": hidden // heads}
    return (
        (gqa, 16),
        (gqa | {"head_dim": 2 * hidden // heads}, 8),
        (gqa | {"num_key_value_heads": 1, "tie_word_embeddings": True}, 32),
        (without(gqa, "head_dim"), 16),
        (without(gqa, "num_key_value_heads"), 8),
        (without(gqa, "head_dim") | mla, 16),
    )


def _describe(args: tuple[Any, ...]) -> str:
    config = args[0]
    if "kv_lora_rank" in config:
        return "a config with latent attention (MLA)"
    if "num_key_value_heads" not in config:
        return "a config without num_key_value_heads"
    if "head_dim" not in config:
        return "a config without head_dim"
    return "a config with all fields"


def _special(args: tuple[Any, ...]) -> bool:
    config = args[0]
    complete = "num_key_value_heads" in config and "head_dim" in config
    return "kv_lora_rank" in config or not complete


def _rule(rule: Callable[[Config, int], float]) -> Callable[[Givens], Any]:
    """A wrong function, under the right one's default of 16 bits."""
    return lambda _g: lambda config, kv_bits=16: rule(config, kv_bits)


def _latent(numbers: Callable[[Config], int]) -> Callable[[Givens], Any]:
    """Right, but for MLA, where a layer caches this many numbers."""

    def rule(config: Config, bits: int) -> float:
        if "kv_lora_rank" not in config:
            return kv_bytes_per_token(config, bits)
        return float(config["num_hidden_layers"] * numbers(config) * bits / 8)

    return _rule(rule)


def _vector(config: Config) -> int:
    return int(config["kv_lora_rank"] + config["qk_rope_head_dim"])


def _all_heads(config: Config, bits: int) -> float:
    heads = config["num_attention_heads"]
    return kv_bytes_per_token({**config, "num_key_value_heads": heads}, bits)


KV_FUNCTION = Exercise(
    id="2.8",
    title="One function for every model",
    objective=CACHE,
    points=2,
    tier=Tier.TRANSFER,
    kind=FunctionKind(
        signature="kv_bytes_per_token(config, kv_bits=16)",
        doc="Bytes one more token adds to the cache; `kv_bits`: bits of one number in it.",
        arguments=(),
        edges=_edges,
        describe=_describe,
        special=_special,
        plain="configs with all fields",
        pack=_pack,
    ),
    statement=(
        "Write `kv_bytes_per_token(config, kv_bits=16)`: the **bytes** by which the cache grows "
        "with each token.\n\n"
        "- `config`: a plain dict with config.json's names\n"
        "- `kv_bits`: **bits** of one number in the cache (8, 16 or 32)\n\n"
        "It must work for all four kinds of attention:\n\n"
        "- `num_key_value_heads` may be missing: then there are as many as query heads (MHA).\n"
        "- `head_dim` may be missing: then it is `hidden_size // num_attention_heads`. Where it is "
        "given it counts, even if it is another number.\n"
        "- `kv_lora_rank` is there with MLA only. Then each layer caches one vector of "
        "`kv_lora_rank + qk_rope_head_dim` numbers per token, for all heads together, instead of "
        "K and V. The number of heads and `head_dim` then play no part.\n\n"
        "Treat all layers alike. You will use it on a real model in a moment. When the lab is "
        "graded it runs on configs that nobody has seen."
    ),
    answer_name="kv_bytes_per_token",
    draw=_draw,
    reference=lambda _g: kv_bytes_per_token,
    mistakes=(
        Mistake(
            Code.QUERY_HEADS,
            "You counted query heads. Only KV heads are cached: num_key_value_heads, where it is "
            "given.",
            _rule(_all_heads),
        ),
        Mistake(
            Code.ONE_TENSOR,
            "Half of it is missing: each head caches two vectors per token, K and V.",
            _rule(lambda config, bits: kv_bytes_per_token(config, bits) / 2),
        ),
        Mistake(
            Code.PER_LAYER,
            "This is one layer. Every layer has a cache of its own: num_hidden_layers of them.",
            _rule(
                lambda config, bits: kv_bytes_per_token({**config, "num_hidden_layers": 1}, bits)
            ),
        ),
        Mistake(
            Code.HEAD_DIM_GUESSED,
            "You took hidden_size / num_attention_heads although the config gives head_dim. Some "
            "models choose another number: read the field where it is there.",
            _rule(lambda config, bits: kv_bytes_per_token(without(config, "head_dim"), bits)),
        ),
        Mistake(
            Code.BITS_AS_BYTES,
            "Eight times too large: kv_bits is in bits, and a byte has eight.",
            _rule(lambda config, bits: 8 * kv_bytes_per_token(config, bits)),
        ),
        Mistake(
            Code.BYTES_PER_WEIGHT,
            "Right at 16 bits, but kv_bits is not used. The cache's format is a choice of its own.",
            _rule(lambda config, _bits: kv_bytes_per_token(config, 16)),
        ),
        Mistake(
            Code.MLA_IGNORED,
            "Right for MHA, GQA and MQA. With kv_lora_rank in the config no K and V are cached: "
            "one vector of kv_lora_rank + qk_rope_head_dim numbers stands for all heads.",
            _rule(lambda config, bits: kv_bytes_per_token(without(config, "kv_lora_rank"), bits)),
        ),
        Mistake(
            Code.MLA_DOUBLED,
            "Right for MHA, GQA and MQA. With MLA it is twice too large: K and V are made from "
            "one and the same vector, so the factor 2 falls away.",
            _latent(lambda config: 2 * _vector(config)),
        ),
        Mistake(
            Code.MLA_PER_HEAD,
            "Right for MHA, GQA and MQA. With MLA you counted a vector for each head. One vector "
            "per layer serves all heads.",
            _latent(lambda config: config["num_attention_heads"] * _vector(config)),
        ),
        Mistake(
            Code.ROPE_FORGOTTEN,
            "Right for MHA, GQA and MQA. With MLA the vector is longer than kv_lora_rank: "
            "qk_rope_head_dim numbers for the position come on top.",
            _latent(lambda config: int(config["kv_lora_rank"])),
        ),
    ),
    hints=(
        "How many numbers does one layer keep for one token? Then all layers, then bytes.",
        "Two times KV heads times head_dim, times layers, times bytes per number. MLA is shorter.",
        "layers · n · kv_bits / 8 with n = 2 · kv_heads · head_dim, or n = kv_lora_rank + "
        "qk_rope_head_dim for MLA",
    ),
    solution=(
        "def kv_bytes_per_token(config, kv_bits=16):\n"
        '    """Bytes one more token adds to the KV cache of a decoder."""\n'
        '    if "kv_lora_rank" in config:\n'
        '        numbers = config["kv_lora_rank"] + config["qk_rope_head_dim"]\n'
        "    else:\n"
        '        heads = config["num_attention_heads"]\n'
        '        kv_heads = config.get("num_key_value_heads", heads)\n'
        '        head_dim = config.get("head_dim", config["hidden_size"] // heads)\n'
        "        numbers = 2 * kv_heads * head_dim\n"
        '    return config["num_hidden_layers"] * numbers * kv_bits // 8'
    ),
    praise="Four kinds of attention, one function. Next it meets a real model's cache.",
    forbids=ENGINE,
)
