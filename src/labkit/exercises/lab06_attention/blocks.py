"""Lab 06, exercise 6.6: exact attention that never holds the score matrix."""

from __future__ import annotations

from typing import Any

from labkit.contract.answer import encode
from labkit.contract.arrays import argument, drawn
from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import FunctionKind
from labkit.exercises.lab06_attention import block_functions as functions
from labkit.exercises.lab06_attention.objectives import ATTENTION, ENGINE
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

FEW, LONG = 64, 1 << 18  # few queries, so that whole rows of them are too much as well
MEMORY = 64 << 20  # the long one's matrix alone takes 128 MiB in float64
_LARGE = 40.0
_BELOW = -60.0


def _draw(draw: Draw) -> tuple[Given, ...]:
    rng = draw.rng
    return (
        Given("seed", rng.randrange(2**31), "", "seed of q, k and v"),
        Given("queries", rng.randint(3, 12), "", "queries"),
        Given("key_count", rng.randint(40, 90), "", "keys"),
        Given("dim", rng.choice((4, 8, 16)), "", "numbers per query and key"),
        Given("block", rng.choice((7, 16, 24)), "", "keys per block"),
    )


def _call(
    seed: int, queries: int, keys: int, dim: int, block: int, *, scale: float = 1.0, width: int = 0
) -> tuple[Any, ...]:
    return (
        drawn(seed, (queries, dim), scale=scale),
        drawn(seed + 1, (keys, dim), scale=scale),
        drawn(seed + 2, (keys, width or dim)),
        block,
    )


def _pack(g: Givens) -> tuple[Any, ...]:
    return _call(g.seed, g.queries, g.key_count, g.dim, g.block)


def _edges(g: Givens) -> tuple[tuple[Any, ...], ...]:
    """A last block not full, one for all, single keys, scores far from zero, a long input."""
    return (
        _call(g.seed, 5, 50, 8, 16),
        _call(g.seed, 4, 30, 8, 64),
        _call(g.seed, 4, 20, 4, 1, width=6),
        _call(g.seed, 6, 48, 8, 16, scale=_LARGE),
        _negative(g.seed),
        _call(g.seed, FEW, LONG, 2, 128),
    )


def _negative(seed: int) -> tuple[Any, ...]:
    """Scores so far below zero that exp() of each is 0: every query points away from every key."""
    q, k, v, block = _call(seed, 4, 20, 4, 8)
    return encode(abs(argument(q)) - _BELOW), encode(_BELOW - abs(argument(k))), v, block


def _describe(args: tuple[Any, ...]) -> str:
    q, k, _, block = args
    keys = int(k["shape"][0])
    if keys == LONG:
        return f"{LONG:,} keys"
    if q["kind"] == "array":
        return "scores that are all far below zero"
    if float(q["scale"]) >= _LARGE:
        return "large scores"
    if block >= keys:
        return "a block larger than the sequence"
    if block == 1:
        return "blocks of a single key"
    return "a last block that is not full" if keys % block else "full blocks"


def _is_long(args: tuple[Any, ...]) -> bool:
    return bool(args[1]["shape"][0] == LONG)


def _but(**left_out: Any) -> Any:
    """The right function without one of its parts."""
    return lambda _g: lambda q, k, v, block: functions.block_attention(q, k, v, block, **left_out)


BLOCKS = Exercise(
    id="6.6",
    title="Exact attention, block by block",
    objective=ATTENTION,
    points=3,
    tier=Tier.TRANSFER,
    kind=FunctionKind(
        signature="block_attention(q, k, v, block)",
        doc="Softmax attention of one head, reading the keys `block` at a time → [queries, d_v].",
        arguments=(),
        pack=_pack,
        edges=_edges,
        describe=_describe,
        special=_is_long,
        plain="short sequences",
        rel_tol=1e-5,
        abs_tol=1e-5,
        memory=MEMORY,
    ),
    statement=(
        "Write `block_attention(q, k, v, block)` with NumPy: softmax attention of one head, "
        "without a mask.\n\n"
        "- `q`: [queries, d] · `k`: [keys, d] · `v`: [keys, d_v]\n"
        "- scores are divided by √d, as in the picture above\n"
        "- go through the keys `block` at a time. The last block may be shorter.\n"
        "- it returns an array [queries, d_v], equal to `plain_attention` to 1e-5\n\n"
        "For each query keep three things: the largest score so far, the sum of the weights so "
        "far, and the weighted sum of the values so far.\n\n"
        f"It is also called on {FEW} queries and {LONG:,} keys, where one call may take "
        f"{MEMORY >> 20} MiB: less than the score matrix."
    ),
    answer_name="block_attention",
    draw=_draw,
    reference=lambda _g: functions.block_attention,
    mistakes=(
        Mistake(
            Code.MEMORY_LIMIT,
            "Right, but on a long input it takes more memory than it may: somewhere whole rows of "
            "the score matrix are there. Keep the scores of one block of keys at a time.",
            lambda _g: functions.naive_attention,
        ),
        Mistake(
            Code.NOT_RESCALED,
            "When a block brings a larger score, what you have summed so far was measured against "
            "the old one. Shrink both sums by exp(old largest − new largest).",
            _but(rescale_sum=False, rescale_out=False),
        ),
        Mistake(
            Code.SUM_NOT_RESCALED,
            "You shrink the weighted sum of the values, but not the sum of the weights. Both were "
            "measured against the old largest score.",
            _but(rescale_sum=False),
        ),
        Mistake(
            Code.OUTPUT_NOT_RESCALED,
            "You shrink the sum of the weights, but not the weighted sum of the values. Both were "
            "measured against the old largest score.",
            _but(rescale_out=False),
        ),
        Mistake(
            Code.AVERAGED_BLOCKS,
            "You took the softmax of each block by itself and averaged. A block with large scores "
            "must count more: one sum of weights for all blocks.",
            lambda _g: functions.averaged_blocks,
        ),
        Mistake(
            Code.NOT_NORMALIZED,
            "At the end the weighted sum must be divided by the sum of the weights.",
            lambda _g: functions.not_divided,
        ),
        Mistake(
            Code.SCALE_FORGOTTEN,
            "The scores are not divided by √d, where d is the length of a query.",
            _but(scaled=False),
        ),
        Mistake(
            Code.LAST_BLOCK,
            "The last block is missing where it is not full. range(0, len(k), block) with "
            "k[at : at + block] takes it along.",
            lambda _g: functions.whole_blocks_only,
        ),
        Mistake(
            Code.MAX_FORGOTTEN,
            "Right on small scores, but exp() of a large one overflows. Subtract the largest score "
            "seen so far before exp().",
            _but(shifted=False),
        ),
        Mistake(
            Code.START_AT_ZERO,
            "The largest score begins at 0. Where all scores are far below zero it stays there, "
            "and exp() gives 0 for each of them: 0 ÷ 0. Begin at −∞.",
            _but(start=0.0),
        ),
    ),
    hints=(
        "Begin with largest = −∞ and both sums 0. Each block changes all three, for all queries "
        "at once.",
        "New largest = the greater of the old one and the block's. Shrink both sums by exp(old − "
        "new), then add the block's weights exp(score − new), and the weights times v.",
        "shrink = exp(m − m'); w = exp(q·kᵀ/√d − m'); l = l·shrink + Σw; o = o·shrink + w·v; "
        "m = m'; at the end o / l",
    ),
    solution='''\
def block_attention(q, k, v, block):
    """Softmax attention of one head, reading the keys `block` at a time → [queries, d_v]."""
    largest = np.full(len(q), -np.inf)
    total = np.zeros(len(q))
    out = np.zeros((len(q), v.shape[1]))
    for at in range(0, len(k), block):
        scores = q @ k[at : at + block].T / np.sqrt(q.shape[1])
        new = np.maximum(largest, scores.max(axis=1))
        shrink = np.exp(largest - new)
        weights = np.exp(scores - new[:, None])
        total = total * shrink + weights.sum(axis=1)
        out = out * shrink[:, None] + weights @ v[at : at + block]
        largest = new
    return out / total[:, None]''',
    praise=(
        "The same numbers, and memory that grows with n instead of n². The work is still n²: "
        "every query meets every key. This is the heart of FlashAttention."
    ),
    claim="E116",
    forbids=ENGINE,
)
