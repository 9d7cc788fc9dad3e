"""The one door through which every answer is judged, in the notebook and in grading."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from labkit.contract.answer import Wire, is_blank
from labkit.contract.errors import LabkitError
from labkit.contract.outcome import Outcome
from labkit.contract.probe import Probe
from labkit.contract.record import Record
from labkit.exercises.draws import givens_for
from labkit.exercises.kinds.outcomes import error, not_attempted
from labkit.exercises.spec import Exercise

if TYPE_CHECKING:
    from labkit.exercises.facts import Facts


def judge(
    exercise: Exercise,
    facts: Facts,
    answer: Wire,
    *,
    learner: str,
    records: Mapping[str, Record] | None = None,
    probe: Probe | None = None,
    results: Sequence[Wire] | None = None,
) -> Outcome:
    """The outcome of one answer in wire form.

    `learner` decides personal numbers; `records` are the learner's own measurements; `probe` and
    `results` are the calls made on a function answer and what came back. Never raises for what an
    answer holds; an exercise that needs a measurement nobody made is an ERROR outcome that says
    which cell to run.
    """
    if is_blank(answer):
        return not_attempted(exercise)
    try:
        givens = givens_for(exercise, facts, learner=learner, records=records)
    except LabkitError as missing:
        return error(exercise, str(missing))
    return exercise.kind.judge(exercise, givens, answer, probe, results)
