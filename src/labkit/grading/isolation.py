"""What this machine offers to keep a run apart, found by trying, and said in plain words."""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from labkit.contract.errors import LabkitError
from labkit.grading.profile import Level, Tools, become
from labkit.grading.uids import FIRST_UID

_APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
_PACKAGES = {"bwrap": "bubblewrap", "setpriv": "util-linux", "choom": "util-linux"}


@dataclass(frozen=True, slots=True)
class Isolation:
    """`level`, a sentence that says what it means, and the packages that would make it better."""

    level: Level
    detail: str
    missing: tuple[str, ...] = ()

    @property
    def available(self) -> bool:
        """Whether a hostile notebook can be run at all."""
        return self.level is not Level.NONE


_WORDS = {
    Level.FULL: "Each run has its own user id and namespaces, no network and a system call filter.",
    Level.NAMESPACES: (
        "Each run has its own namespaces without network and a system call filter, but your user "
        "id; all runs share it. Grade as root to give each run a user id of its own."
    ),
}


def detect() -> Isolation:
    """The best level that works here, tried out with a harmless command."""
    if sys.platform != "linux":
        return Isolation(
            Level.NONE, "Grading needs Linux: on macOS and Windows use a Linux machine or WSL2."
        )
    missing = _missing()
    if missing:
        return Isolation(Level.NONE, _lacking(missing), missing)
    tools = find_tools()
    levels = [Level.FULL, Level.NAMESPACES] if os.geteuid() == 0 else [Level.NAMESPACES]
    said = ""
    for level in levels:
        said = _try(level, tools)
        if not said:
            return Isolation(level, _WORDS[level])
    return Isolation(Level.NONE, _why_not(said))


def find_tools() -> Tools:
    """The sandbox's programs. Raises LabkitError naming the package of a missing one."""
    found = {name: shutil.which(name) for name in _PACKAGES}
    for name, path in found.items():
        if path is None:
            raise LabkitError(f"Grading needs the program {name}: install {_PACKAGES[name]}.")
    return Tools(**{name: str(path) for name, path in found.items()})


def _missing() -> tuple[str, ...]:
    names = [package for name, package in _PACKAGES.items() if shutil.which(name) is None]
    if importlib.util.find_spec("pyseccomp") is None:
        names.append("pyseccomp")
    if ctypes.util.find_library("seccomp") is None:
        names.append("libseccomp2")
    return tuple(dict.fromkeys(names))


def _try(level: Level, tools: Tools) -> str:
    """Start `true` at this level; what went wrong, or nothing."""
    bwrap = [
        tools.bwrap, "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev",
        "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
    ]  # fmt: skip
    true = [shutil.which("true") or "/bin/true"]
    if level is Level.FULL:
        caps = ["--cap-drop", "ALL"]
        for cap in ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"):
            caps += ["--cap-add", cap]
        bwrap += [*caps, "--", *become(tools, FIRST_UID)]
    else:
        bwrap += ["--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--"]
    try:
        done = subprocess.run(
            [*bwrap, *true],
            capture_output=True, text=True, timeout=20, check=False,
            stdin=subprocess.DEVNULL, env={"PATH": os.defpath},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else (done.stderr.strip() or f"exit code {done.returncode}")


def _lacking(missing: tuple[str, ...]) -> str:
    system = [name for name in missing if name != "pyseccomp"]
    remedy = [f"`apt-get install {' '.join(system)}`"] if system else []
    remedy += ["`pip install pyseccomp`"] if "pyseccomp" in missing else []
    return (
        f"Grading needs {_list(missing)} to keep notebooks apart from this machine: "
        f"install {'it' if len(missing) == 1 else 'them'} with {' and '.join(remedy)}."
    )


def _why_not(said: str) -> str:
    last = said.splitlines()[-1][:200]
    if _APPARMOR.is_file() and _APPARMOR.read_text().strip() == "1":
        return (
            "This system's AppArmor forbids bubblewrap to make user namespaces: add an AppArmor "
            f"profile that allows it for bwrap, or grade as root. (It said: {last})"
        )
    return (
        "bubblewrap is installed, but this system does not let it make namespaces: grade as root, "
        f"or allow unprivileged user namespaces. (It said: {last})"
    )


def _list(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
