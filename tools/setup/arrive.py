"""Torch and the weights, fetched by a process of their own.

``python -m tools.setup.arrive CHOICE [aloud]`` runs in the project's environment, once the light
packages are in, and tells its progress through labkit's arrival file; `aloud` also prints it.
CHOICE is a torch choice as JSON, or null when torch is there already.
"""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tools.setup.layout import venv
from tools.setup.say import SetupError
from tools.setup.torch_choice import Choice
from tools.setup.torch_install import install, is_here
from tools.setup.venv import alone

if TYPE_CHECKING:
    from labkit.bench.arrival import ArrivalWriter
    from labkit.bench.progress import Progress


def to_json(choice: Choice | None) -> str:
    """The command-line form of a choice."""
    return json.dumps(asdict(choice) if choice else None)


def from_json(text: str) -> Choice | None:
    """The choice of a command line."""
    raw = json.loads(text)
    return Choice(**{**raw, "arguments": tuple(raw["arguments"])}) if raw else None


def main(text: str, *, aloud: bool = False) -> int:
    """Fetch what is missing; 0 when everything is there, 1 when something could not be had."""
    from labkit.bench.arrival import ArrivalWriter, State

    choice = from_json(text)
    say = (lambda line: print(f"   {line}", flush=True)) if aloud else None
    with alone(venv()), ArrivalWriter(["torch", "weights"], say=say) as writer:
        if choice is not None and not _torch(choice, writer):
            detail = "The weights are converted with torch, which is not there."
            _fail(writer, "weights", detail)
            return 1
        writer.update("torch", State.READY)
        return 0 if _weights(writer) else 1


def _torch(choice: Choice, writer: ArrivalWriter) -> bool:
    from labkit.bench.arrival import State

    def progress(state: str, done: int, total: int | None) -> None:
        writer.update("torch", State(state), done_bytes=done, total_bytes=total)

    if is_here(Path(sys.executable), choice.wanted, choice.version):
        return True  # another run brought it while this one waited
    progress("fetching", 0, choice.size)
    try:
        install(Path(sys.executable), choice, progress)
    except SetupError as error:
        _fail(writer, "torch", str(error))
        return False
    return True


def _weights(writer: ArrivalWriter) -> bool:
    from labkit.bench.arrival import State
    from labkit.bench.weights import ensure_weights
    from labkit.contract import LabkitError

    def report(progress: Progress) -> None:
        fetching = progress.unit == "bytes" and progress.done is not None
        writer.update(
            "weights",
            State.FETCHING if fetching else State.INSTALLING,
            done_bytes=(progress.done or 0) if fetching else 0,
            total_bytes=progress.total if fetching else None,
        )

    try:
        ensure_weights(report)
    except LabkitError as error:
        _fail(writer, "weights", str(error))
        return False
    writer.update("weights", State.READY)
    return True


def _fail(writer: ArrivalWriter, name: str, detail: str) -> None:
    from labkit.bench.arrival import State

    writer.update(name, State.FAILED, detail=detail)
    print(detail, file=sys.stderr)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main(sys.argv[1], aloud="aloud" in sys.argv[2:]))
    except KeyboardInterrupt:
        sys.exit(130)
