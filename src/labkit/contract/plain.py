"""The compact wire form of one entry of a trace: plain JSON, small and shallow, or why not.

Ten thousand calls are one probe, so an entry is JSON itself and not a tree of typed messages. What
is no small plain value travels as a word about it: the learner's object is never sent.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any

from labkit.contract.answer import BLANK, Wire

MAX_NODES = 4096  # numbers, texts and containers of one entry
MAX_DEPTH = 4
MAX_TEXT = 200
_LARGEST = 1 << 62


class _NotPlainError(Exception):
    """What kept a value from being plain."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self.wire = wire


def encode_plain(value: object) -> Wire:
    """The entry for one returned value.

    ``...`` → blank · None, True, numbers, short text, and lists, tuples, sets and dicts of these →
    {"kind": "plain", "value": JSON} · NaN and infinity → not-finite · more than `MAX_NODES` parts
    or `MAX_DEPTH` levels → {"kind": "too-large"} · anything else → other {type}. A set becomes a
    sorted list where its members can be sorted; a dict's keys become text.
    """
    if value is ...:
        return dict(BLANK)
    try:
        return {"kind": "plain", "value": _plain(value, [MAX_NODES], 0)}
    except _NotPlainError as why:
        return why.wire


def _plain(value: Any, left: list[int], depth: int) -> Any:
    left[0] -= 1
    if left[0] < 0 or depth > MAX_DEPTH:
        raise _NotPlainError({"kind": "too-large"})
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) > _LARGEST:
            raise _NotPlainError({"kind": "too-large"})
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _NotPlainError({"kind": "not-finite", "text": "nan"})
        return float(value)
    if isinstance(value, str):
        return str(value[:MAX_TEXT])
    if type(value).__module__.split(".")[0] == "numpy" and hasattr(value, "tolist"):
        if getattr(value, "size", 1) > MAX_NODES:
            raise _NotPlainError({"kind": "too-large"})
        return _plain(value.tolist(), left, depth + 1)
    if isinstance(value, Mapping):
        return {
            str(key)[:MAX_TEXT]: _plain(item, left, depth + 1)
            for key, item in islice(value.items(), MAX_NODES + 1)
        }
    if isinstance(value, Collection) and not isinstance(value, (bytes, bytearray, memoryview)):
        items = [_plain(item, left, depth + 1) for item in islice(value, MAX_NODES + 1)]
        if isinstance(value, (set, frozenset)):
            items.sort(key=lambda item: (str(type(item)), item))
        return items
    raise _NotPlainError({"kind": "other", "type": type(value).__name__[:80]})
