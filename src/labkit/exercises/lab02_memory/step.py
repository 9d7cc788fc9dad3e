"""Lab 02, exercises 1.5 and 1.6: what reading the cache adds to a decode step.

They were Lab 01's and came here, where the cache is known; their ids stay.
"""

from __future__ import annotations

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises import given
from labkit.exercises.kinds import Quantity, Tolerance
from labkit.exercises.lab02_memory.cache import GIB_PER_GB
from labkit.exercises.lab02_memory.shapes import CACHE, kv_per_token, kv_width, shape
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier


def _givens(draw: Draw, model_name: str, chip: str, tokens: int, batch: int) -> tuple[Given, ...]:
    model = draw.facts.model(model_name)
    return (
        given.parameters(model),
        given.embedding(model),
        given.head(model),
        given.width(draw.facts.format("bf16")),
        *shape(model),
        kv_width(draw.facts.format("bf16")),
        Given("tokens", tokens, "tokens", "context of each sequence"),
        Given("batch", batch, "", "sequences", "batch"),
        given.bandwidth(draw.facts.accelerator(chip)),
    )


def _weights(g: Givens) -> float:
    """Streamed bytes: all but the input embedding."""
    return float((g.params_total - g.params_embedding) * g.bytes_per_weight)


def _cache(g: Givens) -> float:
    return float(g.batch * g.tokens * kv_per_token(g))


def _rate(g: Givens, bytes_read: float) -> float:
    return float(g.bandwidth_gbps * 1e9 / bytes_read)


CEILING_4K = Exercise(
    id="1.5",
    title="The same ceiling with a full context",
    objective=CACHE,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("tok/s", Tolerance.COUNTED),
    statement=(
        "Lab 01 asked how fast Llama-3-8B (BF16) can possibly write on an A10G with an empty "
        "context. Now one sequence has 4,096 tokens in its cache, in BF16 too. At every step the "
        "whole cache is read once, beside the weights. The weights are streamed as in Lab 01: "
        "everything but the input embedding.\n\n"
        "**What is the highest number of tokens per second that the memory allows?**"
    ),
    answer_name="ceiling_4k",
    draw=lambda draw: _givens(draw, "llama-3-8b", "A10G", 4096, 1),
    reference=lambda g: _rate(g, _weights(g) + _cache(g)),
    mistakes=(
        Mistake(
            Code.KV_FORGOTTEN,
            "This is the ceiling of an empty context. Every step also reads the whole cache.",
            lambda g: _rate(g, _weights(g)),
        ),
        Mistake(
            Code.QUERY_HEADS,
            "You counted query heads. Llama-3-8B caches 8 KV heads, a quarter of them.",
            lambda g: _rate(g, _weights(g) + _cache(g) * g.heads / g.kv_heads),
        ),
        Mistake(
            Code.EMBEDDING_STREAMED,
            "You streamed the input embedding as well: a step reads one row of it.",
            lambda g: _rate(g, g.params_total * g.bytes_per_weight + _cache(g)),
        ),
        Mistake(
            Code.HEAD_NOT_STREAMED,
            "You left out both tables. The output head is read in full at every step.",
            lambda g: _rate(g, _weights(g) - g.params_head * g.bytes_per_weight + _cache(g)),
        ),
        Mistake(
            Code.ONE_TENSOR,
            "You read half of the cache. K and V are two.",
            lambda g: _rate(g, _weights(g) + _cache(g) / 2),
        ),
        Mistake(
            Code.BYTES_PER_WEIGHT,
            "You counted one byte per weight. BF16 has two.",
            lambda g: _rate(g, _weights(g) / 2 + _cache(g)),
        ),
        Mistake(
            Code.TIME_NOT_RATE,
            "This is the time of one step in milliseconds. Asked: tokens per second.",
            lambda g: 1e3 / _rate(g, _weights(g) + _cache(g)),
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "This is the bandwidth divided by all stored weights. The input embedding is not "
            "streamed, and the cache is missing.",
            lambda g: _rate(g, g.params_total * g.bytes_per_weight),
        ),
    ),
    hints=(
        "Two things are read before the next token can appear.",
        "Bandwidth divided by (streamed weights + cache of the sequence).",
        "bandwidth / ((params_total − params_embedding) · 2 + tokens · 2 · layers · kv_heads · "
        "head_dim · 2)",
    ),
    solution=(
        "weights = (g.params_total - g.params_embedding) * g.bytes_per_weight\n"
        "cache = g.tokens * 2 * g.layers * g.kv_heads * g.head_dim * g.bytes_per_element\n"
        "ceiling_4k = g.bandwidth_gbps * 1e9 / (weights + cache)"
    ),
    praise="One user hardly notices: the shared KV heads keep the cache small. Now sixteen users.",
    claim="E010",
)

STEP_MS = Exercise(
    id="1.6",
    title="Sixteen users, each with a context",
    objective=CACHE,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("ms", Tolerance.COUNTED),
    statement=(
        "Llama-2-7B in BF16 serves 16 sequences on one L4, each with 1,024 tokens in its BF16 "
        "cache. A step reads the weights **once** for all (everything but the input embedding) "
        "and the cache of **every** sequence. Assume for now that all of it fits.\n\n"
        "**How long does the memory need for one step, in milliseconds?**"
    ),
    answer_name="batch_step_ms",
    draw=lambda draw: _givens(draw, "llama-2-7b", "L4", 1024, 16),
    reference=lambda g: 1e3 / _rate(g, _weights(g) + _cache(g)),
    mistakes=(
        Mistake(
            Code.KV_FORGOTTEN,
            "This is the weights alone. The batch shares them; each sequence has its own cache.",
            lambda g: 1e3 / _rate(g, _weights(g)),
        ),
        Mistake(
            Code.ONE_SEQUENCE,
            "You read one cache. Sixteen sequences have sixteen.",
            lambda g: 1e3 / _rate(g, _weights(g) + _cache(g) / g.batch),
        ),
        Mistake(
            Code.WEIGHTS_PER_SEQUENCE,
            "You read the weights once per sequence. They are read once per step, for the whole "
            "batch: that is the gain of batching.",
            lambda g: 1e3 / _rate(g, g.batch * _weights(g) + _cache(g)),
        ),
        Mistake(
            Code.EMBEDDING_STREAMED,
            "You streamed the input embedding as well: a step reads a few rows of it.",
            lambda g: 1e3 / _rate(g, g.params_total * g.bytes_per_weight + _cache(g)),
        ),
        Mistake(
            Code.ONE_TENSOR,
            "You read half of the caches. K and V are two.",
            lambda g: 1e3 / _rate(g, _weights(g) + _cache(g) / 2),
        ),
        Mistake(
            Code.TIME_NOT_RATE,
            "This is a rate, tokens per second of all sequences. Asked: the time of one step.",
            lambda g: g.batch * _rate(g, _weights(g) + _cache(g)),
        ),
        Mistake(
            Code.GB_AS_GIB,
            "You took GB/s for GiB/s. Datasheets print decimal gigabytes: 1 GB = 1e9 bytes.",
            lambda g: 1e3 / _rate(g, _weights(g) + _cache(g)) / GIB_PER_GB,
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "This is all stored weights divided by the bandwidth. The input embedding is not "
            "streamed, and the sixteen caches are missing.",
            lambda g: 1e3 / _rate(g, g.params_total * g.bytes_per_weight),
        ),
    ),
    hints=(
        "Bytes of one step first: what is read once, and what is read for each sequence?",
        "(Streamed weights + 16 caches), divided by the bandwidth.",
        "1000 · (weights + batch · tokens · 2 · layers · kv_heads · head_dim · 2) / bandwidth, "
        "with weights = (params_total − params_embedding) · 2",
    ),
    solution=(
        "weights = (g.params_total - g.params_embedding) * g.bytes_per_weight\n"
        "per_token = 2 * g.layers * g.kv_heads * g.head_dim * g.bytes_per_element\n"
        "caches = g.batch * g.tokens * per_token\n"
        "batch_step_ms = 1e3 * (weights + caches) / (g.bandwidth_gbps * 1e9)"
    ),
    praise=(
        "The caches take two fifths of the step. Batching shares the weights and nothing else. "
        "Whether this batch fits at all is the next question."
    ),
    claim="E010",
)

STEP_EXERCISES = (CEILING_4K, STEP_MS)
