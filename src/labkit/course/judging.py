"""One answer, encoded and judged on the learner's own numbers: the notebook's way and the proof's.

It is the way of grading too, with practice draws in place of the hidden ones.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from labkit.contract import Outcome, Record
from labkit.contract.answer import Wire, encode
from labkit.contract.probe import Probe, results_of
from labkit.exercises import Exercise, Facts, judge, practice_seeds, probe_for

# Grading allows less (`runner.job.Limits.probe_s`); a learner's machine may be slower.
CHECK_S = 30.0


class _OutOfTime(BaseException):
    """No `Exception`, so that the learner's own `except` does not catch it."""


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
    draws; it runs here, in this process, so it may print and be interrupted (Stopped). The calls
    for which `CHECK_S` seconds do not suffice count as endless, as they do in grading.
    """
    wire = wire_of(answer)
    probe = results = None
    if wire.get("kind") == "function" and all(name in records for name in exercise.needs):
        seeds = practice_seeds(exercise, draw)
        probe = probe_for(exercise, facts, seeds, records=records)
        try:
            results = None if probe is None else _called(answer, probe)
        except KeyboardInterrupt:
            raise Stopped("Stopped. Does your function come to an end?") from None
    outcome = judge(
        exercise, facts, wire, learner=draw, records=records, probe=probe, results=results
    )
    return wire, outcome


def _called(function: Callable[..., Any], probe: Probe) -> list[Wire]:
    """The results of all calls; those that did not come back in time are told as in grading."""
    results: list[Wire] = []
    with suppress(_OutOfTime), _alarm(CHECK_S):
        for result in results_of(function, probe):
            results.append(result)
    late: Wire = {"kind": "raised", "ename": "TimeLimit", "evalue": ""}
    return results + [late] * (len(probe.calls) - len(results))


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raises _OutOfTime in here when time is up, and again until it is out of here.

    Only where the system has such an alarm (Windows has none), and in the main thread, where a
    notebook's cells run; elsewhere nothing ends a call but the learner.
    """
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def late(*_: object) -> None:
        raise _OutOfTime

    handler = signal.signal(signal.SIGALRM, late)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
