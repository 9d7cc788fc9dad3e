"""Where a learner's events go: the workspace's events.jsonl, or memory where there is none."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from labkit.contract import LabkitError, events
from labkit.contract.answer import Wire
from labkit.contract.events import Event
from labkit.contract.paths import EVENTS_FILE, STATE_DIR
from labkit.course import state

MAX_ANSWER = 8 << 10


@dataclass(slots=True)
class Journal:
    """Appends events and knows where every exercise stands.

    `workspace` None keeps everything in memory. A workspace that cannot be written is said so at
    the first event (LabkitError), not passed over: progress that is silently lost is worse.
    """

    workspace: Path | None
    standings: state.Standings = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.refresh()

    @property
    def path(self) -> Path | None:
        """The events file."""
        return None if self.workspace is None else self.workspace / STATE_DIR / EVENTS_FILE

    def refresh(self) -> None:
        """Read the file again: another notebook, or `labkit reset`, may have written to it."""
        if self.path is not None:
            self.standings = state.replay(events.read(self.path))

    def add(self, event: Event) -> None:
        """Append one event and apply it. Raises LabkitError when it cannot be written."""
        state.apply(self.standings, event)
        if self.path is None:
            return
        try:
            events.append(self.path, event)
        except OSError as error:
            raise LabkitError(
                f"Your progress cannot be saved in {self.path}: {error.strerror}."
            ) from None

    def of(self, exercise: str) -> state.Standing:
        """Where one exercise stands."""
        return self.standings.get(exercise, state.NEW)


def keepable(wire: Wire) -> Wire | None:
    """The answer as an event may carry it: at most 8 KiB; a record only by its id, else None."""
    if wire.get("kind") == "record":
        record = wire.get("record")
        return {"kind": "record", "id": record.get("id")} if isinstance(record, dict) else None
    try:
        size = len(json.dumps(wire, allow_nan=False))
    except (ValueError, TypeError, RecursionError):
        return None
    return wire if size <= MAX_ANSWER else None
