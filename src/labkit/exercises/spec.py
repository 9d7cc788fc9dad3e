"""What an exercise is: a small declarative object that says everything about one question.

The notebook, the checker, the judge, `labkit dev check` and the manual all read this one object;
nothing about an exercise is written down a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, Any, Protocol

from labkit.contract.answer import Wire
from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.contract.outcome import Outcome
from labkit.contract.probe import Probe
from labkit.contract.record import Record

if TYPE_CHECKING:
    from labkit.exercises.facts import Facts


class Tier(StrEnum):
    """Whose numbers an exercise uses."""

    CORE = "core"  # the same for everybody
    PERSONAL = "personal"  # drawn from the exercise's and the learner's id
    TRANSFER = "transfer"  # the answer is a function; probed on draws nobody has seen
    OWN = "own"  # derived from the learner's own measurement


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong answer that somebody really gives, as a function of the givens.

    `value(givens)` is what a learner with this misconception hands in: a number in the asked
    unit, an option's key, a Python function, a figure; None where these numbers leave no room
    for it. `says` is the sentence they deserve.
    """

    code: Code
    says: str
    value: Callable[[Givens], Any]


@dataclass(frozen=True, slots=True)
class Draw:
    """What a draw may look at: the pinned facts, a seeded generator, the learner's records."""

    facts: Facts
    rng: Random
    records: Mapping[str, Record] = field(default_factory=dict)


class Kind(Protocol):
    """How answers of one kind are asked for and judged."""

    @property
    def name(self) -> str:
        """The kind's name: quantity, function, choice, figure, measurement."""

    def stub(self, exercise: Exercise) -> str:
        """The blank answer cell."""

    def probe(self, exercise: Exercise, givens: Sequence[Givens]) -> Probe | None:
        """The calls that decide, one set per draw; None where the answer alone decides."""

    def judge(
        self,
        exercise: Exercise,
        givens: Givens,
        answer: Wire,
        probe: Probe | None,
        results: Sequence[Wire] | None,
    ) -> Outcome:
        """The outcome. Never raises, whatever the wire holds."""


@dataclass(frozen=True, slots=True)
class Exercise:
    """One question.

    `reference(givens)` is the right answer in the asked unit (for function exercises: the right
    function, given the givens). `draw` gives the numbers. `needs` names the records that the
    givens derive from. `forbids` lists modules that the answer may not import, because importing
    the engine's own function teaches nothing. `claim` names the published statement it tests.
    """

    id: str
    title: str
    objective: str
    points: float
    tier: Tier
    kind: Kind
    statement: str
    answer_name: str
    draw: Callable[[Draw], tuple[Given, ...]]
    reference: Callable[[Givens], Any]
    mistakes: tuple[Mistake, ...]
    hints: tuple[str, str, str]
    solution: str
    praise: str = ""  # what a right answer deserves to hear: the point, in one sentence
    claim: str = ""
    forbids: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def lab(self) -> str:
        """Two-digit number of the lab that first asked it."""
        return self.id.split(".")[0].zfill(2)

    @property
    def stub(self) -> str:
        """The blank answer cell's source."""
        return self.kind.stub(self)
