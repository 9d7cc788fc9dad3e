"""Debian packages that the tests need: the sandbox's bubblewrap and seccomp, and a browser.

Installed where that is allowed (root on Debian or a relative); elsewhere one sentence gives the
command. The tests never run without them, because a skipped sandbox test proves nothing.
"""

from __future__ import annotations

import ctypes.util
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.setup.say import SetupError, run, step


@dataclass(frozen=True, slots=True)
class Need:
    """A package and how to see that what it brings is there."""

    package: str
    present: Callable[[], bool]


def _program(name: str) -> Callable[[], bool]:
    return lambda: shutil.which(name) is not None


NEEDS = (
    Need("bubblewrap", _program("bwrap")),
    Need("libseccomp2", lambda: ctypes.util.find_library("seccomp") is not None),
    Need("chromium", _program("chromium")),
    Need("chromium-driver", _program("chromedriver")),
    Need("fonts-dejavu-core", lambda: _font("DejaVuSans")),
)


def ensure_system_packages(needs: tuple[Need, ...] = NEEDS) -> None:
    """Install what is missing, or raise SetupError with the command that does."""
    missing = [need.package for need in needs if not need.present()]
    if not missing:
        return
    if not sys.platform.startswith("linux"):
        raise SetupError(
            f"`make test` needs Linux for the grading sandbox ({', '.join(missing)}): run it in "
            "WSL2 or a container; `make lab` works here."
        )
    names = " ".join(missing)
    if shutil.which("apt-get") is None:
        raise SetupError(
            f"The tests need {names} (Debian's names): install them with this system's package "
            "manager and run `make test` again."
        )
    if os.geteuid() != 0:
        raise SetupError(
            f"The tests need system packages: `sudo apt-get install --yes {names}`, "
            "then run `make test` again."
        )
    remedy = f"apt-get could not install {names}: its lines above say why."
    with step(f"system packages: {names}"):
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        run(["apt-get", "update", "-qq"], env=env, remedy=remedy)
        options = ["--yes", "--no-install-recommends", "-qq"]
        run(["apt-get", "install", *options, *missing], env=env, remedy=remedy)
    still = [need.package for need in needs if not need.present()]
    if still:
        raise SetupError(f"apt-get installed {', '.join(still)}, yet what it brings is not found.")


def _font(family: str) -> bool:
    folders = (Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), Path.home() / ".fonts")
    return any(next(folder.rglob(f"*{family}*"), None) is not None for folder in folders)
