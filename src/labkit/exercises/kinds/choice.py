"""One option of a few, where a wrong choice has its own explanation."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from labkit.contract.answer import Wire, is_blank
from labkit.contract.codes import Code
from labkit.contract.givens import Givens
from labkit.contract.outcome import Outcome
from labkit.contract.probe import Probe
from labkit.exercises.kinds.outcomes import failed, not_attempted, passed, wrong_type
from labkit.exercises.spec import Exercise


@dataclass(frozen=True, slots=True)
class Option:
    """One option: the key that the learner types and what it stands for."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Choice:
    """`options` in the order shown. The reference is one key, or a set of acceptable keys."""

    options: tuple[Option, ...]
    name: str = "choice"

    def stub(self, exercise: Exercise) -> str:
        """The options as comments, then the blank."""
        lines = [
            line
            for option in self.options
            for line in textwrap.wrap(
                f'"{option.key}": {option.text}',
                width=80,
                initial_indent="# ",
                subsequent_indent="#     ",
            )
        ]
        return "\n".join([*lines, f"{exercise.answer_name} = ..."])

    def probe(self, exercise: Exercise, givens: Sequence[Givens]) -> Probe | None:
        """No calls: the key alone decides."""
        return None

    def same(self, left: Any, right: Any) -> bool:
        """Whether two answers overlap."""
        return bool(_keys(left) & _keys(right))

    def judge(
        self,
        exercise: Exercise,
        givens: Givens,
        answer: Wire,
        probe: Probe | None,
        results: Sequence[Wire] | None,
    ) -> Outcome:
        """Pass on an acceptable key; else the sentence that the chosen key deserves."""
        if is_blank(answer):
            return not_attempted(exercise)
        keys = [option.key for option in self.options]
        listed = ", ".join(f'"{key}"' for key in keys)
        if answer.get("kind") != "text":
            return wrong_type(exercise, answer, f"one of {listed}, with its quotes")
        chosen = str(answer.get("text", "")).strip().strip("\"'").casefold()
        shown = next((f'"{o.key}": {o.text}' for o in self.options if o.key == chosen), "")
        if not shown:
            return failed(exercise, Code.OPTION_UNKNOWN, f"Choose one of {listed}.", chosen[:60])
        if chosen in _keys(exercise.reference(givens)):
            return passed(exercise, shown)
        for mistake in exercise.mistakes:
            if chosen in _keys(mistake.value(givens)):
                return failed(exercise, mistake.code, mistake.says, shown)
        return failed(exercise, Code.OTHER, "That is not what the numbers say.", shown)


def _keys(value: Any) -> frozenset[str]:
    if value is None:
        return frozenset()
    return frozenset([value]) if isinstance(value, str) else frozenset(value)
