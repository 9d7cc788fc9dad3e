"""The command line that starts a sandboxed run: bubblewrap, and setpriv where we are root.

Two profiles. FULL needs root: the run gets a user id of its own, which owns nothing and can ask
for nothing. NAMESPACES works for anybody: a user namespace, inside of which the run has the
instructor's user id but sees none of the instructor's files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from labkit.contract.paths import ENV_RECORDS, ENV_REPLAY, ENV_RUNNER
from labkit.grading.mounts import View
from labkit.runner.job import Limits

# Inside the sandbox, where each run has an empty one of its own.
HOME = "/tmp"  # noqa: S108
WORK = f"{HOME}/work"
_SHARED_MEMORY = "/dev/shm"  # noqa: S108


class Level(StrEnum):
    """How well a run is kept apart from everything else."""

    FULL = "full"
    NAMESPACES = "namespaces"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Tools:
    """Absolute paths of the programs that make the sandbox."""

    bwrap: str
    setpriv: str
    choom: str


def arguments(level: Level, seen: View, limits: Limits, env: Mapping[str, str]) -> list[str]:
    """bwrap's options: namespaces, mounts, environment."""
    disk = str(limits.disk)
    return [
        *_namespaces(level),
        "--die-with-parent",
        "--new-session",
        "--hostname", "grading",
        "--clearenv",
        *[word for name, value in env.items() for word in ("--setenv", name, value)],
        # Before the view: this clone may itself lie in the temporary folder.
        "--perms", "1777", "--size", disk, "--tmpfs", HOME,
        *seen.options,
        "--proc", "/proc",
        "--dev", "/dev",
        "--perms", "1777", "--size", disk, "--tmpfs", _SHARED_MEMORY,
        "--remount-ro", "/dev",
        "--perms", "0777", "--dir", WORK,
        "--remount-ro", "/",
        "--chdir", WORK,
    ]  # fmt: skip


def _namespaces(level: Level) -> list[str]:
    common = ["--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
    common.append("--unshare-cgroup-try")
    if level is Level.FULL:
        caps = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
        return [*common, "--cap-drop", "ALL", *[w for cap in caps for w in ("--cap-add", cap)]]
    return [*common, "--unshare-user", "--disable-userns", "--cap-drop", "ALL"]


def command(
    level: Level, tools: Tools, python: Path, uid: int, args_fd: int, seccomp_fd: int
) -> list[str]:
    """The whole command. The options go by descriptor: /proc/1/cmdline shows no host path."""
    outer = [tools.choom, "-n", "1000", "--", tools.bwrap]
    outer += ["--args", str(args_fd), "--seccomp", str(seccomp_fd), "--"]
    run = [str(python), "-m", "labkit.runner"]
    return [*outer, *become(tools, uid), *run] if level is Level.FULL else [*outer, *run]


def become(tools: Tools, uid: int) -> list[str]:
    """Give up root for good: another user, no groups, no capabilities, no way back."""
    return [
        tools.setpriv,
        f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--no-new-privs",
        "--inh-caps=-all", "--bounding-set=-all", "--",
    ]  # fmt: skip


def environment(home: str, code: str, packages: tuple[Path, ...]) -> dict[str, str]:
    """Every variable that a run has; nothing of ours or the instructor's is inherited."""
    one_thread = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB")
    names = {f"{name}_NUM_THREADS": "1" for name in one_thread}
    return names | {
        "HOME": home,
        "TMPDIR": home,
        "USER": "learner",
        "LOGNAME": "learner",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": os.pathsep.join([code, *map(str, packages)]),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONUTF8": "1",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": f"{home}/mpl",
        "IPYTHONDIR": f"{home}/ipython",
        "PIP_NO_INDEX": "1",
        "HF_HUB_OFFLINE": "1",
        ENV_RUNNER: "1",
        ENV_REPLAY: "1",
        ENV_RECORDS: f"{home}/labkit-records.json",
    }
