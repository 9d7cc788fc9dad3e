"""From one submission's bytes to its grade: run the notebook, judge each answer, say why not.

The grade is a function of the submission's bytes, the course's version and the key. What comes
from the learner is read as data and shown escaped; hidden draws never come back in words.
"""

from __future__ import annotations

import builtins
import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace

from labkit.contract.answer import Wire
from labkit.contract.codes import Code
from labkit.contract.outcome import Outcome, Status
from labkit.contract.paths import answer_cell, check_cell
from labkit.contract.probe import Probe
from labkit.course.identity import Identity
from labkit.exercises import Exercise
from labkit.grading.case import Case
from labkit.grading.examiner import Examiner
from labkit.grading.keys import Key
from labkit.grading.sandbox import Sandbox
from labkit.grading.submission import Submission
from labkit.grading.transcript import Answer, CellError, End, Transcript, clean
from labkit.runner.job import Limits

log = logging.getLogger(__name__)

_STATUS = {
    End.DONE: "graded",
    End.TIMEOUT: "timeout",
    End.MEMORY: "memory",
    End.PROCESSES: "processes",
    End.CRASHED: "crashed",
    End.FLOODED: "flooded",
    End.NOT_STARTED: "not started",
}
_STOPPED = {
    End.TIMEOUT: "it ran out of time",
    End.MEMORY: "it used too much memory",
    End.PROCESSES: "it started too many processes",
    End.CRASHED: "Python ended there",
    End.FLOODED: "it sent more than labkit reads",
    End.NOT_STARTED: "the sandbox did not start",
}
_NO_TEXT = "(its text is not shown in grading)"
_PLAIN_TYPES = frozenset({"NoneType", "complex", "bytes", "set", "tuple", "generator", "object"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """The grade of one submission. `status` is "graded" or how the run ended before its end."""

    status: str
    outcomes: tuple[Outcome, ...]
    errors: tuple[CellError, ...]
    warnings: tuple[str, ...]
    detail: str = ""

    @property
    def points(self) -> float:
        """Points earned."""
        return sum(outcome.points for outcome in self.outcomes)

    @property
    def max_points(self) -> float:
        """Points of all exercises together."""
        return sum(outcome.max_points for outcome in self.outcomes)


def judge_submission(
    submission: Submission,
    numbers: Identity,
    *,
    examiner: Examiner,
    sandbox: Sandbox,
    key: Key,
    limits: Limits,
) -> Verdict:
    """The verdict on a submission whose lab exists. `numbers` says whose draws it works with."""
    case = Case(submission, numbers, examiner, key)
    transcript = sandbox.run(case.job(limits), case.probes)
    outcomes = tuple(_safely(case, exercise, transcript) for exercise in case.exercises.values())
    warnings = [*submission.warnings, *transcript.notes, *_repeats(case, transcript)]
    if transcript.end is not End.DONE:
        where = f" in cell {transcript.last_cell}" if transcript.last_cell else ""
        warnings.append(f"The run stopped{where}: {_STOPPED[transcript.end]}.")
    return Verdict(
        status=_STATUS[transcript.end],
        outcomes=outcomes,
        errors=transcript.errors,
        warnings=tuple(clean(text, 300) for text in dict.fromkeys(warnings)),
        detail=transcript.detail,
    )


def _safely(case: Case, exercise: Exercise, transcript: Transcript) -> Outcome:
    """One exercise's outcome; a fault of ours costs this exercise, not the submission."""
    try:
        outcome = _judge(case, exercise, transcript)
    except Exception:
        log.exception("judging %s of %s failed", exercise.id, case.submission.sha256)
        outcome = _error(
            exercise, "This answer could not be judged; your instructor has to look at it."
        )
    return replace(
        outcome,
        message=clean(outcome.message, 1000),
        shown=clean(outcome.shown, 200),
        next=clean(outcome.next, 300),
    )


def _judge(case: Case, exercise: Exercise, transcript: Transcript) -> Outcome:
    answer = transcript.answer(exercise.id)
    if answer is None:
        return _unanswered(case, exercise, transcript)
    if not answer.blank:
        module = case.forbidden(exercise)
        if module is not None:
            return _outcome(
                exercise, Status.FAILED,
                f"Your answer uses {module}, which this exercise forbids. Write it yourself.",
                Code.FORBIDDEN_MODULE,
            )  # fmt: skip
    probe = case.probes.get(exercise.id)
    return case.examiner.judge(
        case.submission.lab,
        exercise,
        answer.wire,
        case.numbers.draw(exercise.id),
        case.records,
        probe,
        None if probe is None else _results(answer, probe),
    )


def _results(answer: Answer, probe: Probe) -> list[Wire] | None:
    """One result per call: what came back, without words of the learner's, and then nothing."""
    if answer.wire.get("kind") != "function":
        return None
    came = [_wordless(result) for result in (answer.results or ())][: len(probe.calls)]
    why = {
        "time": "TimeLimit",
        "fork": "ProcessLimit",
    }.get(answer.stopped, "Crash")
    missing: Wire = {"kind": "raised", "ename": why, "evalue": _NO_TEXT}
    return came + [missing] * (len(probe.calls) - len(came))


def _wordless(result: Wire) -> Wire:
    """A result without names and texts that could quote the hidden numbers it was made from."""
    kind = result.get("kind")
    if kind == "raised":
        ename = result.get("ename")
        known = isinstance(ename, str) and isinstance(getattr(builtins, ename, None), type)
        return {"kind": "raised", "ename": ename if known else "Exception", "evalue": _NO_TEXT}
    if kind == "other":
        name = result.get("type")
        return {"kind": "other", "type": name if name in _PLAIN_TYPES else "object"}
    if kind == "not-finite":
        return {"kind": "not-finite", "text": "nan"}
    return result  # what watchers and comparisons read as numbers; it is never shown


def _unanswered(case: Case, exercise: Exercise, transcript: Transcript) -> Outcome:
    """Why there is no answer at all: a cell failed, the run stopped, or the check is gone."""
    own = (answer_cell(exercise.id), check_cell(exercise.id))
    for name in own:
        for error in transcript.errors:
            if error.cell.startswith(name):
                says = f"The cell {error.cell} stopped with {error.ename}"
                says += f": {error.evalue}" if error.evalue else ""
                return _error(exercise, f"{says.rstrip('.')}. So the answer was not checked.")
    if transcript.end is not End.DONE:
        where = f" in cell {transcript.last_cell}" if transcript.last_cell else ""
        return _error(
            exercise,
            f"Not run: the notebook was stopped{where}, because {_STOPPED[transcript.end]}.",
        )
    changed = [name for name in own if name in case.submission.other_cells]
    if changed:
        return _outcome(
            exercise, Status.NOT_ATTEMPTED,
            f"The cell {changed[0]} is no code cell any more, so it was not run.",
        )  # fmt: skip
    return _outcome(
        exercise, Status.NOT_ATTEMPTED,
        f'Not found: no cell of this notebook ran lab.check("{exercise.id}", …). '
        "Copy it from a fresh lab.",
    )  # fmt: skip


def _repeats(case: Case, transcript: Transcript) -> Iterable[str]:
    for name in case.exercises:
        filled = [a for a in transcript.attempts.get(name, ()) if not a.blank]
        if len({str(attempt.wire) for attempt in filled}) > 1:
            yield f"{name} was answered {len(filled)} times; the last answer counts."


def _error(exercise: Exercise, message: str) -> Outcome:
    return _outcome(exercise, Status.ERROR, message, Code.OTHER)


def _outcome(exercise: Exercise, status: Status, message: str, code: Code = Code.NONE) -> Outcome:
    return Outcome(
        exercise=exercise.id,
        status=status,
        message=message,
        code=code,
        max_points=exercise.points,
        title=exercise.title,
    )
