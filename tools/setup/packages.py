"""The light set: every package of requirements.lock, with hashes, and labkit itself."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

from tools.setup.layout import LOCK, PROJECT, ROOT, wheel
from tools.setup.say import run, step
from tools.setup.venv import once

_OFFLINE = (
    "The packages did not install. Without network, run once where there is one (pip's cache "
    "keeps them), or put their wheels in a folder and set PIP_FIND_LINKS to it."
)


def install_pip(python: Path) -> None:
    """The pip of the lock, first: older ones download whole wheels to look at their metadata."""
    lock = LOCK.read_text(encoding="utf-8")
    entry = entry_of("pip", lock)

    def work() -> None:
        with step("pip"), tempfile.TemporaryDirectory() as folder:
            wanted = Path(folder) / "pip.txt"
            wanted.write_text(entry, encoding="utf-8")
            run([*_install(python), "--require-hashes", "-r", wanted], remedy=_OFFLINE)

    once("pip", entry, work)


def install_packages(python: Path) -> None:
    """Install the locked packages and then the project in place, each only when it changed."""
    lock = LOCK.read_text(encoding="utf-8")

    def locked() -> None:
        count = len(re.findall(r"^\S+==", lock, flags=re.MULTILINE))
        with step(f"{count} locked packages (all but torch)"):
            run(
                [*_install(python), "--no-compile", "--require-hashes", "-r", LOCK], remedy=_OFFLINE
            )
            # pip compiles on one core; this takes all. Failures are files for other Pythons.
            site = next(python.parent.parent.glob("lib/python*/site-packages"))
            run(
                [python, "-m", "compileall", "-q", "-j", "0", site],
                env={**os.environ, "PYTHONWARNINGS": "ignore"},  # other people's code
                remedy="The packages did not compile: the lines above say why.",
            )

    once("packages", lock, locked)

    brought = wheel()
    if brought is None:
        what = PROJECT.read_text(encoding="utf-8")
        options = ["--no-build-isolation", "-e", str(ROOT)]
    else:
        what = hashlib.sha256(brought.read_bytes()).hexdigest()
        options = ["--no-index", "--force-reinstall", str(brought)]

    def itself() -> None:
        with step(f"labkit itself, {brought.name if brought else 'editable'}"):
            run(
                [*_install(python), *options],
                remedy="labkit did not install: the lines above say why.",
            )

    once("project", what + lock, itself)


def entry_of(name: str, lock: str) -> str:
    """One package's lines in the lock: its pin and its hashes."""
    pattern = rf"^{re.escape(name)}==.*?(?=^\S|\Z)"
    match = re.search(pattern, lock, flags=re.MULTILINE | re.DOTALL)
    if match is None:
        raise ValueError(f"{name} is not in the lock: run `make lock`")
    return match.group()


def _install(python: Path) -> list[str | Path]:
    quiet = ["-qq", "--disable-pip-version-check", "--no-input", "--no-deps"]
    # A learner's own pip.conf may ask for --user, which an environment refuses.
    return [python, "-m", "pip", "install", *quiet, "--no-user"]
