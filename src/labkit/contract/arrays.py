"""Arrays that travel as a recipe: a seed and a shape instead of a million numbers.

Judge and sandbox make the same array from the same recipe, with the same NumPy.
"""

from __future__ import annotations

from typing import Any

from labkit.contract.answer import decode_array


def drawn(
    seed: int, shape: tuple[int, ...], *, dtype: str = "float64", scale: float = 1.0
) -> dict[str, Any]:
    """The recipe of an array of normal numbers of standard deviation `scale`, for a probe's call.

    >>> argument(drawn(7, (2, 3))).shape
    (2, 3)
    """
    return {
        "kind": "drawn",
        "seed": seed,
        "shape": list(shape),
        "dtype": dtype,
        "scale": scale,
    }


def argument(arg: Any) -> Any:
    """What a call is really given: array messages and recipes become arrays, the rest stays."""
    kind = arg.get("kind") if isinstance(arg, dict) else None
    if kind == "array":
        return decode_array(arg).copy()
    if kind == "drawn":
        import numpy as np

        normal = np.random.default_rng(arg["seed"]).standard_normal(tuple(arg["shape"]))
        return (normal * arg["scale"]).astype(arg["dtype"])
    return arg
