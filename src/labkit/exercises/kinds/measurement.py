"""A measurement record: the learner's word, judged for plausibility and never for speed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from labkit.contract.answer import Wire, is_blank
from labkit.contract.codes import Code
from labkit.contract.errors import LabkitError
from labkit.contract.givens import Givens
from labkit.contract.outcome import Outcome
from labkit.contract.probe import Probe
from labkit.contract.record import Record
from labkit.exercises.kinds.outcomes import failed, not_attempted, passed, wrong_type
from labkit.exercises.spec import Exercise

Check = Callable[[Record], tuple[Code, str] | None]


@dataclass(frozen=True, slots=True)
class MeasurementKind:
    """`bench` is the record's id; `series` must be there; `checks` test relations and limits.

    `signed` names the series that may be zero or negative, as the growth of memory may.
    """

    bench: str
    series: tuple[str, ...]
    checks: tuple[Check, ...]
    signed: tuple[str, ...] = ()
    name: str = "measurement"

    def stub(self, exercise: Exercise) -> str:
        """The blank, and a line that shows the record, so that it travels in the notebook."""
        return f"{exercise.answer_name} = ...  # bench.{self.bench}()\n{exercise.answer_name}"

    def probe(self, exercise: Exercise, givens: Sequence[Givens]) -> Probe | None:
        """No calls: the record alone decides."""
        return None

    def judge(
        self,
        exercise: Exercise,
        givens: Givens,
        answer: Wire,
        probe: Probe | None,
        results: Sequence[Wire] | None,
    ) -> Outcome:
        """Pass when the record is complete and physically possible."""
        if is_blank(answer):
            return not_attempted(exercise)
        wanted = f"the record that bench.{self.bench}() returns"
        if answer.get("kind") != "record":
            return wrong_type(exercise, answer, wanted)
        try:
            record = Record.from_json(answer.get("record"))
        except LabkitError as error:
            return failed(exercise, Code.TYPE, str(error))
        if record.id != self.bench:
            says = f"This is a record of bench.{record.id[:40]}(). Asked: {wanted}."
            return failed(exercise, Code.NOT_YOUR_RECORD, says)
        missing = [name for name in self.series if name not in record]
        if missing:
            says = f"The record lacks {', '.join(missing)}. Run bench.{self.bench}() again."
            return failed(exercise, Code.UNPLAUSIBLE, says)
        positive = [series for series in record.series if series.name not in self.signed]
        if any(sample <= 0 for series in positive for sample in series.samples):
            says = "A measured rate or time is zero or negative. Run the bench again."
            return failed(exercise, Code.UNPLAUSIBLE, says)
        for check in self.checks:
            try:
                found = check(record)
            except LabkitError as error:
                found = Code.UNPLAUSIBLE, str(error)
            if found is not None:
                return failed(exercise, found[0], found[1], record.origin())
        return passed(exercise, record.origin())
