"""Checks of a measurement record, for `MeasurementKind(checks=…)`: relations, never speeds.

A record is the learner's word. What is asked is that it can have been measured: figures that are
there, in the order that physics or counting gives them, with ratios inside a wide band.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from labkit.contract.codes import Code
from labkit.contract.errors import LabkitError
from labkit.contract.record import Record

Check = Callable[[Record], tuple[Code, str] | None]
Number = str | Callable[[Record], float]


def value_of(record: Record, what: Number) -> float:
    """A series' median, a fact by its path ("formats.q8_0.bytes"), or a function's value.

    Raises LabkitError where there is no such number.
    """
    if not isinstance(what, str):
        return what(record)
    if what in record:
        return record.median(what)
    value: Any = record.facts
    for part in what.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise LabkitError(f"The record has no {what!r}: run the bench again.")
    return float(value)


def ascending(*names: Number, says: str, slack: float = 0.0) -> Check:
    """Each value at least the one before it, less `slack` as a share. `says` is the remark."""

    def check(record: Record) -> tuple[Code, str] | None:
        values = [value_of(record, name) for name in names]
        for low, high in pairwise(values):
            if high < low - slack * abs(low):
                return Code.UNPLAUSIBLE, says
        return None

    return check


def ratio(over: Number, under: Number, low: float, high: float, says: str) -> Check:
    """`over / under` lies in [low, high]."""

    def check(record: Record) -> tuple[Code, str] | None:
        below = value_of(record, under)
        found = value_of(record, over) / below if below else math.inf
        return None if low <= found <= high else (Code.UNPLAUSIBLE, says)

    return check


def equal(one: Number, other: Number, says: str, rel_tol: float = 0.0) -> Check:
    """Two counted numbers agree: exactly, or within `rel_tol`."""

    def check(record: Record) -> tuple[Code, str] | None:
        a, b = value_of(record, one), value_of(record, other)
        same = a == b if rel_tol == 0 else math.isclose(a, b, rel_tol=rel_tol)
        return None if same else (Code.UNPLAUSIBLE, says)

    return check


def at_most(
    what: Number, limit: Number | float, says: str, code: Code = Code.OVER_THE_ROOF
) -> Check:
    """The value does not pass a physical limit, which may itself come from the record."""

    def check(record: Record) -> tuple[Code, str] | None:
        top = limit if isinstance(limit, (int, float)) else value_of(record, limit)
        return None if value_of(record, what) <= top else (code, says)

    return check


def samples(name: str, at_least: int, says: str) -> Check:
    """The series has enough samples for what is asked of it later (five paired runs)."""

    def check(record: Record) -> tuple[Code, str] | None:
        enough = name in record and len(record[name].samples) >= at_least
        return None if enough else (Code.UNPLAUSIBLE, says)

    return check
