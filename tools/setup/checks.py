"""`make test`: set everything up, run every check, and pytest last: its verdict closes the run."""

from __future__ import annotations

import os

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


def main() -> int:
    """Run all checks in order; the first that fails ends the run with exit code 2."""
    ensure_system_packages()
    python, choice = light_set()
    arrive_now(python, choice)
    # The tests start programs by name (`labkit`, `jupyter`): those of this environment.
    binaries = str(python.parent)
    env = {**os.environ, "PATH": os.pathsep.join([binaries, os.environ.get("PATH", os.defpath)])}
    for name, program, *arguments in CHECKS:
        with step(name):
            remedy = f"{name}: failed; the lines above say where."
            run([python.with_name(program), *arguments], cwd=ROOT, env=env, remedy=remedy)
    print("── tests", flush=True)
    run([python, "-m", *pytest()], cwd=ROOT, env=env, remedy="The tests failed.")
    return 0


def pytest() -> list[str]:
    """The test run: two workers, each test file kept whole because fixtures are costly."""
    return ["pytest", "-n", "2", "--dist", "loadfile", "--durations", "10"]
