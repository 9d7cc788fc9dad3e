"""Bare environments: made by `venv`, filled by their own pip, nothing of the clone in sight."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What a reader's shell would have; everything else could lead back to the clone.
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "XDG_CACHE_HOME")
_KEPT_STARTS = ("PIP_", "SSL_", "REQUESTS_", "http", "HTTP", "no_proxy", "NO_PROXY")


def clean(extra: dict[str, str] | None = None) -> dict[str, str]:
    """An environment without the clone: no PYTHONPATH, and its .venv not on PATH."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(_KEPT_STARTS)
    }
    folders = env["PATH"].split(os.pathsep)
    env["PATH"] = os.pathsep.join(f for f in folders if not Path(f).is_relative_to(ROOT))
    return {**env, **(extra or {})}


@dataclass(frozen=True)
class Environment:
    """One bare environment; every command runs in `work`, outside the clone."""

    folder: Path
    work: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def pip_install(self, *what: str) -> None:
        """Install with this environment's own pip; a source package would need a compiler."""
        options = ["--quiet", "--no-input", "--disable-pip-version-check", "--only-binary=:all:"]
        done = self.run("pip", "install", *options, *what)
        assert done.returncode == 0, done.stderr[-3000:]

    def run(
        self, program: str, *arguments: str, env: dict[str, str] | None = None, timeout: float = 600
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / "bin" / program), *arguments],
            cwd=self.work,
            env=clean(env),
            capture_output=True,
            text=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def says(self, program: str, *arguments: str, env: dict[str, str] | None = None) -> str:
        """Standard output of a command that must succeed."""
        done = self.run(program, *arguments, env=env)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
        return done.stdout


def bare(folder: Path) -> Environment:
    base = getattr(sys, "_base_executable", sys.executable)
    subprocess.run([base, "-m", "venv", str(folder / "env")], check=True, env=clean())
    work = folder / "work"
    work.mkdir()
    return Environment(folder / "env", work)


def constraints(folder: Path) -> Path:
    """The locked versions as pip's constraints, so that a new release elsewhere breaks nothing."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    lines = re.findall(r"^([A-Za-z0-9][^\\\n]*==[^\\\n]*?) \\$", lock, flags=re.MULTILINE)
    path = folder / "constraints.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def absent(environment: Environment, modules: Iterable[str]) -> list[str]:
    """Which of these modules the environment does not have."""
    code = (
        "import importlib.util, sys\n"
        "print(*[m for m in sys.argv[1:] if importlib.util.find_spec(m) is None])"
    )
    return environment.says("python", "-c", code, *modules).split()
