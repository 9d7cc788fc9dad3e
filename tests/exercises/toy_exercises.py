"""One exercise of each kind of answer, with a record, and what is said to an answer."""

from __future__ import annotations

from typing import Any

from labkit.contract import Outcome
from labkit.exercises import Exercise, Facts
from tests.exercises import toy_answers as toys
from tests.exercises.answering import outcome
from tests.exercises.toy_machines import ALLOCATOR_EXERCISE, BATCHER_EXERCISE

RECORDS = {"speed": toys.pairs_record()}
EXERCISES = {
    e.id: e
    for e in (
        ALLOCATOR_EXERCISE,
        BATCHER_EXERCISE,
        toys.INT8_EXERCISE,
        toys.PROPERTY_EXERCISE,
        toys.ATTENTION_EXERCISE,
        toys.INTERVAL_EXERCISE,
        toys.DECISION_EXERCISE,
        toys.FIGURE_EXERCISE,
    )
}
MISTAKES = [(number, m.code) for number, e in EXERCISES.items() for m in e.mistakes]


def said(exercise: Exercise, facts: Facts, answer: Any, records: Any = RECORDS) -> Outcome:
    return outcome(exercise, facts, answer, "ann", records)
