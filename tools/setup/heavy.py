"""`make test-heavy`: the tests that need minutes, after the same set-up as `make test`."""

from __future__ import annotations

from tools.setup.checks import pytest_environment
from tools.setup.layout import ROOT
from tools.setup.ready import arrive_now, light_set
from tools.setup.say import run
from tools.setup.system import ensure_system_packages

OPTIONS = ("-m", "heavy", "-n", "2", "--dist", "loadfile", "--durations", "5")


def main() -> int:
    """Run them, two files at a time; exit code 2 when one fails."""
    ensure_system_packages()
    python, choice = light_set()
    arrive_now(python, choice)
    print("── heavy tests (pytest)", flush=True)
    run(
        [python, "-m", "pytest", *OPTIONS],
        cwd=ROOT,
        env=pytest_environment(python),
        remedy="heavy tests (pytest): failed; the lines above say where.",
    )
    return 0
