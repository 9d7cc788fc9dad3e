"""What a learner did, one JSON line each, appended to `.labkit/events.jsonl` and never rewritten.

Progress, confidence calibration and, later, item statistics and spaced repetition read this file.
A torn last line (a laptop that lost power) is left out, not an error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `what`: check, predict, hint, solution, reset, measure."""

    what: str
    lab: str
    exercise: str = ""
    status: str = ""
    code: str = ""
    points: float = 0.0
    confidence: int | None = None  # 5–100 percent, of a prediction
    answer: dict[str, Any] | None = None  # wire form
    detail: dict[str, Any] = field(default_factory=dict)
    at: str = ""  # ISO time, UTC; filled in when appended


def now() -> str:
    """This moment in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def append(path: Path, event: Event) -> Event:
    """Append one event as one write, so that two notebooks cannot mix their lines."""
    stamped = Event(**{**asdict(event), "at": event.at or now()})
    compact = {key: value for key, value in asdict(stamped).items() if value not in ("", None, {})}
    line = json.dumps(compact, ensure_ascii=False, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        if not _ends_with_newline(path):
            line = "\n" + line
        os.write(descriptor, line.encode("utf-8"))
    finally:
        os.close(descriptor)
    return stamped


def read(path: Path) -> Iterator[Event]:
    """The events in order. Lines that are not events are passed over."""
    if not path.is_file():
        return
    known = set(Event.__dataclass_fields__)
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                data = json.loads(line)
            except ValueError:
                continue  # a torn line: the next event starts on a line of its own
            if isinstance(data, dict) and "what" in data and "lab" in data:
                yield Event(**{key: value for key, value in data.items() if key in known})


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
