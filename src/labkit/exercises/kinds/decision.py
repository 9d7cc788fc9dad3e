"""A decision that must follow from what the learner states and from their own record.

The answer is a dict: one or more stated numbers (a budget) and the choice. Any budget is right;
the choice must be consistent with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.contract.answer import Wire, is_blank
from labkit.contract.codes import Code
from labkit.contract.givens import Givens
from labkit.contract.outcome import Outcome
from labkit.contract.probe import Probe
from labkit.contract.view import number
from labkit.exercises.kinds.outcomes import failed, not_attempted, passed, wrong_type
from labkit.exercises.spec import Exercise

Numbers = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Stated:
    """A number that the learner states: `key` of the dict, unit, and the range that makes sense."""

    key: str
    unit: str
    low: float
    high: float
    what: str = ""


@dataclass(frozen=True, slots=True)
class DecisionKind:
    """`stated` numbers and a `choice` among `options(givens)`, in one dict.

    `right(givens, stated)` gives the choices that follow: a set of options, or {none} where
    nothing keeps the budget. `why(givens, stated, chosen)` names the misconception of a wrong
    choice by its code, or None; the sentence is that of the exercise's mistake with this code.

    The exercise's reference and its mistakes' values are dicts, as a learner would hand them in.
    """

    stated: tuple[Stated, ...]
    choice: str
    options: Callable[[Givens], Sequence[str]]
    right: Callable[[Givens, Numbers], frozenset[str]]
    why: Callable[[Givens, Numbers, str], Code | None]
    none: str = "none"
    name: str = "decision"

    def stub(self, exercise: Exercise) -> str:
        """The dict with a blank for each field."""
        lines = [
            f'    "{s.key}": ...,  # {s.what or s.key}, {s.low:g} to {s.high:g} {s.unit}'.rstrip()
            for s in self.stated
        ]
        last = f'    "{self.choice}": ...,'
        return "\n".join([f"{exercise.answer_name} = {{", *lines, last, "}"])

    def probe(self, exercise: Exercise, givens: Sequence[Givens]) -> Probe | None:
        """No calls: the dict decides."""
        return None

    def judge(
        self,
        exercise: Exercise,
        givens: Givens,
        answer: Wire,
        probe: Probe | None,
        results: Sequence[Wire] | None,
    ) -> Outcome:
        """Pass when the choice follows from the stated numbers; else say what speaks against it."""
        if is_blank(answer):
            return not_attempted(exercise)
        keys = [*(s.key for s in self.stated), self.choice]
        fields = answer.get("fields")
        if answer.get("kind") != "object" or not isinstance(fields, dict):
            return wrong_type(exercise, answer, f"a dict with {', '.join(map(repr, keys))}")
        if any(_kind(fields.get(key)) == "blank" for key in keys):
            return not_attempted(exercise)
        missing = [key for key in keys if key not in fields]
        if missing:
            return failed(exercise, Code.TYPE, f"The dict lacks {', '.join(map(repr, missing))}.")
        read: dict[str, float] = {}
        for stated in self.stated:
            value = fields[stated.key].get("number") if _is_number(fields[stated.key]) else None
            if value is None or not stated.low <= value <= stated.high:
                return failed(exercise, Code.MAGNITUDE, (
                    f"{stated.key!r} is a number from {stated.low:g} to {stated.high:g} "
                    f"{stated.unit}".rstrip() + "."
                ))  # fmt: skip
            read[stated.key] = float(value)
        return self._chosen(exercise, givens, read, _text(fields[self.choice]))

    def _chosen(self, exercise: Exercise, givens: Givens, read: Numbers, chosen: str) -> Outcome:
        options = [*self.options(givens), self.none]
        shown = ", ".join(f"{k} {number(v)}" for k, v in read.items()) + f" → {chosen[:40]}"
        by_fold = {option.casefold(): option for option in options}
        choice = by_fold.get(chosen.casefold())
        if choice is None:
            listed = ", ".join(f'"{option}"' for option in options)
            return failed(exercise, Code.OPTION_UNKNOWN, f"Choose one of {listed}.", shown)
        if choice in (self.right(givens, read) or {self.none}):
            return passed(exercise, shown)
        code = self.why(givens, read, choice)
        says = {m.code: m.says for m in exercise.mistakes}.get(code or Code.NONE)
        if code is not None and says:
            return failed(exercise, code, says, shown)
        return failed(exercise, Code.OTHER, "That does not follow from what you state.", shown)


def _kind(wire: Any) -> str:
    return str(wire.get("kind")) if isinstance(wire, dict) else ""


def _is_number(wire: Any) -> bool:
    value = wire.get("number") if _kind(wire) == "quantity" else None
    return isinstance(value, (int, float)) and math.isfinite(value)


def _text(wire: Any) -> str:
    return str(wire.get("text", "")).strip() if _kind(wire) == "text" else ""
