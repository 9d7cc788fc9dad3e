"""An earlier answer, of this lab or another, and the card under which it travels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from labkit.contract import MIME_RECORD, LabkitError, Record
from labkit.contract.answer import Wire
from labkit.contract.carried import MIME_CARRIED, value_of
from labkit.course.cards import Card
from labkit.course.state import Standing
from labkit.exercises.registry import bench_of


@dataclass(frozen=True, slots=True)
class Carried:
    """Something brought from elsewhere. Shown, it stands in the notebook and is graded with it."""

    what: str
    wire: Wire

    @classmethod
    def record(cls, record: Record) -> Carried:
        """A measurement that this notebook did not make itself."""
        return cls(f"{record.title}: {record.origin()}.", {"record": record.to_json()})

    def _card(self) -> Card:
        return Card("→ Brought along", (self.what,))

    def __str__(self) -> str:
        return str(self._card())

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {**self._card()._repr_mimebundle_()}
        if "record" in self.wire:
            return bundle | {MIME_RECORD: self.wire["record"]}
        return bundle | {MIME_CARRIED: self.wire}


def bring(
    exercise: str, standing: Standing, record: Callable[[str], Record | None]
) -> tuple[Any, Carried]:
    """The last answer to an exercise as a value, and the card under which it travels.

    `record(id)` looks a kept record up: it is the value of a measurement, also of one that was
    made but never checked. Raises LabkitError when there is no answer yet, or none that can be
    brought back (a function, a figure, something very large).
    """
    wire = standing.answer
    if standing.attempts and wire is None:
        raise LabkitError(
            f"Your answer to {exercise} was too large to be kept: run its cells again here."
        )
    bench = str(wire.get("id")) if wire and wire.get("kind") == "record" else None
    if not standing.attempts:
        bench = bench_of(exercise)
    if bench is not None:
        return _measured(exercise, bench, record(bench), attempted=bool(standing.attempts))
    if wire is None:
        raise LabkitError(f"Exercise {exercise} has no answer yet: answer and check it first.")
    value = value_of(exercise, wire)
    return value, Carried(f"Your answer to {exercise}.", {"exercise": exercise, "answer": wire})


def _measured(
    exercise: str, bench: str, found: Record | None, *, attempted: bool
) -> tuple[Record, Carried]:
    if found is not None:
        return found, Carried.record(found)
    if attempted:
        raise LabkitError(
            f"The record of {exercise} is no longer kept: run its measurement cell again."
        )
    raise LabkitError(
        f"Exercise {exercise} has no answer yet: measure it in its lab, "
        f"or take the recording here, bench.{bench}(replay=True)."
    )
