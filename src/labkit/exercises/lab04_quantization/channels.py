"""Lab 04, exercise 4.7: symmetric INT8 with one scale for each row of a matrix."""

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
    INT8,
    as_found,
    matrix,
    per_tensor,
    quantize_rows,
    restored_rows,
    scales,
)
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

if TYPE_CHECKING:
    import numpy as np

    from labkit.exercises.lab04_quantization.rounding import Quantized

    Array = np.ndarray[Any, Any]


def _draw(draw: Draw) -> tuple[Given, ...]:
    return (
        Given("seed", draw.rng.randrange(2**31), "", "seed of the matrix"),
        Given("rows", draw.rng.randint(3, 8), "", "rows"),
        Given("columns", draw.rng.randint(12, 40), "", "columns"),
    )


def clear(w: Array) -> Array:
    """The weights, away from halves, where every right way rounds alike."""
    return clear_of_ties(w, quantize_rows(w)[1][:, None])


def _pack(g: Givens) -> tuple[Any, ...]:
    return (encode(clear(matrix(g.seed, g.rows, g.columns))),)


def _edges(g: Givens) -> tuple[tuple[Any, ...], ...]:
    """A hand-made matrix, one with a row of zeros, and one whose extremes are negative."""
    import numpy as np

    fixed = np.array([[0.635, -0.3, 0.004, 0.0], [0.0254, 0.0126, -0.0052, 0.0002]])
    zeros = matrix(g.seed % 1000, 4, 16)
    zeros[2] = 0.0
    return (
        (encode(fixed),),
        (encode(clear(-np.abs(matrix(7, 3, 20)))),),
        (encode(clear(zeros)),),
    )


def _describe(args: tuple[Any, ...]) -> str:
    from labkit.contract.arrays import argument

    w = argument(args[0])
    if (w == 0).all(axis=1).any():
        return "a matrix with a row of zeros"
    return "a matrix of negative weights" if (w <= 0).all() else "a matrix of weights"


def _special(args: tuple[Any, ...]) -> bool:
    return "zeros" in _describe(args)


def _error(args: tuple[Any, ...], result: Any) -> tuple[Array, Array]:
    q, scale = result
    return args[0] - restored_rows(q, scale), scale.reshape(-1, 1)


def _one_scale(w: Array) -> Quantized:
    import numpy as np

    q, scale = per_tensor(w, INT8)
    return q, np.full(len(w), scale)


def _columns(w: Array) -> Quantized:
    q, scale = quantize_rows(w.T)
    return q.T, scale


def _half_open(w: Array) -> Quantized:
    import numpy as np

    scale = scales(np.abs(w).max(axis=1), 128)
    return np.clip(np.round(w / scale[:, None]), -128, 127).astype(np.int8), scale


def _cut(w: Array) -> Quantized:
    import numpy as np

    scale = quantize_rows(w)[1]
    return (w / scale[:, None]).astype(np.int8), scale


def _signed(w: Array) -> Quantized:
    import numpy as np

    scale = scales(w.max(axis=1), INT8)
    return np.clip(np.round(w / scale[:, None]), -127, 127).astype(np.int8), scale


def _inverted(w: Array) -> Quantized:
    q, scale = quantize_rows(w)
    return q, 1 / scale


def _restored(w: Array) -> Quantized:
    q, scale = quantize_rows(w)
    return restored_rows(q, scale), scale


_HALF_OPEN = (
    "You divided by 128. The integers go from −127 to 127, so the largest weight becomes 127: "
    "divide by 127."
)
_SIGNED = (
    "You took the largest weight, not the largest |w|. The farthest from zero may be negative: "
    "np.abs first."
)


def _step(args: tuple[Any, ...], levels: float, *, signed: bool = False) -> Array:
    """One step per row: its largest |w|, or with `signed` its largest w, over `levels`."""
    import numpy as np

    return scales((args[0] if signed else np.abs(args[0])).max(axis=1), levels)


CHANNELS = Exercise(
    id="4.7",
    title="Eight bits, one scale for each row",
    objective=WRITE,
    points=2,
    tier=Tier.TRANSFER,
    kind=FunctionKind(
        signature="quantize_rows(w)",
        doc="w [rows, columns] → (q, scale): int8 like w, and one scale per row.",
        arguments=(),
        edges=_edges,
        describe=_describe,
        special=_special,
        plain="other matrices",
        pack=_pack,
        rel_tol=1e-4,
        properties=(
            shaped(0, lambda args: args[0].shape),
            shaped(1, lambda args: (len(args[0]),)),
            stored_as(0, "int8"),
            not_scaled_by(
                1,
                lambda args: _step(args, INT8),
                (Code.ASYMMETRIC, lambda args: _step(args, INT8 + 1), _HALF_OPEN),
                (Code.SIGN, lambda args: _step(args, INT8, signed=True), _SIGNED),
                (
                    Code.NOT_DIVIDED,
                    lambda args: _step(args, 1),
                    "Your scale is the row's largest |w|. The scale is one step: divide it by 127.",
                ),
            ),
            between(0, -127, 127),
            within_half_a_step(_error),
        ),
    ),
    statement=(
        "Write `quantize_rows(w)` with NumPy. `w` is a matrix of weights. It returns two arrays, "
        "`(q, scale)`:\n\n"
        "- `scale`: one number for each **row**, its largest `|w|` divided by 127. "
        "For a row of zeros take 1.\n"
        "- `q`: the integers, w divided by its row's scale and **rounded to the nearest** "
        "(`np.round`), stored as `int8`. They lie between −127 and 127.\n\n"
        "The integers must be right to the last one, and no restored weight `q · scale` may be "
        "farther than half a step from `w`. When the lab is graded it runs on matrices that nobody "
        "has seen."
    ),
    answer_name="quantize_rows",
    draw=_draw,
    reference=as_found(quantize_rows),
    mistakes=(
        Mistake(
            Code.PER_TENSOR,
            "You used one scale for the whole matrix. Each row has its own, from its own largest "
            "|w|: max(axis=1).",
            as_found(_one_scale),
        ),
        Mistake(
            Code.WRONG_AXIS,
            "You gave each column a scale. Asked: one for each row, so the largest |w| along "
            "axis=1.",
            as_found(_columns),
        ),
        Mistake(
            Code.ASYMMETRIC,
            _HALF_OPEN,
            as_found(_half_open),
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
        Mistake(
            Code.INVERTED,
            "Your scale is upside down: 127 / max|w|. It is the size of one step, max|w| / 127.",
            as_found(_inverted),
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "You returned the restored weights. Asked: the integers, before they are multiplied by "
            "the scale.",
            as_found(_restored),
        ),
    ),
    hints=(
        "The step is chosen so that the largest weight of the row lands on 127.",
        "Per row: scale = largest |w| / 127, then divide, round, and store as int8.",
        "scale = abs(w).max(axis=1) / 127; q = round(w / scale[:, None]).astype(int8)",
    ),
    solution=(
        "def quantize_rows(w):\n"
        '    """w [rows, columns] → (q, scale): int8 like w, and one scale per row."""\n'
        "    largest = np.abs(w).max(axis=1)\n"
        "    scale = np.where(largest == 0, 1.0, largest / 127)\n"
        "    q = np.round(w / scale[:, None]).astype(np.int8)\n"
        "    return q, scale"
    ),
    praise="A quarter of FP32's bytes, and the error has a bound that you can state: half a step.",
    claim="E146",
)
