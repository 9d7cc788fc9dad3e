"""Lab 04, exercise 4.10: symmetric INT4 with one scale for each group of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.contract.answer import encode
from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import FunctionKind
from labkit.exercises.kinds.arrays import (
    between,
    clear_of_ties,
    not_scaled_by,
    shaped,
    stored_as,
    within_half_a_step,
)
from labkit.exercises.lab04_quantization.objectives import WRITE
from labkit.exercises.lab04_quantization.rounding import (
    INT4,
    as_found,
    grouped,
    matrix,
    per_tensor,
    quantize_groups,
    restored_groups,
    rms,
    scales,
)
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

if TYPE_CHECKING:
    import numpy as np

    from labkit.exercises.lab04_quantization.rounding import Quantized

    Array = np.ndarray[Any, Any]

GROUPS = (8, 16, 32)
# On the outlier matrix one scale for all loses this much more than groups of 32 do, and far more.
WORTH = 3.0


def _draw(draw: Draw) -> tuple[Given, ...]:
    return (
        Given("seed", draw.rng.randrange(2**31), "", "seed of the matrix"),
        Given("rows", draw.rng.randint(2, 6), "", "rows"),
        Given("groups", draw.rng.randint(2, 5), "", "groups in a row"),
        Given("group", draw.rng.choice(GROUPS), "", "weights in a group"),
    )


def clear(w: Array, group: int) -> Array:
    """The weights, away from halves, where every right way rounds alike."""
    scale = quantize_groups(w, group)[1]
    return clear_of_ties(grouped(w, group), scale[..., None]).reshape(w.shape)


def _pack(g: Givens) -> tuple[Any, ...]:
    return encode(clear(matrix(g.seed, g.rows, g.groups * g.group), g.group)), g.group


def outlier_matrix() -> Array:
    """16 × 128 weights, four of them far larger than the rest."""
    return clear(matrix(4, 16, 128, outliers=4), 32)


def _edges(g: Givens) -> tuple[tuple[Any, ...], ...]:
    """A hand-made matrix, the outlier matrix, a row as one group, and a group of zeros."""
    import numpy as np

    fixed = np.array([[0.7, -0.32, 0.11, 0.0, 0.07, -0.034, 0.021, 0.006]])
    zeros = matrix(g.seed % 1000, 3, 32)
    zeros[1, 8:16] = 0.0
    return (
        (encode(fixed), 4),
        (encode(outlier_matrix()), 32),
        (encode(clear(matrix(11, 3, 24), 24)), 24),
        (encode(clear(zeros, 8)), 8),
    )


def _describe(args: tuple[Any, ...]) -> str:
    from labkit.contract.arrays import argument

    w, group = argument(args[0]), args[1]
    if (grouped(w, group) == 0).all(axis=2).any():
        return "a matrix with a group of zeros"
    if w.shape == (16, 128):
        return "the matrix with outliers"
    return "a group as long as the row" if w.shape[1] == group else "a matrix of weights"


def _special(args: tuple[Any, ...]) -> bool:
    return "zeros" in _describe(args)


def _error(args: tuple[Any, ...], result: Any) -> tuple[Array, Array]:
    w, group = args
    q, scale = result
    steps = scale.reshape(w.shape[0], -1)
    error = grouped(w - restored_groups(q, scale, group), group)
    return error, steps[..., None]


def beats_one_scale(args: tuple[Any, ...], result: Any) -> tuple[Code, str] | None:
    """On a matrix with outliers the groups' error is well below that of one scale for all."""
    w, group = args
    whole, scale = per_tensor(w, INT4)
    single, ours = rms(w - whole * scale), rms(_error(args, result)[0])
    least = rms(w - restored_groups(*quantize_groups(w, group), group))
    if single < WORTH * least or ours <= single / 2:
        return None
    return Code.PER_TENSOR, (
        "With outliers your groups lose hardly less than one scale for the whole matrix would. "
        "Only the outlier's own group may suffer from it."
    )


def _one_scale(w: Array, group: int) -> Quantized:
    import numpy as np

    q, scale = per_tensor(w, INT4)
    return q, np.full((w.shape[0], w.shape[1] // group), scale)


def _per_row(w: Array, group: int) -> Quantized:
    import numpy as np

    scale = scales(np.abs(w).max(axis=1, keepdims=True), INT4)
    return np.round(w / scale).astype(np.int8), np.repeat(scale, w.shape[1] // group, axis=1)


def _strided(w: Array, group: int) -> Quantized:
    import numpy as np

    parts = w.reshape(w.shape[0], group, -1)
    scale = scales(np.abs(parts).max(axis=1), INT4)
    return np.round(parts / scale[:, None, :]).astype(np.int8).reshape(w.shape), scale


def _with(levels: float, low: int, high: int) -> Any:
    def quantize(w: Array, group: int) -> Quantized:
        import numpy as np

        parts = grouped(w, group)
        scale = scales(np.abs(parts).max(axis=2), levels)
        q = np.clip(np.round(parts / scale[..., None]), low, high).astype(np.int8)
        return q.reshape(w.shape), scale

    return as_found(quantize)


def _cut(w: Array, group: int) -> Quantized:
    import numpy as np

    scale = quantize_groups(w, group)[1]
    return (grouped(w, group) / scale[..., None]).astype(np.int8).reshape(w.shape), scale


def _signed(w: Array, group: int) -> Quantized:
    import numpy as np

    parts = grouped(w, group)
    scale = scales(parts.max(axis=2), INT4)
    q = np.clip(np.round(parts / scale[..., None]), -127, 127).astype(np.int8)
    return q.reshape(w.shape), scale


_HALF_OPEN = (
    "You divided by 8. The integers go from −7 to 7, so the largest weight becomes 7: divide by 7."
)
_PATTERNS = (
    "You divided by 15 or 16. Four bits have 16 patterns, but half of them are negative: the "
    "largest is 7."
)
_SIGNED = "You took the largest weight of a group, not the largest |w|: np.abs first."


def _step(args: tuple[Any, ...], levels: float, *, signed: bool = False) -> Array:
    """One step per group: its largest |w|, or with `signed` its largest w, over `levels`."""
    import numpy as np

    parts = grouped(*args)
    return scales((parts if signed else np.abs(parts)).max(axis=2), levels)


GROUPWISE = Exercise(
    id="4.10",
    title="Four bits, one scale for each group",
    objective=WRITE,
    points=2,
    tier=Tier.TRANSFER,
    kind=FunctionKind(
        signature="quantize_groups(w, group)",
        doc="w [rows, columns] → (q, scale): int8 like w, and scale [rows, columns // group].",
        arguments=(),
        edges=_edges,
        describe=_describe,
        special=_special,
        plain="other matrices",
        pack=_pack,
        rel_tol=1e-4,
        properties=(
            shaped(0, lambda args: args[0].shape),
            shaped(1, lambda args: (args[0].shape[0], args[0].shape[1] // args[1])),
            stored_as(0, "int8"),
            not_scaled_by(
                1,
                lambda args: _step(args, INT4),
                (Code.ASYMMETRIC, lambda args: _step(args, INT4 + 1), _HALF_OPEN),
                (Code.MAGNITUDE, lambda args: _step(args, 15), _PATTERNS),
                (Code.MAGNITUDE, lambda args: _step(args, 16), _PATTERNS),
                (Code.SIGN, lambda args: _step(args, INT4, signed=True), _SIGNED),
                (
                    Code.NOT_DIVIDED,
                    lambda args: _step(args, 1),
                    "Your scale is the group's largest |w|. The scale is one step: divide it by 7.",
                ),
            ),
            between(0, -7, 7),
            within_half_a_step(_error),
            beats_one_scale,
        ),
    ),
    statement=(
        "Write `quantize_groups(w, group)`. Each row is cut into groups of `group` neighbours "
        "(the row's length is a multiple of it), and each group has a scale of its own:\n\n"
        "- `scale`: shape `[rows, columns // group]`, the group's largest `|w|` divided by 7. "
        "For a group of zeros take 1.\n"
        "- `q`: like `w`, rounded to the nearest integer from −7 to 7. Four bits hold that; NumPy "
        "has no such type, so store it as `int8`. An engine would pack two into a byte.\n\n"
        "On a matrix with outliers your groups of 32 must do much better than one scale for all. "
        "`w.reshape(rows, -1, group)` gives you the groups."
    ),
    answer_name="quantize_groups",
    draw=_draw,
    reference=as_found(quantize_groups),
    mistakes=(
        Mistake(
            Code.PER_TENSOR,
            "You used one scale for the whole matrix. A single outlier then makes the step coarse "
            "for everybody.",
            as_found(_one_scale),
        ),
        Mistake(
            Code.PER_CHANNEL,
            "You used one scale for each row. Asked: one for each group of neighbours in a row.",
            as_found(_per_row),
        ),
        Mistake(
            Code.WRONG_AXIS,
            "Your groups are not neighbours: you reshaped to (rows, group, …) and took every n-th "
            "weight. It is (rows, −1, group), with the maximum along the last axis.",
            as_found(_strided),
        ),
        Mistake(
            Code.ASYMMETRIC,
            _HALF_OPEN,
            _with(8, -8, 7),
        ),
        Mistake(
            Code.BITS_AS_BYTES,
            "You divided by 127, which are eight bits. Four bits leave −7 to 7.",
            _with(127, -127, 127),
        ),
        Mistake(
            Code.MAGNITUDE,
            _PATTERNS,
            _with(15, -7, 7),
        ),
        Mistake(
            Code.TRUNCATED,
            "The fraction is cut off. astype() does not round: call np.round first.",
            as_found(_cut),
        ),
        Mistake(
            Code.SIGN,
            _SIGNED,
            as_found(_signed),
        ),
    ),
    hints=(
        "The same three steps as in 4.7, with groups where the rows were, and 7 for 127.",
        "Reshape to [rows, groups, group], take the largest |w| along the last axis, divide, "
        "round, and reshape back.",
        "parts = w.reshape(len(w), -1, group); scale = abs(parts).max(axis=2) / 7",
    ),
    solution=(
        "def quantize_groups(w, group):\n"
        '    """w → (q, scale): int8 like w, and one scale per group of neighbours."""\n'
        "    parts = w.reshape(len(w), -1, group)\n"
        "    largest = np.abs(parts).max(axis=2)\n"
        "    scale = np.where(largest == 0, 1.0, largest / 7)\n"
        "    q = np.round(parts / scale[..., None]).astype(np.int8)\n"
        "    return q.reshape(w.shape), scale"
    ),
    praise="This is round to nearest, the baseline that GPTQ, AWQ and the GGUF formats improve on.",
    claim="E146",
)
