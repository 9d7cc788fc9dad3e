"""One answer, encoded and judged on the learner's own numbers: the notebook's way and the proof's.

It is the way of grading too, with practice draws in place of the hidden ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.contract import Outcome, Record
from labkit.contract.answer import Wire, encode
from labkit.contract.probe import run_probe
from labkit.exercises import Exercise, Facts, judge, practice_seeds, probe_for


class Stopped(KeyboardInterrupt):
    """A check that was interrupted. It ends "Run all" as any interrupt, but shows one sentence."""

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of a traceback."""
        return [str(self)]


def wire_of(answer: Any) -> Wire:
    """The answer in wire form, whatever object it is."""
    try:
        return encode(answer)
    except Exception:  # noqa: BLE001  # a learner's object may raise anything when it is read
        return {"kind": "other", "type": type(answer).__name__[:80]}


def judge_answer(
    exercise: Exercise,
    facts: Facts,
    answer: Any,
    *,
    draw: str,
    records: Mapping[str, Record],
) -> tuple[Wire, Outcome]:
    """The answer's wire form and its outcome.

    `draw` names whose numbers these are (`Identity.draw`). A function is called on the practice
    draws; it runs here, in this process, so it may print, take long and be interrupted (Stopped).
    """
    wire = wire_of(answer)
    probe = results = None
    if wire.get("kind") == "function" and all(name in records for name in exercise.needs):
        seeds = practice_seeds(exercise, draw)
        probe = probe_for(exercise, facts, seeds, records=records)
        try:
            results = None if probe is None else run_probe(answer, probe)
        except KeyboardInterrupt:
            raise Stopped("Stopped. Does your function come to an end?") from None
    outcome = judge(
        exercise, facts, wire, learner=draw, records=records, probe=probe, results=results
    )
    return wire, outcome
