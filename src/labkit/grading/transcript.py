"""What a run said, sifted: the judge's only knowledge of what happened in the sandbox.

Every message is checked for shape before it counts. A learner who forges messages can only
change their own answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from labkit.contract.answer import Wire, is_blank
from labkit.contract.paths import valid_exercise

MAX_ATTEMPTS = 100
MAX_ERRORS = 200
MAX_IDS = 200
MAX_RESULTS = 200_000


class End(StrEnum):
    """How a run ended."""

    DONE = "done"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    PROCESSES = "processes"
    CRASHED = "crashed"
    FLOODED = "flooded"
    NOT_STARTED = "not started"


@dataclass(frozen=True, slots=True)
class CellError:
    """An exception that ended a cell."""

    cell: str
    ename: str
    evalue: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One checked answer; for a function also what the probe's calls returned.

    `stopped` says why calls are missing: "" (none are), "time", "crash" or "fork".
    """

    wire: Wire
    cell: str = ""
    results: tuple[Wire, ...] | None = None
    stopped: str = ""

    @property
    def blank(self) -> bool:
        """Whether nothing was filled in: `...`, or a function that returns `...` for every call.

        Of a class: `...` for every call beside those that build an instance.
        """
        made = [result for result in self.results or () if result.get("kind") != "new"]
        return all(map(is_blank, made)) if made else is_blank(self.wire)


@dataclass(frozen=True, slots=True)
class Transcript:
    """The run of one submission. `attempts` keeps every check of an exercise, in order."""

    end: End
    attempts: dict[str, tuple[Answer, ...]]
    errors: tuple[CellError, ...]
    last_cell: str = ""
    notes: tuple[str, ...] = ()
    detail: str = ""  # for the instructor: what the sandbox itself printed

    def answer(self, exercise: str) -> Answer | None:
        """The last answer that is not blank; the blank where all are; None where none is."""
        attempts = self.attempts.get(exercise, ())
        filled = [attempt for attempt in attempts if not attempt.blank]
        return next(reversed(filled or list(attempts)), None)


@dataclass(slots=True)
class _Attempt:
    """An answer whose results are still coming, in parts."""

    wire: Wire = field(default_factory=dict)
    cell: str = ""
    came: list[Wire] = field(default_factory=list)
    complete: bool = False
    stopped: str = ""

    def answer(self) -> Answer:
        """What has come of it. Parts without an end are as good as a stop."""
        if not self.complete and not self.came:
            return Answer(self.wire, self.cell)
        stopped = self.stopped or ("" if self.complete else "crash")
        return Answer(self.wire, self.cell, tuple(self.came), stopped)


@dataclass(slots=True)
class Scribe:
    """Builds a transcript from messages, in the order of their arrival."""

    known: frozenset[str]
    started: bool = False
    done: bool = False
    out_of_time: bool = False
    last_cell: str = ""
    _attempts: dict[str, list[_Attempt]] = field(default_factory=dict)
    _errors: list[CellError] = field(default_factory=list)
    _notes: dict[str, None] = field(default_factory=dict)

    def note(self, text: str) -> None:
        """Keep a remark once."""
        if len(self._notes) < MAX_ERRORS:
            self._notes[text] = None

    def take(self, message: dict[str, Any]) -> None:
        """Take one message; what has not the right shape is passed over with a note."""
        kind = message.get("t")
        handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is None or not handler(self, message):
            self.note("The notebook sent messages that labkit does not send; they are ignored.")

    def transcript(self, end: End, detail: str = "") -> Transcript:
        """What has been taken so far."""
        return Transcript(
            end=end,
            attempts={
                key: tuple(attempt.answer() for attempt in value)
                for key, value in self._attempts.items()
            },
            errors=tuple(self._errors),
            last_cell=self.last_cell,
            notes=tuple(self._notes),
            detail=detail,
        )

    def _ready(self, _message: dict[str, Any]) -> bool:
        self.started = True
        return True

    def _done(self, _message: dict[str, Any]) -> bool:
        self.done = True
        return True

    def _end(self, _message: dict[str, Any]) -> bool:
        self.out_of_time = True
        return True

    def _cell(self, message: dict[str, Any]) -> bool:
        self.last_cell = clean(message.get("cell"), 80)
        return True

    def _answer(self, message: dict[str, Any]) -> bool:
        exercise, wire = message.get("id"), message.get("answer")
        if not isinstance(exercise, str) or not isinstance(wire, dict):
            return False
        if not self._knows(exercise):
            return True
        attempts = self._attempts.setdefault(exercise, [])
        if len(attempts) >= MAX_ATTEMPTS:
            self.note(f"{exercise} was checked more than {MAX_ATTEMPTS} times.")
            del attempts[0]
        attempts.append(_Attempt(wire, clean(message.get("cell"), 80)))
        return True

    def _results(self, message: dict[str, Any]) -> bool:
        results = message.get("results")
        if not isinstance(results, list) or not all(isinstance(r, dict) for r in results):
            return False
        waiting = self._waiting(message.get("id"))
        if waiting is None or len(waiting.came) + len(results) > MAX_RESULTS:
            return False
        waiting.came += results
        waiting.complete = message.get("more") is not True
        return True

    def _stopped(self, message: dict[str, Any]) -> bool:
        how = message.get("how")
        waiting = self._waiting(message.get("id"))
        if how not in ("time", "crash", "fork") or waiting is None:
            return False
        waiting.stopped, waiting.complete = how, True
        return True

    def _waiting(self, exercise: object) -> _Attempt | None:
        """The attempt to which results belong: the last one, unless all of its results came."""
        attempts = self._attempts.get(exercise) if isinstance(exercise, str) else None
        if not attempts:
            return None
        # What is sent after the end, by code that forges it, goes nowhere.
        return _Attempt() if attempts[-1].complete else attempts[-1]

    def _error(self, message: dict[str, Any]) -> bool:
        if len(self._errors) < MAX_ERRORS:
            fields = (message.get("cell"), message.get("ename"), message.get("evalue"))
            cell, ename, evalue = (
                clean(text, size) for text, size in zip(fields, (80, 80, 300), strict=True)
            )
            self._errors.append(CellError(cell, ename, evalue))
        return True

    def _too_long(self, message: dict[str, Any]) -> bool:
        exercise = message.get("id")
        if not isinstance(exercise, str) or not self._knows(exercise):
            return True
        self.note(f"An answer to {exercise} is larger than 1 MiB and was not read.")
        self._attempts.setdefault(exercise, []).append(
            _Attempt({"kind": "other", "type": "answer of more than 1 MiB"})
        )
        return True

    def _knows(self, exercise: str) -> bool:
        if exercise in self.known:
            return True
        if valid_exercise(exercise):
            self.note(f"This lab has no exercise {exercise}; its answer is ignored.")
        else:
            self.note("An answer to something that is no exercise is ignored.")
        return False


_HANDLERS: dict[str, Callable[[Scribe, dict[str, Any]], bool]] = {
    "ready": Scribe._ready,
    "done": Scribe._done,
    "end": Scribe._end,
    "cell": Scribe._cell,
    "answer": Scribe._answer,
    "results": Scribe._results,
    "stopped": Scribe._stopped,
    "error": Scribe._error,
    "toolong": Scribe._too_long,
}


def clean(text: object, limit: int) -> str:
    """A learner's text made safe to store and show: valid UTF-8, one line, at most `limit`."""
    plain = str(text)[:limit] if isinstance(text, str) else ""
    plain = plain.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() else " " for c in plain)
