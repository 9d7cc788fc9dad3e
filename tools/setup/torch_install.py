"""The torch step: keep what is there, else install the choice with a running count of bytes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from tools.setup.layout import command as again
from tools.setup.layout import setting
from tools.setup.say import SetupError, quiet, step
from tools.setup.torch_choice import Choice, choose, imports, installed_version, this_machine
from tools.setup.venv import is_done, mark_done

# What is going on ("fetching" or "installing"), bytes so far, bytes in all if known.
Progress = Callable[[str, int, int | None], None]

_RAW_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")


def plan(python: Path) -> Choice | None:
    """What has to be installed, announced; None if torch is there or not wanted."""
    wanted, version = setting("TORCH"), setting("TORCH_VERSION")
    if wanted == "skip":
        print("── torch: left out (TORCH=skip); cells that measure the small model will say so")
        return None
    if is_here(python, wanted, version):
        return None
    with step("torch: finding out which build suits this machine"):
        choice = choose(wanted, version, setting("TORCH_INDEX"), this_machine(python))
    if choice is not None:
        print(f"   {choice.announcement()}", flush=True)
    return choice


def install(python: Path, choice: Choice, progress: Progress) -> None:
    """Run pip on the choice; SetupError with pip's last line when it fails.

    The packages that torch shares with others are there already, at the versions of the lock.
    """
    if installed_version(python) is not None:  # another version, another build, or half of one
        quiet([python, "-m", "pip", "uninstall", "--yes", "torch"])
    options = ["--no-input", "--no-user", "--progress-bar", "raw"]
    command = [str(python), "-m", "pip", "install", *options, *choice.arguments]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as pip:
        last = follow(pip.stdout or (), choice.size, progress)
    if pip.returncode != 0:
        raise SetupError(f"torch did not install ({last}): run `{again()}` again to retry.")
    if not imports(python):
        raise SetupError(
            "torch is installed but does not import: `.venv/bin/python -c 'import torch'` says why."
        )
    mark_done("torch", f"{choice.wanted} {choice.version}")


def is_here(python: Path, wanted: str, version: str) -> bool:
    """Whether the right torch is in place and imports; the import is tried once, then marked."""
    on_record = installed_version(python)
    if on_record is None or on_record.split("+")[0] != version:
        return False
    mark = f"{wanted} {version}"
    if is_done("torch", mark):
        return True
    if wanted != "auto":  # whatever is there may be the other build
        return False
    with step(f"torch {on_record} is here: checking that it imports"):
        sound = imports(python)
    if sound:
        mark_done("torch", mark)
    return sound


def follow(lines: Iterable[str], size: int | None, progress: Progress) -> str:
    """Turn lines of pip into progress; returns its last line in words."""
    last, finished, current = "", 0, 0
    for line in lines:
        count = _RAW_PROGRESS.match(line)
        if count is None:
            last = line.strip() or last
            if last.startswith("Installing collected packages"):
                progress("installing", finished + current, size)
            continue
        if int(count[1]) < current:  # the next file begins
            finished += current
        current = int(count[1])
        progress("fetching", finished + current, size)
    return last
