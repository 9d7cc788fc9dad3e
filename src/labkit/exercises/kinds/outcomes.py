"""Building outcomes: the few lines that every kind would otherwise repeat."""

from __future__ import annotations

from labkit.contract.answer import Wire
from labkit.contract.codes import Code
from labkit.contract.outcome import Outcome, Status
from labkit.exercises.spec import Exercise


def passed(exercise: Exercise, shown: str = "") -> Outcome:
    """Full points, and the sentence that makes the point."""
    return _outcome(exercise, Status.PASSED, exercise.praise or "Right.", Code.NONE, shown)


def failed(exercise: Exercise, code: Code, message: str, shown: str = "") -> Outcome:
    """No points, and the most useful thing that can be said."""
    return _outcome(exercise, Status.FAILED, message, code, shown)


def not_attempted(exercise: Exercise) -> Outcome:
    """The blank still stands."""
    return _outcome(
        exercise,
        Status.NOT_ATTEMPTED,
        f"Nothing is filled in yet. Replace the ... of `{exercise.answer_name}`, run both cells.",
        Code.NONE,
        "",
    )


def error(exercise: Exercise, message: str, code: Code = Code.OTHER) -> Outcome:
    """The answer could not be judged at all."""
    return _outcome(exercise, Status.ERROR, message, code, "")


def wrong_type(exercise: Exercise, answer: Wire, wanted: str) -> Outcome:
    """An answer of a kind that this exercise does not ask for."""
    if answer.get("kind") == "none":
        message = f"The answer is None. Is a `return` or an assignment missing? Asked: {wanted}."
        return failed(exercise, Code.RETURNS_NONE, message)
    names = {
        "text": "text", "list": "a list", "object": "a dict", "array": "an array",
        "table": "a table", "figure": "a figure", "record": "a measurement record",
        "function": "a function", "bool": "True or False", "quantity": "a number",
    }  # fmt: skip
    kind = str(answer.get("kind", ""))
    got = names.get(kind, f"an object of type {str(answer.get('type', '?'))[:40]}")
    return failed(exercise, Code.TYPE, f"The answer is {got}. Asked: {wanted}.")


def _outcome(exercise: Exercise, status: Status, message: str, code: Code, shown: str) -> Outcome:
    return Outcome(
        exercise=exercise.id,
        status=status,
        message=message,
        code=code,
        points=exercise.points if status is Status.PASSED else 0.0,
        max_points=exercise.points,
        shown=shown,
        title=exercise.title,
    )
