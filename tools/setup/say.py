"""How the set-up talks: each step by name with its time, and errors of one sentence."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path


class SetupError(Exception):
    """The set-up cannot go on; the message is a sentence that names the remedy."""


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print the step's name at once and its duration when it is over."""
    print(f"── {name}", flush=True)
    begun = time.monotonic()
    try:
        yield
    except BaseException:
        print(f"   stopped after {time.monotonic() - begun:.1f} s", flush=True)
        raise
    print(f"   done in {time.monotonic() - begun:.1f} s", flush=True)


def run(
    command: Sequence[str | Path],
    *,
    remedy: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a command with its output shown; SetupError with `remedy` when it fails."""
    sys.stdout.flush()
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, check=False)
    if done.returncode != 0:
        raise SetupError(remedy)


def quiet(
    command: Sequence[str | Path], *, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command and return what it printed; the caller judges its exit code."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
