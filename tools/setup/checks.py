"""`make test`: set everything up, run every check, and pytest last."""

from __future__ import annotations

import os
from pathlib import Path

from tools.setup.layout import ROOT, cache_dir
from tools.setup.ready import arrive_now, light_set
from tools.setup.say import run, step
from tools.setup.system import ensure_system_packages

# Name, program and arguments of each check before the tests, fastest first.
CHECKS = (
    ("format (ruff)", "ruff", "format", "--check", "--quiet", "."),
    ("lint (ruff)", "ruff", "check", "--quiet", "."),
    ("import rules (import-linter)", "lint-imports", "--no-cache", "--no-logo"),
    ("types (mypy)", "mypy", "--cache-dir", str(cache_dir() / "mypy"), "--no-error-summary"),
)

# Measurements first and alone: a second worker on the same cores would be measured too. Then two
# workers, each test file kept whole because its fixtures are costly.
TESTS = (
    ("measurements of this machine (pytest)", ["-m", "quiet and not heavy", "--quiet"]),
    ("tests (pytest)", ["-m", "not quiet and not heavy", "-n", "2", "--dist", "loadfile"]),
)


def main() -> int:
    """Run all checks in order; the first that fails ends the run with exit code 2."""
    ensure_system_packages()
    python, choice = light_set()
    arrive_now(python, choice)
    env = pytest_environment(python)
    for name, program, *arguments in CHECKS:
        with step(name):
            remedy = f"{name}: failed; the lines above say where."
            run([python.with_name(program), *arguments], cwd=ROOT, env=env, remedy=remedy)
    for name, options in TESTS:
        print(f"── {name}", flush=True)  # pytest's own closing line says the time, and stays last
        command = [str(python), "-m", "pytest", *options]
        run(command, cwd=ROOT, env=env, remedy=f"{name}: failed; the lines above say where.")
    return 0


def pytest_environment(python: Path) -> dict[str, str]:
    """The tests start programs by name (`labkit`, `jupyter`): those of this environment."""
    binaries = str(python.parent)
    return {**os.environ, "PATH": os.pathsep.join([binaries, os.environ.get("PATH", os.defpath)])}
