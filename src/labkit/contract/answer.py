"""Turns whatever a learner hands to `check` into plain JSON: the one form that is ever judged.

The notebook and the sandbox encode with this same code, so an answer means the same in both.
Encoding never trusts the object: what it cannot read becomes {"kind": "other"}, not an error.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from labkit.contract.figure import encode_figure, is_figure
from labkit.contract.quantity import Q
from labkit.contract.record import Record

Wire = dict[str, Any]
MAX_TEXT = 20_000
MAX_ITEMS = 20_000
MAX_ARRAY_BYTES = 512 * 1024

BLANK: Wire = {"kind": "blank"}


def is_blank(wire: Wire) -> bool:
    """Whether nothing was answered: `...` still stands there, or in each field of a dict."""
    if wire.get("kind") == "object" and isinstance(wire.get("fields"), dict):
        kinds = {f.get("kind") if isinstance(f, dict) else "" for f in wire["fields"].values()}
        return kinds == {"blank"}
    return wire.get("kind") == "blank"


def encode(value: object, *, depth: int = 0) -> Wire:
    """The wire form of an answer.

    ``...`` → blank · numbers → quantity without unit · Q → quantity · text → text ·
    arrays → array {dtype, shape, b64} · DataFrames → table {columns, rows} ·
    Figures and Axes → figure · Records → record · functions and classes → function ·
    lists and dicts → list, object · anything else → other {type}.
    """
    if depth > 8:
        return _other(value)
    for recognises, write in _ENCODERS:
        if recognises(value):
            return write(value, depth)
    return _other(value)


def _other(value: object) -> Wire:
    return {"kind": "other", "type": type(value).__name__[:80]}


def _number(value: Any, unit: str | None) -> Wire:
    if isinstance(value, int) and abs(value) > 1 << 62:
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
    if not isinstance(value, int):
        value = float(value)
        if not math.isfinite(value):
            return {"kind": "not-finite", "text": repr(value)}
    wire: Wire = {"kind": "quantity", "number": value}
    if unit is not None:
        wire["unit"] = unit[:40]
    return wire


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_numpy_scalar(value: object) -> bool:
    return _from(value, "numpy") and getattr(value, "shape", None) == () and hasattr(value, "item")


def _numpy_scalar(value: Any, depth: int) -> Wire:
    return encode(value.item(), depth=depth + 1)


def _is_array(value: object) -> bool:
    return _from(value, "numpy") and hasattr(value, "tobytes") and hasattr(value, "shape")


def _array(value: Any, _depth: int) -> Wire:
    import numpy as np

    array = np.ascontiguousarray(value)
    if array.dtype.kind not in "biuf" or array.nbytes > MAX_ARRAY_BYTES:
        return _other(value)
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return {
        "kind": "array",
        "dtype": little.dtype.str,
        "shape": list(array.shape),
        "b64": base64.b64encode(little.tobytes()).decode("ascii"),
    }


def _is_pint(value: object) -> bool:
    return hasattr(value, "magnitude") and hasattr(value, "units")


def _is_frame(value: object) -> bool:
    return _from(value, "pandas") and hasattr(value, "columns") and hasattr(value, "itertuples")


def _frame(value: Any, depth: int) -> Wire:
    rows = [
        [encode(cell, depth=depth + 1) for cell in row]
        for row in value.head(1000).itertuples(index=False, name=None)
    ]
    return {"kind": "table", "columns": [str(c)[:80] for c in value.columns], "rows": rows}


def _sequence(value: Any, depth: int) -> Wire:
    items = list(islice(value, MAX_ITEMS))
    return {"kind": "list", "items": [encode(item, depth=depth + 1) for item in items]}


def _mapping(value: Any, depth: int) -> Wire:
    items = list(islice(value.items(), MAX_ITEMS))
    return {
        "kind": "object",
        "fields": {str(key)[:200]: encode(item, depth=depth + 1) for key, item in items},
    }


def _from(value: object, package: str) -> bool:
    return type(value).__module__.split(".")[0] == package


_ENCODERS: tuple[tuple[Callable[[Any], bool], Callable[[Any, int], Wire]], ...] = (
    (lambda v: v is ..., lambda _v, _d: dict(BLANK)),
    (lambda v: v is None, lambda _v, _d: {"kind": "none"}),
    (lambda v: isinstance(v, bool), lambda v, _d: {"kind": "bool", "value": v}),
    (lambda v: isinstance(v, Q), lambda v, _d: _number(v.number, v.unit)),
    (_is_number, lambda v, _d: _number(v, None)),
    (lambda v: isinstance(v, str), lambda v, _d: {"kind": "text", "text": v[:MAX_TEXT]}),
    (lambda v: isinstance(v, Record), lambda v, _d: {"kind": "record", "record": v.to_json()}),
    (_is_numpy_scalar, _numpy_scalar),
    (_is_pint, lambda v, _d: _number(v.magnitude, f"{v.units:~}")),
    (_is_array, _array),
    (_is_frame, _frame),
    (is_figure, lambda v, _d: encode_figure(v)),
    (lambda v: isinstance(v, Mapping), _mapping),
    (lambda v: isinstance(v, Sequence) and not isinstance(v, bytes), _sequence),
    (callable, lambda v, _d: {"kind": "function", "name": getattr(v, "__name__", "?")[:80]}),
)


def decode_plain(wire: Wire) -> Any:
    """Numbers, text, lists and objects back as plain Python; units and arrays' dtypes kept out.

    For the judge: builds only numbers, text, lists and dicts, whatever the wire holds.
    """
    kind = wire.get("kind")
    if kind == "quantity":
        return wire.get("number")
    if kind in ("text", "bool"):
        return wire.get("text", wire.get("value"))
    if kind == "list":
        return [decode_plain(item) for item in wire.get("items", [])]
    if kind == "object":
        return {key: decode_plain(item) for key, item in wire.get("fields", {}).items()}
    if kind == "array":
        return decode_array(wire)
    return None


def decode_array(wire: Wire) -> Any:
    """The NumPy array of an array message, or None where the message is malformed."""
    import numpy as np

    dtype, shape = wire.get("dtype"), wire.get("shape")
    if not isinstance(dtype, str) or dtype[1:2] not in tuple("biuf") or len(dtype) > 4:
        return None
    if not isinstance(shape, list) or len(shape) > 8:
        return None
    if not all(type(n) is int and 0 <= n <= MAX_ARRAY_BYTES for n in shape):
        return None
    try:
        raw = base64.b64decode(str(wire.get("b64", "")), validate=True)
        if not raw:
            return np.zeros(shape, dtype=np.dtype(dtype)) if 0 in shape else None
        return np.frombuffer(raw, dtype=np.dtype(dtype)).reshape(shape)
    except (ValueError, TypeError):
        return None
