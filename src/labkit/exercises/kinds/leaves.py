"""Results as numbers: what is compared when a function's result meets the right one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from labkit.contract.answer import Wire, decode_array

if TYPE_CHECKING:
    import numpy as np

MAX_LEAVES = 20_000


def numbers(wire: Wire) -> list[float] | None:
    """The numbers of a result, flattened; None where it holds something else."""
    leaves = _flat(wire)
    return None if leaves is None else [float(x) for leaf in leaves for x in leaf.ravel()]


def same(
    left: Wire, right: Wire, rel_tol: float, abs_tol: float, *, equal_nan: bool = False
) -> bool:
    """Whether `left` is the result `right`.

    Shapes do not matter, the number of numbers does: (n, 1) is as good as (n,). Where `right` is
    an array of integers each number must be equal, whatever the tolerance; other numbers lie
    within `rel_tol` of the right one, or within `abs_tol`. NaN is nothing's equal, unless
    `equal_nan` asks whether one wrong result is another.
    """
    if "raised" in (left.get("kind"), right.get("kind")):
        return left.get("kind") == right.get("kind") and left.get("ename") == right.get("ename")
    a, b = _flat(left), _flat(right)
    if a is None or b is None:
        return a is b and left.get("kind") == right.get("kind")
    one, other = _joined(a), _joined(b)
    if one.size != other.size:
        return False
    return _equal(one, other, _exact(b), (rel_tol, abs_tol), equal_nan=equal_nan)


def shapes(wire: Wire) -> list[tuple[int, ...]]:
    """Shapes of the arrays in a result, () for a number, in order; empty where there are none."""
    return [leaf.shape for leaf in _flat(wire) or []]


def decoded(wire: Wire) -> Any:
    """A result as NumPy arrays, numbers, text, lists (also for tuples) and dicts; else None."""
    kind = wire.get("kind")
    if kind == "array":
        return decode_array(wire)
    if kind == "list" and isinstance(wire.get("items"), list):
        return [decoded(item) if isinstance(item, dict) else None for item in wire["items"]]
    if kind == "object" and isinstance(wire.get("fields"), dict):
        return {k: decoded(v) if isinstance(v, dict) else None for k, v in wire["fields"].items()}
    if kind == "quantity":
        number = wire.get("number")
        return number if isinstance(number, (int, float)) else None
    return wire.get({"text": "text", "bool": "value"}.get(str(kind), ""))


def _flat(wire: Wire) -> list[np.ndarray[Any, Any]] | None:
    try:
        return list(_leaves(wire))
    except TypeError:
        return None


def _leaves(wire: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Each number or array in order. Raises TypeError for anything else."""
    import numpy as np

    kind = wire.get("kind") if isinstance(wire, dict) else None
    if kind == "quantity" and isinstance(wire.get("number"), (int, float)):
        yield np.asarray(float(wire["number"]))
    elif kind == "array":
        array = decode_array(wire)
        if array is None:
            raise TypeError
        yield array
    elif kind == "list" and isinstance(wire.get("items"), list):
        for item in wire["items"]:
            yield from _leaves(item)
    else:
        raise TypeError


def _joined(leaves: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    import numpy as np

    return np.concatenate([np.zeros(0), *(leaf.ravel().astype(np.float64) for leaf in leaves)])


def _exact(leaves: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    import numpy as np

    masks = [np.full(leaf.size, leaf.dtype.kind in "iub" and leaf.ndim > 0) for leaf in leaves]
    return np.concatenate([np.zeros(0, dtype=bool), *masks])


def _equal(
    a: np.ndarray[Any, Any],
    b: np.ndarray[Any, Any],
    exact: np.ndarray[Any, Any],
    tolerances: tuple[float, float],
    *,
    equal_nan: bool,
) -> bool:
    import numpy as np

    relative, absolute = tolerances
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(a - b) <= np.maximum(relative * np.maximum(np.abs(a), np.abs(b)), absolute)
    good = np.where(exact, False, near) | (a == b)
    if equal_nan:
        good |= np.isnan(a) & np.isnan(b)
    return bool(np.all(good))


def how_far(result: Wire, right: Wire) -> str:
    """How far off a result is, as a factor only: the right number stays hidden."""
    got, good = numbers(result), numbers(right)
    if got and good and len(got) != len(good):
        return f"It holds {len(got):,} numbers where {len(good):,} are asked."
    if not got or not good or good[0] == 0 or got[0] == 0:
        return "Check what it returns, and in which unit."
    if len(good) > 1:
        return _share(got, good)
    return _ratio(got[0] / good[0])


def _share(got: list[float], good: list[float]) -> str:
    """Of many numbers: how many are right, or by which factor all are off."""
    ratios = [a / b for a, b in zip(got, good, strict=True) if b]
    if ratios and ratios[0] and all(math.isclose(r, ratios[0], rel_tol=1e-3) for r in ratios):
        return _ratio(ratios[0])
    off = sum(not math.isclose(a, b, rel_tol=1e-4) for a, b in zip(got, good, strict=True))
    return f"{off:,} of its {len(good):,} numbers {'is' if off == 1 else 'are'} wrong."


def _ratio(ratio: float) -> str:
    if ratio < 0:
        return "The sign is wrong."
    if 2 / 3 <= ratio <= 1.5:
        side = "large" if ratio > 1 else "small"
        off = abs(ratio - 1)
        if off < 0.0005:
            return "The result is close but not exact: something small is missing, or too much."
        if off < 0.05:
            part = "counted twice" if ratio > 1 else "missing"
            return f"The result is {off:.1%} too {side}: is a small part {part}, or is it rounded?"
        return f"The result is {off:.0%} too {side}."
    times = ratio if ratio > 1 else 1 / ratio
    side = "large" if ratio > 1 else "small"
    if times > 1e4:
        return f"The result is about {times:.0e} times too {side}: check the units."
    return f"The result is about {times:.2g} times too {side}."
