"""Properties of array results, and the draws on which integers are right to the last bit.

For `FunctionKind(properties=…)`: each takes the index of the array in the result (None where the
result is the array itself) and gives back a check of a call's arguments and result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from labkit.contract.codes import Code
from labkit.exercises.kinds.function import Args, Property

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


def stored_as(index: int | None, *dtypes: str) -> Property:
    """The array has one of these types ("int8"); right numbers in another are told as such."""

    def check(_args: Args, result: Any) -> tuple[Code, str] | None:
        array = _pick(result, index)
        name = str(getattr(array, "dtype", type(array).__name__))
        if name in dtypes:
            return None
        return Code.DTYPE, (
            f"{_which(index)} is stored as {name[:20]}. Asked: {' or '.join(dtypes)}, "
            "or else no byte is saved."
        )

    return check


def between(index: int | None, low: float, high: float) -> Property:
    """Every number lies in [low, high]."""

    def check(_args: Args, result: Any) -> tuple[Code, str] | None:
        import numpy as np

        array = np.asarray(_pick(result, index))
        if not array.size or (array.min() >= low and array.max() <= high):
            return None
        says = (
            f"{_which(index)} holds numbers outside {low:g} … {high:g}. With the right scale none "
            "gets there: look at the scale first."
        )
        return Code.NOT_CLIPPED, says

    return check


def shaped(index: int | None, shape: Callable[[Args], tuple[int, ...]]) -> Property:
    """The array has the shape that `shape(args)` names; axes of length 1 do not matter."""

    def check(args: Args, result: Any) -> tuple[Code, str] | None:
        got = getattr(_pick(result, index), "shape", ())
        want = shape(args)
        if [n for n in got if n != 1] == [n for n in want if n != 1]:
            return None
        if len(got) != len(want):
            axes = f"{len(got)} {'axis' if len(got) == 1 else 'axes'}" if got else "no axis"
            return Code.SHAPE, f"{_which(index)} has {axes}. The docstring says {len(want)}."
        # The sizes come from the arguments, so a hidden draw's are not named.
        return Code.SHAPE, f"{_which(index)} has another shape than the docstring says."

    return check


def not_scaled_by(
    index: int,
    right: Callable[[Args], Array],
    *wrong: tuple[Code, Callable[[Args], Array], str],
) -> Property:
    """The scales are none of these wrong ones; each comes with the sentence for it.

    It tells what was divided by, whatever became of the integers: they may be clipped, or wrapped
    around by int8.
    """

    def check(args: Args, result: Any) -> tuple[Code, str] | None:
        import numpy as np

        got = np.ravel(np.asarray(_pick(result, index), dtype=float))

        def like(scale: Array) -> bool:
            return got.size == np.size(scale) and np.allclose(got, np.ravel(scale), 1e-4, 0.0)

        if like(right(args)):
            return None
        return next(((code, says) for code, make, says in wrong if like(make(args))), None)

    return check


def within_half_a_step(restore: Callable[[Args, Any], tuple[Array, Array]]) -> Property:
    """|w - w_hat| <= scale / 2 everywhere.

    `restore(args, result)` gives (w - w_hat, scale), of shapes that broadcast. A thousandth of a
    step is forgiven, for the last bit of a float.
    """

    def check(args: Args, result: Any) -> tuple[Code, str] | None:
        import numpy as np

        error, scale = restore(args, result)
        if not (np.all(np.isfinite(error)) and np.all(np.isfinite(scale))):
            return Code.NOT_FINITE, "A scale or a restored weight is NaN or infinite."
        worst = float(np.max(np.abs(error) / np.maximum(np.abs(scale), 1e-30)))
        if worst <= 0.501:
            return None
        far = f"{worst:.1f}" if worst < 10 else f"{worst:,.0f}" if worst < 1e4 else "thousands of"
        return Code.ERROR_BOUND, (
            f"A restored weight, q · scale, is {far} steps away from the weight. Rounded to the "
            "nearest step it is half a step at most: |w − ŵ| ≤ scale / 2."
        )

    return check


def clear_of_ties(w: Array, scale: Array, margin: float = 0.01) -> Array:
    """The weights, moved where w / scale is within `margin` of a half.

    Rounding there hangs on the last bit; on what comes back every right way gives the same
    integers. `scale` must broadcast and is not changed by the move.
    """
    import numpy as np

    steps = w / scale
    fraction = np.abs(steps - np.trunc(steps))
    close = np.abs(fraction - 0.5) < margin
    return np.where(close, (np.trunc(steps) + np.sign(steps) * (0.5 - 2 * margin)) * scale, w)


def _pick(result: Any, index: int | None) -> Any:
    return result if index is None else result[index]


def _which(index: int | None) -> str:
    if index is None:
        return "The result"
    return f"The {('first', 'second', 'third', 'fourth')[index]} result"
