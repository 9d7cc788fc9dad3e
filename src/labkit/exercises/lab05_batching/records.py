"""What Lab 05 reads from the learner's records of `bench.engines()` and `bench.load()`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from typing import Any

from labkit.contract.errors import LabkitError
from labkit.contract.givens import Given
from labkit.contract.record import Record

PAIRS = 5  # paired runs that an interval needs here


def fact(record: Record, *path: str) -> Any:
    """What stands at this place of the record's facts; None where nothing does."""
    value: Any = record.facts
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def numbers(record: Record, *path: str) -> list[float]:
    """The positive numbers of a list in the facts. Raises LabkitError where there are none."""
    found = fact(record, *path)
    good = isinstance(found, list) and all(
        type(x) in (int, float) and math.isfinite(x) and x > 0 for x in found
    )
    if not good or not found:
        raise LabkitError(
            f"Your record {record.id!r} has no usable {'.'.join(path)!r}: run the bench again, or "
            f"take bench.{record.id}(replay=True)."
        )
    return [float(x) for x in found]


def median(record: Record, *path: str) -> float:
    """The middle one of those numbers."""
    return statistics.median(numbers(record, *path))


def first_with(record: Record, part: str, wanted: str, names: tuple[str, ...]) -> str:
    """The first of `names` whose `part` of the record has a non-empty `wanted`.

    Raises LabkitError where none has.
    """
    for name in names:
        if fact(record, part, name, wanted):
            return name
    raise LabkitError(
        f"Your record {record.id!r} has no {wanted!r} of {' or '.join(names)}: run the bench "
        f"again, or take bench.{record.id}(replay=True)."
    )


def label(record: Record, part: str, name: str) -> str:
    """The server's or mode's own label."""
    found = fact(record, part, name, "label")
    return found if isinstance(found, str) and found else name


def source(record: Record, part: str, name: str) -> str:
    """Whose number it is: a mode that is not installed here was taken from a recording."""
    replayed = bool(fact(record, part, name, "origin")) or not record.live
    return f"{'replayed recording' if replayed else 'your record'}, {record.made_on}"


def of_record(
    record: Record,
    place: tuple[str, str],
    name: str,
    value: float | list[float],
    unit: str,
    what: str,
) -> Given:
    """A given taken from one server or mode of a record; `place` is (part, server)."""
    return Given(name, value, unit, what, source(record, *place))
