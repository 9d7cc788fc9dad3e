"""The part that `make lab` and `make test` share, and `make setup` alone: everything installed."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from tools.setup.arrive import to_json
from tools.setup.layout import ROOT, setting
from tools.setup.packages import install_packages, install_pip
from tools.setup.say import run, step
from tools.setup.torch_choice import Choice
from tools.setup.torch_install import plan
from tools.setup.venv import alone, ensure_venv


def main() -> int:
    """`make setup`: install everything and wait for it."""
    python, choice = light_set()
    arrive_now(python, choice)
    return 0


def light_set() -> tuple[Path, Choice | None]:
    """Environment and packages; returns its Python and what torch still needs.

    Torch is chosen and announced before the packages are fetched, and installed after them.
    """
    with alone(ROOT):
        python = ensure_venv()
        install_pip(python)
        choice = plan(python)
        install_packages(python)
    return python, choice


def arrive_behind(python: Path, choice: Choice | None) -> subprocess.Popen[bytes] | None:
    """Start the fetching of torch and weights in a process group of its own; None if skipped."""
    if setting("TORCH") == "skip":
        return None
    # What it prints on failure is in the arrival file too; the progress line shows that.
    return subprocess.Popen(
        _command(python, choice),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def arrive_now(python: Path, choice: Choice | None) -> None:
    """Fetch torch and the weights in the foreground; SetupError when one cannot be had."""
    if setting("TORCH") == "skip":
        return
    with step("torch and the weights of SmolLM2-135M-Instruct"):
        remedy = "Torch or the weights could not be had: the lines above say why."
        run([*_command(python, choice), "aloud"], cwd=ROOT, remedy=remedy)


def stop(process: subprocess.Popen[bytes] | None) -> None:
    """End a fetch that is still running, and the pip it may have started."""
    if process is None or process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):  # it ended meanwhile; macOS: EPERM
            os.killpg(process.pid, number)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            continue
        return


def _command(python: Path, choice: Choice | None) -> list[str]:
    return [str(python), "-m", "tools.setup.arrive", to_json(choice)]
