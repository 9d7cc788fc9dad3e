"""What `labkit engine list` says: each engine, whether it runs here, and what happens if not."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.bench import records
from labkit.bench.engine.registry import ENGINES, Engine

# The benches whose recordings stand in for an engine that is missing.
_BENCHES = {"engines": "modes", "load": "staircase"}


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """One engine.

    `replayed` names the measurements whose recording would be shown for it instead; `remedy` is
    "" where it is available.
    """

    id: str
    label: str
    available: bool
    version: str
    folder: str
    shared: bool
    needs: str
    remedy: str
    replayed: tuple[str, ...]


def engine_status() -> list[EngineStatus]:
    """Every engine of the registry, in its order. Starts nothing and imports nothing heavy."""
    return [_status(engine) for engine in ENGINES.values()]


def _status(engine: Engine) -> EngineStatus:
    missing = engine.missing()
    installed = engine.installed()
    return EngineStatus(
        id=engine.id,
        label=engine.label,
        available=not missing,
        version=engine.version(),
        folder=str(installed.folder) if installed else "",
        shared=bool(installed and installed.shared),
        needs=engine.needs,
        remedy=missing,
        replayed=() if not missing else _recorded(engine.id),
    )


def _recorded(engine: str) -> tuple[str, ...]:
    return tuple(
        bench
        for bench, part in _BENCHES.items()
        if records.has_recording(bench)
        and engine in dict(records.recording(bench).facts.get(part, {}))
    )
