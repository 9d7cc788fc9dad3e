"""What Lab 06 reads from the learner's records of `bench.attention()` and `bench.speculation()`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from labkit.contract.codes import Code
from labkit.contract.errors import LabkitError
from labkit.contract.givens import Given, Givens
from labkit.contract.record import Record
from labkit.exercises.spec import Mistake

COPY, OPEN = "copy", "open"
# The run that the formula is held to: five tokens per draft where the record has it.
LOOKUPS = ("lookup5", "lookup2", "lookup10")
_ROOM = 0.025  # more than twice the tolerance of these exercises


def fact(record: Record, *path: str) -> Any:
    """What stands at this place of the record's facts; None where nothing does."""
    value: Any = record.facts
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def number(record: Record, what: str, value: object, low: float = 0.0) -> float:
    """`value`, if it is a finite number above `low`. Raises LabkitError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise unusable(record, what)
    if not math.isfinite(value) or value <= low:
        raise unusable(record, what)
    return float(value)


def unusable(record: Record, what: str) -> LabkitError:
    """The sentence for a record that lacks `what`."""
    return LabkitError(
        f"Your record {record.id!r} has no usable {what}: run the bench again, or take "
        f"bench.{record.id}(replay=True)."
    )


def entries(record: Record, *path: str) -> list[Mapping[str, Any]]:
    """A list of objects in the facts. Raises LabkitError."""
    found = fact(record, *path)
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise unusable(record, ".".join(path))
    return found


def runs(record: Record, prompt: str) -> dict[str, Mapping[str, Any]]:
    """The runs on one prompt, by drafter; those whose counts add up. Raises LabkitError."""
    found = {str(r.get("drafter")): r for r in entries(record, "runs") if r.get("prompt") == prompt}
    for name, run in found.items():
        what = f"run of {name!r} on {prompt!r}"
        made = number(record, what, run.get("tokens"))
        passes = number(record, what, run.get("target_forwards"))
        counted = number(record, what, run.get("tokens_per_forward"))
        drafted, kept = (
            number(record, what, run.get(key), low=-1.0) for key in ("drafted", "accepted")
        )
        if kept > drafted or not math.isclose(counted, made / passes, rel_tol=0.01):
            raise unusable(record, what)
        if counted > 1 + number(record, what, run.get("gamma"), low=-1.0):
            raise unusable(record, what)
    return found


def lookup(
    record: Record, prompt: str, usable: Callable[[Mapping[str, Any]], bool] = lambda _run: True
) -> Mapping[str, Any]:
    """The prompt-lookup run of `LOOKUPS` that comes first and is usable. Raises LabkitError."""
    here = runs(record, prompt)
    for name in LOOKUPS:
        if name in here and usable(here[name]):
            return here[name]
    raise unusable(record, f"prompt-lookup run on {prompt!r}")


def own(record: Record) -> str:
    """Whose numbers they are."""
    return f"{'your record' if record.live else 'replayed recording'}, {record.made_on}"


def of_run(record: Record, run: Mapping[str, Any], key: str, label: str, unit: str = "") -> Given:
    """One positive number of a run, as a given of that name."""
    return Given(key, number(record, key, run.get(key)), unit, label, own(record))


def own_mistakes(
    right: Callable[[Givens], float], *rows: tuple[Code, str, Callable[[Givens], float]]
) -> tuple[Mistake, ...]:
    """Known mistakes on numbers that are what they are: (code, sentence, wrong value).

    Where a value is too near the right one, or that of an earlier row, the mistake has no room.
    """

    def value(row: int) -> Callable[[Givens], float | None]:
        def wrong(g: Givens) -> float | None:
            made = rows[row][2](g)
            others = [right(g), *(rule(g) for _, _, rule in rows[:row])]
            near = any(math.isclose(made, other, rel_tol=_ROOM) for other in others)
            return None if near else made

        return wrong

    return tuple(Mistake(code, says, value(i)) for i, (code, says, _) in enumerate(rows))
