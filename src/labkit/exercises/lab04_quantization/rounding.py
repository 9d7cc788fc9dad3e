"""Round to nearest, as Lab 04 teaches it, and the ways in which it goes wrong.

Symmetric: integers from -levels to levels, so that zero stays zero. One scale for each row
(`levels` 127, INT8) or for each group of neighbours in a row (`levels` 7, INT4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
    Quantized = tuple[Array, Array]

INT8, INT4 = 127, 7


def grouped(w: Array, group: int) -> Array:
    """[rows, columns] as [rows, columns / group, group]."""
    return w.reshape(w.shape[0], -1, group)


def scales(largest: Array, levels: float) -> Array:
    """largest / levels, and 1 where everything is zero."""
    import numpy as np

    return np.where(largest == 0, 1.0, largest / levels)


def quantize_rows(w: Array) -> Quantized:
    """INT8 integers like `w`, and one scale per row: max|row| / 127."""
    import numpy as np

    scale = scales(np.abs(w).max(axis=1), INT8)
    return np.round(w / scale[:, None]).astype(np.int8), scale


def quantize_groups(w: Array, group: int) -> Quantized:
    """Integers from -7 to 7 like `w`, and one scale per group: [rows, columns / group]."""
    import numpy as np

    parts = grouped(w, group)
    scale = scales(np.abs(parts).max(axis=2), INT4)
    q = np.round(parts / scale[..., None]).astype(np.int8)
    return q.reshape(w.shape), scale


def restored_rows(q: Array, scale: Array) -> Array:
    """What the integers stand for, one scale per row."""
    return q * scale.reshape(-1, 1)


def restored_groups(q: Array, scale: Array, group: int) -> Array:
    """What the integers stand for, one scale per group."""
    parts = grouped(q, group) * scale.reshape(q.shape[0], -1)[..., None]
    return parts.reshape(q.shape)


def per_tensor(w: Array, levels: int) -> Quantized:
    """One scale for the whole matrix."""
    import numpy as np

    scale = scales(np.abs(w).max(), levels)
    return np.round(w / scale).astype(np.int8), scale


def rms(error: Array) -> float:
    """Root of the mean square."""
    import numpy as np

    return float(np.sqrt(np.mean(np.square(error))))


# --- matrices to try it on -----------------------------------------------------------------------


def matrix(seed: int, rows: int, columns: int, *, outliers: int = 0) -> Array:
    """Normal weights, each row on a scale of its own; `outliers` of them twenty times larger."""
    import numpy as np

    rng = np.random.default_rng(seed)
    w = rng.standard_normal((rows, columns)) * rng.uniform(0.01, 0.08, (rows, 1))
    if outliers:
        where = rng.choice(rows * columns, outliers, replace=False)
        w.flat[where] = np.sign(w.flat[where]) * rng.uniform(0.8, 1.2, outliers)
    return w


def as_found(function: Callable[..., Any]) -> Callable[[Any], Callable[..., Any]]:
    """A mistake's `value`: the same wrong function whatever is given."""
    return lambda _g: function
