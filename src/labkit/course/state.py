"""What the events say about each exercise: replayed, never stored a second time.

Rules. The *last* answer counts in the learner's view, because it is what stands in the notebook;
`ever_passed` is kept beside it. A blank check (a notebook run from the top) changes nothing; an
error (the measurement is missing) is no attempt. A prediction counts if it was made before the
first answer; of several, the last. A reset forgets what came before it. Lines that make no sense
are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from labkit.contract import Status
from labkit.contract.answer import Wire
from labkit.contract.events import Event

# Percent. From a wild guess to certain: a novice who is 20 % sure must be able to say so.
CONFIDENCES = range(5, 101)


@dataclass(frozen=True, slots=True)
class Prediction:
    """A number said beforehand with a confidence in percent.

    `hit` is None while undecided; then `found` says in words what the answer was.
    """

    answer: Wire
    confidence: int
    hit: bool | None = None
    found: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one exercise stands.

    `status` and `points` are of the last answer; `answer` is its wire form, or None where it was
    too large to keep. `hints` counts the hints seen, from the first.
    """

    lab: str = ""
    status: Status = Status.NOT_ATTEMPTED
    ever_passed: bool = False
    attempts: int = 0
    points: float = 0.0
    hints: int = 0
    solution_seen: bool = False
    answer: Wire | None = None
    prediction: Prediction | None = None

    @property
    def passed(self) -> bool:
        """Whether the last answer is right."""
        return self.status is Status.PASSED


Standings = dict[str, Standing]
NEW = Standing()


def replay(events: Iterable[Event]) -> Standings:
    """The standing of every exercise that the events speak of."""
    standings: Standings = {}
    for event in events:
        apply(standings, event)
    return standings


def apply(standings: Standings, event: Event) -> None:
    """Bring the standings up to date with one more event."""
    if not isinstance(event.exercise, str) or not isinstance(event.lab, str):
        return
    if event.what == "reset":
        _reset(standings, event)
        return
    change = _CHANGES.get(event.what) if isinstance(event.what, str) else None
    if change is not None and event.exercise:
        before = standings.get(event.exercise, NEW)
        standings[event.exercise] = replace(change(before, event), lab=event.lab)


def _reset(standings: Standings, event: Event) -> None:
    for name in list(standings):
        if name == event.exercise or (not event.exercise and standings[name].lab == event.lab):
            del standings[name]


def _check(before: Standing, event: Event) -> Standing:
    try:
        status = Status(event.status)
    except ValueError:
        return before
    if status is Status.NOT_ATTEMPTED:
        return before
    passed = status is Status.PASSED
    prediction = before.prediction
    if prediction is not None and prediction.hit is None:
        hit, found = _fields(event).get("hit"), _fields(event).get("found")
        if isinstance(hit, bool):
            prediction = replace(prediction, hit=hit, found=str(found))
    return replace(
        before,
        status=status,
        ever_passed=before.ever_passed or passed,
        attempts=before.attempts + (status is not Status.ERROR),
        points=float(event.points) if isinstance(event.points, (int, float)) else 0.0,
        answer=event.answer if isinstance(event.answer, dict) else None,
        prediction=prediction,
    )


def _predict(before: Standing, event: Event) -> Standing:
    confidence = event.confidence
    if before.attempts or not isinstance(confidence, int) or confidence not in CONFIDENCES:
        return before
    if not isinstance(event.answer, dict):
        return before
    return replace(before, prediction=Prediction(event.answer, confidence))


def _hint(before: Standing, event: Event) -> Standing:
    level = _fields(event).get("hint")
    return replace(before, hints=max(before.hints, level)) if isinstance(level, int) else before


def _solution(before: Standing, event: Event) -> Standing:
    return replace(before, solution_seen=True)


def _fields(event: Event) -> Mapping[str, Any]:
    return event.detail if isinstance(event.detail, dict) else {}


_CHANGES = {"check": _check, "predict": _predict, "hint": _hint, "solution": _solution}
