"""Takes what is not installed here from the shipped recording, with its label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.bench import records


def from_recording(bench: str, part: str, name: str) -> dict[str, Any] | None:
    """`facts[part][name]` of the recording of `bench`, labelled with the machine that made it.

    None where there is no recording, or where it has no such entry or was itself replaying it.
    """
    if not records.has_recording(bench):
        return None
    recording = records.recording(bench)
    entry = dict(recording.facts.get(part, {})).get(name)
    if not isinstance(entry, Mapping) or entry.get("origin"):
        return None
    return {**entry, "origin": recording.origin()}
