"""Running one job apart from everything else: the seam behind which a fork server will stand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from labkit.contract.errors import LabkitError
from labkit.contract.probe import Probe
from labkit.grading.driver import drive
from labkit.grading.isolation import Isolation, detect, find_tools
from labkit.grading.mounts import find_python, view
from labkit.grading.profile import HOME, Level, arguments, command, environment
from labkit.grading.seccomp import build_filter
from labkit.grading.stage import Stage, stage
from labkit.grading.transcript import End, Transcript
from labkit.grading.uids import FIRST_UID, own_uid
from labkit.runner.job import Cell, Job

UNSAFE_WORDS = (
    "Without a sandbox a notebook runs as you: it can read and change your files, read the key, "
    "the references and other submissions, and use the network."
)


class Sandbox(Protocol):
    """Something that runs jobs. Safe to call from several threads at once."""

    @property
    def level(self) -> Level:
        """How well runs are kept apart."""

    def run(self, job: Job, probes: Mapping[str, Probe]) -> Transcript:
        """Run the job; answer its requests for probes. Never raises for what the job does."""


@contextmanager
def open_sandbox(*, unsafe: bool = False, hidden: Iterable[Path] = ()) -> Iterator[Sandbox]:
    """The sandbox that this machine offers, tried out once; closed at the end.

    `hidden` are paths that runs must not see even where they lie in a visible folder: the key,
    the submissions, the output. Raises LabkitError where there is no isolation, unless `unsafe`.
    """
    found = Isolation(Level.NONE, UNSAFE_WORDS) if unsafe else detect()
    if not found.available and not unsafe:
        raise LabkitError(found.detail)
    with stage(FIRST_UID) as staged:
        sandbox: Sandbox
        if unsafe:
            sandbox = UnsafeSandbox(staged)
        else:
            sandbox = BubblewrapSandbox(found.level, staged, tuple(hidden))
        _try_out(sandbox)
        yield sandbox


def _try_out(sandbox: Sandbox) -> None:
    """Run a job of our own, so that a broken set-up is one sentence and not a failed class."""
    cell = Cell("try", "from labkit import Lab; Lab('00').check('0.1', 1)")
    said = sandbox.run(Job("00", "", (cell,), givens={"0.1": None}), {})
    if said.end is not End.DONE or said.errors or "0.1" not in said.attempts:
        why = said.detail or " ".join(f"{e.ename}: {e.evalue}" for e in said.errors) or said.end
        raise LabkitError(
            "The sandbox starts, but Python does not run in it: its user must be able to read the "
            f"Python installation and its packages. (It said: {why})"
        )


class BubblewrapSandbox:
    """Every run in namespaces of its own, and at level FULL with a user id of its own."""

    def __init__(self, level: Level, staged: Stage, hidden: tuple[Path, ...]) -> None:
        self.level = level
        self._tools = find_tools()
        self._python = find_python()
        self._view = view(self._python, staged, (*hidden, staged.root))
        self._env = environment(HOME, "/labkit", self._python.packages)
        self._filter = build_filter()

    def run(self, job: Job, probes: Mapping[str, Probe]) -> Transcript:
        """Run the job in a fresh sandbox. Never raises for what the job does."""
        options = arguments(self.level, self._view, job.limits, self._env)
        with (
            own_uid() as uid,
            _readable("\0".join(options).encode() + b"\0") as args_fd,
            _readable(self._filter) as seccomp_fd,
        ):
            line = command(
                self.level, self._tools, self._python.executable,
                uid, args_fd, seccomp_fd,
            )  # fmt: skip
            process = subprocess.Popen(
                line,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                pass_fds=(args_fd, seccomp_fd),
                env={"PATH": os.defpath},  # bwrap's own environment shows in /proc/1/environ
                cwd="/", start_new_session=True, bufsize=0,
            )  # fmt: skip
            return drive(process, job, probes)


class UnsafeSandbox:
    """No isolation at all: the run may do whatever the instructor may. Limits still hold."""

    level = Level.NONE

    def __init__(self, staged: Stage) -> None:
        self._staged = staged

    def run(self, job: Job, probes: Mapping[str, Probe]) -> Transcript:
        """Run the job as this user, in a temporary folder."""
        packages = find_python().packages
        with tempfile.TemporaryDirectory(prefix="labkit-run-", ignore_cleanup_errors=True) as home:
            env = environment(home, str(self._staged.code), packages)
            shutil.copytree(self._staged.fonts, Path(home) / "mpl")
            process = subprocess.Popen(
                [sys.executable, "-m", "labkit.runner"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=env, cwd=home, start_new_session=True, bufsize=0,
            )  # fmt: skip
            return drive(process, job, probes)


@contextmanager
def _readable(data: bytes) -> Iterator[int]:
    """A descriptor of this run's own that reads `data` from its start."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file.fileno()
