"""An earlier answer, brought back as a value that code can use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.contract import LabkitError, Q, Record
from labkit.contract.answer import Wire, decode_array, decode_plain
from labkit.course.state import Standing


def value_of(exercise: str, standing: Standing, record: Callable[[str], Record | None]) -> Any:
    """The last answer to an exercise: a number, a Q, text, a list, a dict, an array or a Record.

    `record(id)` looks a kept record up. Raises LabkitError when there is no answer yet, or none
    that can be brought back (a function, a figure, something very large).
    """
    if not standing.attempts:
        raise LabkitError(f"Exercise {exercise} has no answer yet: answer and check it first.")
    wire = standing.answer
    if wire is None:
        raise LabkitError(
            f"Your answer to {exercise} was too large to be kept: run its cells again here."
        )
    read = _READERS.get(str(wire.get("kind")))
    if read is None:
        raise LabkitError(
            f"Your answer to {exercise} is a {wire.get('kind')}, which cannot be carried: "
            "copy its cell into this notebook."
        )
    if wire.get("kind") != "record":
        return read(wire)
    found = record(str(wire.get("id")))
    if found is None:
        raise LabkitError(
            f"The record of {exercise} is no longer kept: run its measurement cell again."
        )
    return found


def _number(wire: Wire) -> Any:
    return Q(wire["number"], wire["unit"]) if wire.get("unit") else wire.get("number")


_READERS: dict[str, Callable[[Wire], Any]] = {
    "quantity": _number,
    "text": decode_plain,
    "bool": decode_plain,
    "list": decode_plain,
    "object": decode_plain,
    "array": decode_array,
    "record": decode_plain,
}
