"""Lab 02, exercises 2.4 and 2.13: how many whole sequences a card holds beside the weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import takewhile

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import Quantity, Tolerance
from labkit.exercises.lab02_memory.budget import (
    SIXTEEN_BITS,
    pool,
    room,
    split_weights,
    weights_of,
)
from labkit.exercises.lab02_memory.shapes import CACHE, kv_per_token, kv_width, shape
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier


def _sequences(g: Givens, bytes_left: float, per_token: float | None = None) -> int:
    per_token = kv_per_token(g) if per_token is None else per_token
    return max(0, math.floor(bytes_left / (float(g.tokens) * per_token)))


def _fits(g: Givens) -> int:
    return _sequences(g, pool(g, weights_of(g)))


def _draw_2_4(draw: Draw) -> tuple[Given, ...]:
    model = draw.facts.model("llama-2-13b")
    return (
        *split_weights(model, draw.facts.format("int8")),
        *shape(model),
        kv_width(draw.facts.format("fp16")),
        Given("tokens", model.max_context, "tokens", "one sequence at full length"),
        *room(draw.facts.instance("g5.2xlarge")),
    )


_SOLUTION = """\
weights = g.params_matrices * g.bytes_per_weight + g.params_rest * 2
left = g.gpu_memory_utilization * g.usable_mib * 2**20 - weights - g.overhead_gib * 2**30
per_token = 2 * g.layers * g.kv_heads * g.head_dim * g.bytes_per_element
{name} = int(left // (g.tokens * per_token))"""

SEQUENCES_13B = Exercise(
    id="2.4",
    title="Comfortably?",
    objective=CACHE,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("sequences", Tolerance.EXACT, whole=True),
    statement=(
        "The same chapter says that a `g5` holds *13B models comfortably, in 8 bit.* Take "
        "Llama-2-13B on the one A10G of a `g5.2xlarge`. The matrices are INT8, one byte each. "
        "Both vocabulary tables (input embedding and output head) and the norms stay at 16 bits, "
        "as published INT8 checkpoints have them. The cache is FP16. As in 2.3 the engine may use "
        "90 % of the usable memory, and 1 GiB of that is its own.\n\n"
        "**How many sequences of 4,096 tokens fit at once?** Whole sequences."
    ),
    answer_name="sequences_13b",
    draw=_draw_2_4,
    reference=_fits,
    mistakes=(
        Mistake(
            Code.NO_RESERVE,
            "One too many. That is what fits when nothing is kept back for the engine, or with "
            "INT4 weights.",
            lambda g: _sequences(g, pool(g, weights_of(g), share=1.0, kept=0.0)),
        ),
        Mistake(
            Code.KV_AS_WEIGHTS,
            "That many fit if a cached number takes one byte, or if you count K without V. INT8 "
            "weights leave the cache as it was: FP16, K and V.",
            lambda g: _sequences(g, pool(g, weights_of(g)), kv_per_token(g) / 2),
        ),
        Mistake(
            Code.BYTES_PER_WEIGHT,
            "With 16-bit weights nothing fits, not even the weights. These are INT8.",
            lambda g: _sequences(g, pool(g, weights_of(g, SIXTEEN_BITS))),
        ),
        Mistake(
            Code.WEIGHTS_FORGOTTEN,
            "The weights live there too. Subtract them first.",
            lambda g: _sequences(g, pool(g, 0.0)),
        ),
    ),
    hints=(
        "The budget of 2.3 with other weights; then how often does one full cache go into it?",
        "(90 % of the card − weights − 1 GiB), divided by 4,096 tokens' bytes, rounded down.",
        "floor((0.9 · usable − weights − overhead) / (tokens · 2 · layers · kv_heads · head_dim · "
        "2))",
    ),
    solution=_SOLUTION.format(name="sequences_13b"),
    praise=('Comfortable for two. The third user waits. A model "fits" long before it serves.'),
    claim="E025",
)

_PICKS = ("llama-2-13b", "llama-3.1-8b", "mistral-7b", "qwen2.5-7b", "qwen3-8b", "qwen2.5-32b")
_CARDS = ("g4dn.xlarge", "g5.2xlarge", "g6.2xlarge", "g6e.2xlarge")
_FORMATS = ("fp16", "int8", "int4")
_LENGTHS = (1024, 2048, 3072, 4096)
_FEWEST, _MOST = 4, 99


def pick(draw: Draw) -> tuple[Given, ...]:
    """A model, format, instance and length of which between 4 and 99 sequences fit."""
    while True:
        model = draw.facts.model(draw.rng.choice(_PICKS))
        fmt = draw.facts.format(draw.rng.choice(_FORMATS))
        instance = draw.facts.instance(draw.rng.choice(_CARDS))
        items = (
            Given("model", model.name, "", "your model", "drawn by your learner id"),
            Given("weights", fmt.name, "", "its weights", "drawn by your learner id"),
            Given("instance", instance.name, "", "your instance", "drawn by your learner id"),
            *split_weights(model, fmt),
            *shape(model),
            kv_width(draw.facts.format("fp16")),
            Given("tokens", draw.rng.choice(_LENGTHS), "tokens", "length of each sequence"),
            *room(instance),
        )
        if _FEWEST <= _fits(Givens("2.13", items)) <= _MOST:
            return items


def _told_apart(code: Code, value: Callable[[Givens], int]) -> Callable[[Givens], int | None]:
    """A mistake that is told only where its number is not the right one or an earlier mistake's.

    So it takes no draw away from anybody: draws in which two mistakes look alike are drawn again.
    """

    def made(g: Givens) -> int | None:
        earlier = takewhile(lambda mistake: mistake.code is not code, SEQUENCES_MINE.mistakes)
        taken = {_fits(g), *(mistake.value(g) for mistake in earlier)}
        number = value(g)
        return None if number in taken else number

    return made


SEQUENCES_MINE = Exercise(
    id="2.13",
    title="How many users does yours hold?",
    objective=CACHE,
    points=1,
    tier=Tier.PERSONAL,
    kind=Quantity("sequences", Tolerance.EXACT, whole=True),
    statement=(
        "Your learner id has drawn a model, a weight format, an instance and a length. "
        "Formats below 16 bits apply to the matrices; tables and norms stay at 16 bits. (INT4 has "
        "a little more than half a byte: every 128 weights share a scale and a zero point, which "
        "`g.bytes_per_weight` includes.) The cache is FP16. The engine may use 90 % of the usable "
        "memory, and 1 GiB of that is its own.\n\n"
        "**How many sequences of that length fit at once?** Whole sequences."
    ),
    answer_name="sequences_mine",
    draw=pick,
    reference=_fits,
    mistakes=(
        Mistake(
            Code.NO_RESERVE,
            "Nothing was kept back. The engine takes 90 % of the card, and 1 GiB of that for "
            "itself.",
            lambda g: _sequences(g, pool(g, weights_of(g), share=1.0, kept=0.0)),
        ),
        Mistake(
            Code.UTILIZATION_FORGOTTEN,
            "You used the whole card. The engine may use 90 % of it.",
            lambda g: _sequences(g, pool(g, weights_of(g), share=1.0)),
        ),
        Mistake(
            Code.SHARE_OF_FREE,
            "You took 90 % of what is left after loading. Here it is vLLM's way: 90 % of the "
            "card, then subtract.",
            lambda g: _sequences(
                g, pool(g, weights_of(g), share=1.0) * float(g.gpu_memory_utilization)
            ),
        ),
        Mistake(
            Code.WEIGHTS_FORGOTTEN,
            "The weights live there too. Subtract them first.",
            lambda g: _sequences(g, pool(g, 0.0)),
        ),
        Mistake(
            Code.QUERY_HEADS,
            "You counted query heads. Only the KV heads are cached.",
            lambda g: (
                None
                if g.heads == g.kv_heads
                else _sequences(g, pool(g, weights_of(g)), kv_per_token(g) * g.heads / g.kv_heads)
            ),
        ),
        Mistake(
            Code.ONE_TENSOR,
            "Twice too many: K and V are two, and each number has two bytes.",
            lambda g: _sequences(g, pool(g, weights_of(g)), kv_per_token(g) / 2),
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "This is a number of tokens. Asked: whole sequences of your length.",
            lambda g: math.floor(pool(g, weights_of(g)) / kv_per_token(g)),
        ),
        Mistake(
            Code.HEAD_QUANTIZED,
            "You gave all parameters the small format. The tables and norms (params_rest) stay at "
            "2 bytes.",
            _told_apart(
                Code.HEAD_QUANTIZED,
                lambda g: _sequences(
                    g, pool(g, float(g.bytes_per_weight * (g.params_matrices + g.params_rest)))
                ),
            ),
        ),
        Mistake(
            Code.OVERHEAD_FORGOTTEN,
            "The engine's own 1 GiB is missing.",
            _told_apart(
                Code.OVERHEAD_FORGOTTEN, lambda g: _sequences(g, pool(g, weights_of(g), kept=0.0))
            ),
        ),
        Mistake(
            Code.NOT_WHOLE,
            "One too many, as if rounded up. The last one does not fit whole: round down.",
            _told_apart(Code.NOT_WHOLE, lambda g: _fits(g) + 1),
        ),
    ),
    hints=(
        "The same three steps as in 2.4: weights, what is left, how often one cache goes into it.",
        "(90 % of the card − weights − 1 GiB), divided by one sequence's bytes, rounded down.",
        "floor((0.9 · usable − weights − overhead) / (tokens · 2 · layers · kv_heads · head_dim · "
        "2))",
    ),
    solution=_SOLUTION.format(name="sequences_mine"),
    praise=(
        "That number, not the size of the model, says how many users one card serves at a time."
    ),
    claim="E174",
)

SEQUENCE_EXERCISES = (SEQUENCES_13B, SEQUENCES_MINE)
