"""The project's `.venv`: made once, kept, and made again when a run was cut short or it moved.

A marker in the environment says which steps are done, each with a hash of what it depended on,
and which step is under way; a run that dies in the middle is seen by the next one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.setup.layout import venv, venv_python
from tools.setup.say import SetupError, quiet, step

_MARKER = "labkit-setup.json"
_UNFINISHED = "unfinished"


def ensure_venv(folder: Path | None = None) -> Path:
    """Make the environment unless a sound one is there; returns its Python."""
    folder = folder or venv()
    fault = _fault(folder)
    if fault is None:
        return venv_python(folder)
    with step(f"Python environment in .venv ({fault})"):
        if folder.exists():
            shutil.rmtree(folder)
        if quiet([sys.executable, "-c", "import ensurepip, venv"]).returncode != 0:
            raise SetupError(
                f"{sys.executable} cannot make environments: install its venv package "
                "(Debian, Ubuntu: apt-get install python3-venv) and run make again."
            )
        made = quiet([sys.executable, "-m", "venv", folder])
        if made.returncode != 0:
            raise SetupError(f"{sys.executable} -m venv failed: {_last(made.stderr, made.stdout)}")
        _write(folder, {})
    return venv_python(folder)


def once(name: str, inputs: str, work: Callable[[], None], folder: Path | None = None) -> None:
    """Run `work` unless the step `name` is marked done for these very `inputs`."""
    folder = folder or venv()
    if is_done(name, inputs, folder):
        return
    done = {key: value for key, value in _read(folder).items() if key not in (name, _UNFINISHED)}
    _write(folder, {**done, _UNFINISHED: name})
    work()
    _write(folder, {**done, name: _digest(inputs)})


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold `folder` against other runs of the set-up; waits for one that is under way."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"   another set-up of {folder} is under way; waiting for it", flush=True)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_done(name: str, inputs: str, folder: Path | None = None) -> bool:
    """Whether the step is marked done for these inputs."""
    return _read(folder or venv()).get(name) == _digest(inputs)


def mark_done(name: str, inputs: str, folder: Path | None = None) -> None:
    """Mark a step done that was not run through `once`."""
    folder = folder or venv()
    _write(folder, {**_read(folder), name: _digest(inputs)})


def _fault(folder: Path) -> str | None:
    """Why the environment must be made (again), or None if it is sound."""
    if not folder.exists():
        return "new"
    if not (folder / "pyvenv.cfg").is_file():
        raise SetupError(f"{folder} is not a Python environment: move it away and run make again.")
    python = venv_python(folder)
    # A link to a Python that was removed is there and yet does not exist.
    if not python.exists() or quiet([python, "-m", "pip", "--version"]).returncode != 0:
        return "its Python no longer runs; made again"
    state = _read(folder)
    if state.get(_UNFINISHED) == "packages":
        # A killed pip can leave a package half there and yet on record as installed.
        return "an earlier run was cut short; made again"
    if state and state.get("place") != str(folder):
        return "the clone has moved; made again"
    return None


def _read(folder: Path) -> dict[str, str]:
    try:
        state = json.loads((folder / _MARKER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except json.JSONDecodeError:
        return {_UNFINISHED: "packages"}
    return dict(state)


def _write(folder: Path, state: dict[str, str]) -> None:
    part = folder / f"{_MARKER}.part"
    part.write_text(json.dumps({**state, "place": str(folder)}, indent=1) + "\n", encoding="utf-8")
    part.replace(folder / _MARKER)


def _digest(inputs: str) -> str:
    return hashlib.sha256(inputs.encode()).hexdigest()


def _last(*outputs: str) -> str:
    lines = [line for output in outputs for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"
