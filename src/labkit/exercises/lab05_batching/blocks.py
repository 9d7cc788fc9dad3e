"""Lab 05, exercises 2.6 and 2.7: a KV cache in blocks. They were Lab 02's; their ids stay."""

from __future__ import annotations

import math

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises import given
from labkit.exercises.kinds import Quantity, Tolerance
from labkit.exercises.lab02_memory.budget import pool, room
from labkit.exercises.lab02_memory.shapes import kv_per_token, kv_width, shape
from labkit.exercises.lab05_batching.queue import PAGING
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

BLOCK_TOKENS = 16
RESERVED, MEAN_LENGTH = 2_048, 300


def _block() -> Given:
    return Given("block_tokens", BLOCK_TOKENS, "tokens", "tokens in one block", "vLLM's default")


# --- 2.6 how many blocks ---------------------------------------------------------------------


def _draw_2_6(draw: Draw) -> tuple[Given, ...]:
    model, bf16 = draw.facts.model("llama-2-7b"), draw.facts.format("bf16")
    return (
        given.parameters(model),
        given.width(bf16),
        *shape(model),
        kv_width(bf16),
        *room(draw.facts.instance("g5.xlarge")),
        _block(),
    )


def _bytes(g: Givens) -> float:
    return pool(g, float(g.params_total * g.bytes_per_weight))


def _tokens(g: Givens) -> float:
    return _bytes(g) / kv_per_token(g)


BLOCKS = Exercise(
    id="2.6",
    title="A cache in blocks",
    objective=PAGING,
    points=0,  # a warm-up: Lab 02's budget once more, so that the lab keeps to twelve graded ones
    tier=Tier.CORE,
    kind=Quantity("blocks", Tolerance.EXACT, whole=True),
    statement=(
        "Back to the budget of Lab 02: Llama-2-7B, weights and cache in BF16, on the one A10G of "
        "a `g5.xlarge`; the engine may use 90 % of the usable memory, and 1 GiB of that is its "
        "own. vLLM cuts what is left into *blocks*. One block holds K and V of 16 tokens, all "
        "layers together.\n\n"
        "**How many blocks are there?** Whole blocks."
    ),
    answer_name="blocks",
    draw=_draw_2_6,
    reference=lambda g: math.floor(_tokens(g) / g.block_tokens),
    mistakes=(
        Mistake(
            Code.OTHER_QUANTITY,
            "This is the number of tokens. One block holds 16 of them.",
            lambda g: math.floor(_tokens(g)),
        ),
        Mistake(
            Code.OVER_BUDGET,
            "You rounded up. For that last block there is no room.",
            lambda g: math.ceil(_tokens(g) / g.block_tokens),
        ),
        Mistake(
            Code.PER_LAYER,
            "You counted the bytes of one layer. A block holds its tokens for all layers.",
            lambda g: math.floor(_tokens(g) * g.layers / g.block_tokens),
        ),
        Mistake(
            Code.ONE_TENSOR,
            "Twice too many: a token has a K and a V, and each number two bytes.",
            lambda g: math.floor(2 * _tokens(g) / g.block_tokens),
        ),
        Mistake(
            Code.NO_RESERVE,
            "Nothing was kept back. The engine takes 90 % of the card, and 1 GiB of that for "
            "itself.",
            lambda g: math.floor(
                pool(g, float(g.params_total * g.bytes_per_weight), share=1.0, kept=0.0)
                / kv_per_token(g)
                / g.block_tokens
            ),
        ),
        Mistake(
            Code.WEIGHTS_FORGOTTEN,
            "The weights live there too. Subtract them first.",
            lambda g: math.floor(pool(g, 0.0) / kv_per_token(g) / g.block_tokens),
        ),
    ),
    hints=(
        "You have done most of it in 2.3: how many tokens does the budget hold?",
        "(90 % of the card − weights − 1 GiB) ÷ bytes of one token ÷ 16, rounded down.",
        "floor((0.9 · usable_mib · 2^20 − params_total · 2 − 2^30) / (16 · 2 · layers · kv_heads · "
        "head_dim · 2))",
    ),
    solution=(
        "left = g.gpu_memory_utilization * g.usable_mib * 2**20 - g.overhead_gib * 2**30\n"
        "left -= g.params_total * g.bytes_per_weight\n"
        "per_token = 2 * g.layers * g.kv_heads * g.head_dim * g.bytes_per_element\n"
        "blocks = int(left // (g.block_tokens * per_token))"
    ),
    praise=(
        "vLLM prints this number when it starts (`# GPU blocks`). It is the whole budget of the "
        "scheduler: a request runs while it can get blocks."
    ),
    claim="E114",
)


# --- 2.7 what paging saves -------------------------------------------------------------------


def _draw_2_7(_draw: Draw) -> tuple[Given, ...]:
    return (
        Given("reserved", RESERVED, "tokens", "reserved per sequence, the old way", "assumed"),
        Given("mean_length", MEAN_LENGTH, "tokens", "mean length of a sequence", "assumed"),
        _block(),
    )


SAVED = Exercise(
    id="2.7",
    title="What nobody uses",
    objective=PAGING,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("tokens", Tolerance.EXACT),
    statement=(
        "Before paging, an engine reserved room for the longest sequence that it allowed, for "
        "everybody: here 2,048 tokens. On average a sequence has 300. With paging it holds just "
        "the blocks that it needs. Its last block is half full on average, so count **half a block "
        "of waste**.\n\n"
        "**How many tokens of room does paging save per sequence, on average?**"
    ),
    answer_name="saved",
    draw=_draw_2_7,
    reference=lambda g: g.reserved - (g.mean_length + g.block_tokens / 2),
    mistakes=(
        Mistake(
            Code.BLOCK_COUNT,
            "The last block is missing. Half of it lies empty on average, and that is 8 tokens.",
            lambda g: g.reserved - g.mean_length,
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "This is what a sequence uses. Asked: what paging saves.",
            lambda g: g.mean_length,
        ),
        Mistake(
            Code.AMOUNT_NOT_RATE,
            "This is what a sequence holds, its half block of waste included. Asked: what it no "
            "longer holds.",
            lambda g: g.mean_length + g.block_tokens / 2,
        ),
        Mistake(
            Code.NOT_WHOLE,
            "You counted a whole block of waste. The last block is half full on average.",
            lambda g: g.reserved - g.mean_length - g.block_tokens,
        ),
        Mistake(
            Code.SIGN,
            "You added the half block. It is waste, so it makes the saving smaller.",
            lambda g: g.reserved - g.mean_length + g.block_tokens / 2,
        ),
    ),
    hints=(
        "What was held before, minus what is held now.",
        "Reserved tokens, minus mean length, minus half a block.",
        "reserved − (mean_length + block_tokens / 2)",
    ),
    solution="saved = g.reserved - (g.mean_length + g.block_tokens / 2)",
    praise=(
        "The same card holds more than six times as many such sequences. That is where much of "
        "vLLM's published gain comes from: more slots, not faster steps."
    ),
    claim="E115",
)

BLOCK_EXERCISES = (BLOCKS, SAVED)
