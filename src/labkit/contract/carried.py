"""An answer of another exercise, brought back as a value that code can use.

In a notebook `lab.carry` shows what it brings under `MIME_CARRIED` (a measurement as a record), so
that it stands in the notebook's outputs and the submission carries what it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.contract.answer import Wire, decode_array, decode_plain
from labkit.contract.errors import LabkitError
from labkit.contract.quantity import Q
from labkit.contract.record import Record

MIME_CARRIED = "application/vnd.labkit.carried.v1+json"


def value_of(exercise: str, wire: Wire) -> Any:
    """A number, a Q, text, a list, a dict, an array or a Record from an answer in wire form.

    Raises LabkitError for what cannot be brought back: a function, a figure.
    """
    read = _READERS.get(str(wire.get("kind")))
    if read is None:
        raise LabkitError(
            f"Your answer to {exercise} is a {wire.get('kind')}, which cannot be carried: "
            "copy its cell into this notebook."
        )
    return read(wire)


def _number(wire: Wire) -> Any:
    return Q(wire["number"], wire["unit"]) if wire.get("unit") else wire.get("number")


_READERS: dict[str, Callable[[Wire], Any]] = {
    "quantity": _number,
    "text": decode_plain,
    "bool": decode_plain,
    "list": decode_plain,
    "object": decode_plain,
    "array": decode_array,
    "record": lambda wire: Record.from_json(wire.get("record")),
}
