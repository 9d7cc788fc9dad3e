"""What the tests of every lab do: take an answer out of source, and have it judged."""

from __future__ import annotations

import warnings
from typing import Any

from labkit.contract import Outcome, Record
from labkit.contract.answer import encode
from labkit.contract.probe import run_probe
from labkit.exercises import Exercise, Facts, judge, practice_seeds, probe_for


def answer_of(exercise: Exercise, source: str, names: dict[str, Any]) -> Any:
    """What stands under the answer's name once the source has run."""
    space: dict[str, Any] = dict(names)
    exec(source, space)
    return space[exercise.answer_name]


def outcome(
    exercise: Exercise, facts: Facts, answer: Any, learner: str, records: dict[str, Record]
) -> Outcome:
    """As the notebook's check judges it: a function is called on practice draws."""
    probe = probe_for(exercise, facts, practice_seeds(exercise, learner), records=records)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook shows a learner's warnings and goes on
        results = run_probe(answer, probe) if probe and callable(answer) else None
    return judge(
        exercise,
        facts,
        encode(answer),
        learner=learner,
        records=records,
        probe=probe,
        results=results,
    )
