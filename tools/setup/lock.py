"""`make lock`: the locks of pyproject.toml, for every platform and Python from 3.11.

requirements.lock holds everything and is what a clone installs. tools/pack/requirements.lock is
the part of it that learners need, at the same versions; the release pack installs that.

torch is resolved too, so that what it shares with the others (sympy, filelock, …) is locked at
versions it accepts; then it and everything of CUDA are left out, because the right build of them
depends on the machine. One version of each package for all Pythons: everybody gets the same set.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.setup.layout import LEARNERS_LOCK, LOCK, PROJECT, setting, venv_python
from tools.setup.say import SetupError, run, step

LEFT_OUT = re.compile(r"(torch|triton|pytorch-triton.*|nvidia-.*|cuda-.*)", flags=re.IGNORECASE)

# pip because its report on torch decides what is downloaded.
PIP = "pip>=25.1"
# They build the project itself without fetching anything.
BUILD = ("hatchling>=1.27", "editables>=0.5")

# What a learner measures with; torch comes apart.
LEARNERS_EXTRAS = ("labs", "measure", "quant", "llamacpp")

HEADER = """\
# Every package of labkit (all extras) but torch, which `make lab` installs as a step of its own.
# Made by `make lock` from pyproject.toml; never edited by hand.
"""
LEARNERS_HEADER = """\
# What learners need of requirements.lock, for the release pack: labs and measuring, without torch.
# Made by `make lock` from pyproject.toml; never edited by hand.
"""


def main() -> int:
    """Resolve and write both locks."""
    with step("requirements.lock"):
        resolved = _resolve(("--all-extras",), (PIP, *BUILD), LOCK)
        LOCK.write_text(HEADER + resolved, encoding="utf-8")
    with step("the learners' part of it"):
        extras = [part for name in LEARNERS_EXTRAS for part in ("--extra", name)]
        learners = (*extras, "--constraint", str(LOCK))
        resolved = _resolve(learners, (PIP,), LEARNERS_LOCK)
        LEARNERS_LOCK.write_text(LEARNERS_HEADER + resolved, encoding="utf-8")
    return 0


def _resolve(which: Sequence[str], also: Sequence[str], present: Path) -> str:
    """The resolved set without torch; pins in `present` are kept where they still fit."""
    with tempfile.TemporaryDirectory() as folder:
        extra = Path(folder) / "also.in"
        pins = [f"torch=={setting('TORCH_VERSION')}", *also]
        extra.write_text("\n".join(pins) + "\n", encoding="utf-8")
        raw = Path(folder) / "resolved.txt"
        if present.exists():
            shutil.copy(present, raw)
        options = [
            *("--universal", "--python-version", "3.11"),
            *("--fork-strategy", "fewest", "--generate-hashes", "--emit-build-options"),
            *("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"),
        ]
        command: list[str | Path] = [_uv(), "pip", "compile", "--quiet", PROJECT, extra]
        run(
            [*command, *which, *options, "--output-file", raw],
            remedy="The resolver found no set of versions: its message above names the conflict.",
        )
        return without_torch(raw.read_text(encoding="utf-8"))


def without_torch(resolved: str) -> str:
    """The resolved set less torch, Triton and everything of CUDA."""
    entries = re.split(r"^(?=[A-Za-z0-9])", resolved, flags=re.MULTILINE)
    return "".join(
        entry
        for entry in entries
        if entry and not LEFT_OUT.fullmatch(re.split(r"[=\[ ]", entry)[0])
    )


def _uv() -> str:
    found = shutil.which("uv", path=str(venv_python().parent)) or shutil.which("uv")
    if found is None:
        raise SetupError("`make lock` needs uv: `.venv/bin/pip install uv`, then run it again.")
    return found
