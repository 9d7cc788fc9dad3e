"""`make lock`: requirements.lock from pyproject.toml, for every platform and Python from 3.11.

torch is resolved too, so that what it shares with the others (sympy, filelock, …) is locked at
versions it accepts; then it and everything of CUDA are left out, because the right build of them
depends on the machine. One version of each package for all Pythons: everybody gets the same set.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

from tools.setup.layout import LOCK, PROJECT, setting, venv_python
from tools.setup.say import SetupError, run, step

LEFT_OUT = re.compile(r"(torch|triton|pytorch-triton.*|nvidia-.*|cuda-.*)", flags=re.IGNORECASE)

# pip because its report on torch decides what is downloaded; hatchling and editables build the
# project itself without fetching anything.
ALSO = ("pip>=25.1", "hatchling>=1.27", "editables>=0.5")

HEADER = """\
# Every package of labkit (all extras) but torch, which `make lab` installs as a step of its own.
# Made by `make lock` from pyproject.toml; never edited by hand.
"""


def main() -> int:
    """Resolve and write requirements.lock."""
    with step("requirements.lock"), tempfile.TemporaryDirectory() as folder:
        extra = Path(folder) / "also.in"
        pins = [f"torch=={setting('TORCH_VERSION')}", *ALSO]
        extra.write_text("\n".join(pins) + "\n", encoding="utf-8")
        raw = Path(folder) / "resolved.txt"
        if LOCK.exists():  # present pins are kept where they still fit: small, readable diffs
            shutil.copy(LOCK, raw)
        options = [
            *("--all-extras", "--universal", "--python-version", "3.11"),
            *("--fork-strategy", "fewest", "--generate-hashes", "--emit-build-options"),
            *("--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"),
        ]
        run(
            [_uv(), "pip", "compile", "--quiet", PROJECT, extra, *options, "--output-file", raw],
            remedy="The resolver found no set of versions: its message above names the conflict.",
        )
        LOCK.write_text(HEADER + without_torch(raw.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


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
