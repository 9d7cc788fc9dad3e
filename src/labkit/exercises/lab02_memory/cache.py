"""Lab 02, exercises 2.1, 2.2 and 2.10: the KV cache of one token, and of many sequences."""

from __future__ import annotations

import math

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises import given
from labkit.exercises.kinds import Quantity, Tolerance
from labkit.exercises.lab02_memory.shapes import CACHE, kv_per_token, kv_width, shape
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

GIB_PER_GB = 2**30 / 1e9


# --- 2.1 one token of a 70B ------------------------------------------------------------------


def _draw_2_1(draw: Draw) -> tuple[Given, ...]:
    return (
        *shape(draw.facts.model("llama-3-70b")),
        kv_width(draw.facts.format("fp16")),
    )


def _all_heads(g: Givens) -> float:
    return kv_per_token(g) * float(g.heads) / float(g.kv_heads)


KV_70B = Exercise(
    id="2.1",
    title="One token of Llama-3-70B",
    objective=CACHE,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("B", Tolerance.EXACT),
    statement=(
        "Llama-3-70B keeps its cache in FP16. Each layer has 64 query heads, but only 8 KV heads: "
        "8 query heads share each of them.\n\n"
        "**How many bytes does one token take in the cache?** All layers together, exactly."
    ),
    answer_name="kv_70b",
    draw=_draw_2_1,
    reference=kv_per_token,
    mistakes=(
        # 64 / 8 heads and 8 bits per byte are the same factor here.
        Mistake(
            Code.QUERY_HEADS,
            "Eight times too large. Either you counted all query heads, where only KV heads are "
            "cached, or you took 16 bits for 16 bytes.",
            _all_heads,
        ),
        Mistake(
            Code.ONE_TENSOR,
            "Half of it is missing. Each head caches two vectors, K and V, and an FP16 number has "
            "two bytes.",
            lambda g: kv_per_token(g) / 2,
        ),
        Mistake(
            Code.PER_LAYER,
            "This is one layer. Every layer keeps its own K and V.",
            lambda g: kv_per_token(g) / g.layers,
        ),
    ),
    hints=(
        "Count the numbers that one layer keeps for one token, then all layers, then bytes.",
        "K and V, times KV heads, times numbers per head, times layers, times bytes.",
        "2 · kv_heads · head_dim · layers · bytes_per_element",
    ),
    solution="kv_70b = 2 * g.kv_heads * g.head_dim * g.layers * g.bytes_per_element",
    praise=(
        "A third of a megabyte for a single token. With one KV head per query head it would be "
        "eight times that."
    ),
)


# --- 2.2 another format in the cache -----------------------------------------------------------


def _draw_2_2(draw: Draw) -> tuple[Given, ...]:
    model = draw.facts.model("qwen2.5-7b")
    return (
        *shape(model),
        Given("hidden_size", model.hidden_size, "", "hidden size", "hidden_size"),
        kv_width(draw.facts.format("int8")),
    )


KV_QWEN = Exercise(
    id="2.2",
    title="One token of Qwen2.5-7B, in an INT8 cache",
    objective=CACHE,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("B", Tolerance.EXACT),
    statement=(
        "The cache has a number format of its own. It need not be that of the weights: Qwen2.5-7B "
        "has BF16 weights here, and its cache is kept in INT8.\n\n"
        "**How many bytes does one token take in this cache?** Leave scale factors out."
    ),
    answer_name="kv_qwen",
    draw=_draw_2_2,
    reference=kv_per_token,
    mistakes=(
        Mistake(
            Code.BYTES_PER_WEIGHT,
            "Those are 16-bit numbers, as the weights have. This cache is INT8: one byte each.",
            lambda g: 2 * kv_per_token(g),
        ),
        Mistake(
            Code.QUERY_HEADS,
            "You counted all query heads, which is the hidden size. Only the KV heads are cached.",
            _all_heads,
        ),
        Mistake(
            Code.BITS_AS_BYTES,
            "You took 8 bits for 8 bytes. INT8 is one byte.",
            lambda g: 8 * kv_per_token(g),
        ),
        Mistake(
            Code.HEAD_DIM_GUESSED,
            "You took the hidden size for what is cached, and 8 bits for 8 bytes. Cached are KV "
            "heads × head_dim, and INT8 is one byte.",
            lambda g: 2 * g.layers * g.hidden_size * 8,
        ),
        Mistake(
            Code.ONE_TENSOR,
            "Half of it is missing: K and V are two.",
            lambda g: kv_per_token(g) / 2,
        ),
        Mistake(
            Code.PER_LAYER,
            "This is one layer. Every layer keeps its own K and V.",
            lambda g: kv_per_token(g) / g.layers,
        ),
    ),
    hints=(
        "The same count as in 2.1. Only the last factor differs.",
        "K and V, times KV heads, times numbers per head, times layers, times one byte.",
        "2 · kv_heads · head_dim · layers · bytes_per_element",
    ),
    solution="kv_qwen = 2 * g.kv_heads * g.head_dim * g.layers * g.bytes_per_element",
    praise="Two choices, two formats: quantizing the weights does nothing for the cache.",
    claim="E081",
)


# --- 2.10 weights in sequences ------------------------------------------------------------------


def _draw_2_10(draw: Draw) -> tuple[Given, ...]:
    model = draw.facts.model("llama-2-7b")
    return (
        given.parameters(model),
        given.width(draw.facts.format("bf16")),
        *shape(model),
        kv_width(draw.facts.format("bf16")),
        Given("tokens", model.max_context, "tokens", "one sequence at full length", "its config"),
    )


def _weights_in_sequences(g: Givens) -> float:
    return float(g.params_total * g.bytes_per_weight / (kv_per_token(g) * g.tokens))


WEIGHTS_IN_SEQUENCES = Exercise(
    id="2.10",
    title="Prove or refute: the cache outgrows the model",
    objective=CACHE,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("sequences", Tolerance.FORMULA),
    statement=(
        "A published chapter warns: *for a document of 4,096 tokens the cache can become larger "
        "than the model itself.* Test it on Llama-2-7B, which has no shared heads at all, with "
        "weights and cache in BF16.\n\n"
        "**How many such sequences have a cache as large as the stored weights?** "
        "Two or three digits are enough (such as 1.23); do not round to a whole number."
    ),
    answer_name="sequences_as_weights",
    draw=_draw_2_10,
    reference=_weights_in_sequences,
    mistakes=(
        Mistake(
            Code.INVERTED,
            "This is the cache of one sequence as a share of the weights. Asked: the reverse.",
            lambda g: 1 / _weights_in_sequences(g),
        ),
        Mistake(
            Code.BYTES_PER_WEIGHT,
            "You counted one byte per weight. BF16 has two.",
            lambda g: _weights_in_sequences(g) / 2,
        ),
        Mistake(
            Code.ONE_TENSOR,
            "Twice too many: each token caches K and V, in two bytes per number.",
            lambda g: _weights_in_sequences(g) * 2,
        ),
        Mistake(
            Code.GB_AS_GIB,
            "You divided GB by GiB. Work in bytes, or in one unit on both sides.",
            lambda g: _weights_in_sequences(g) * GIB_PER_GB,
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "This is a number of tokens. Asked: sequences. Divide by their length.",
            lambda g: _weights_in_sequences(g) * g.tokens,
        ),
        Mistake(
            Code.NOT_WHOLE,
            "This is rounded to a whole number. Asked: two or three digits.",
            lambda g: round(_weights_in_sequences(g)),
        ),
        Mistake(
            Code.CLOSE,
            "This is rounded up to whole sequences. Right for the question when the caches "
            "outgrow the weights. Asked here: the number before rounding.",
            lambda g: math.ceil(_weights_in_sequences(g)),
        ),
    ),
    hints=(
        "Two sizes in bytes: all weights, and the cache of one full sequence.",
        "Parameters × bytes, divided by tokens × bytes per token.",
        "params_total · bytes_per_weight / (tokens · 2 · layers · kv_heads · head_dim · "
        "bytes_per_element)",
    ),
    solution=(
        "per_token = 2 * g.layers * g.kv_heads * g.head_dim * g.bytes_per_element\n"
        "sequences_as_weights = g.params_total * g.bytes_per_weight / (g.tokens * per_token)"
    ),
    praise=(
        "Refuted for one document, and true for seven at once. A cache belongs to a sequence, so "
        "it grows with your users; the weights do not."
    ),
    claim="E079",
)

CACHE_EXERCISES = (KV_70B, KV_QWEN)
