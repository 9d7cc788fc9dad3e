"""`make test-heavy`: the tests that need minutes, after the same set-up as `make test`."""

from __future__ import annotations

from tools.setup.checks import pytest_environment
from tools.setup.layout import ROOT
from tools.setup.ready import arrive_now, light_set
from tools.setup.say import run
from tools.setup.system import ensure_system_packages

# As in `make test`: what is timed runs first and alone.
TESTS = (
    ("heavy tests that are timed (pytest)", ["-m", "heavy and quiet"]),
    ("heavy tests (pytest)", ["-m", "heavy and not quiet", "-n", "2", "--dist", "loadfile"]),
)


def main() -> int:
    """Run them; exit code 2 when one fails."""
    ensure_system_packages()
    python, choice = light_set()
    arrive_now(python, choice)
    # vLLM, in an environment of its own in the cache; without it the tests below would fail.
    run(
        [python, "-m", "labkit.cli.main", "engine", "install", "vllm"],
        cwd=ROOT,
        env=pytest_environment(python),
        remedy="vLLM cannot be installed: the line above says why. Its tests are not skipped.",
    )
    for name, options in TESTS:
        print(f"── {name}", flush=True)
        run(
            [python, "-m", "pytest", *options, "--durations", "5"],
            cwd=ROOT,
            env=pytest_environment(python),
            remedy=f"{name}: failed; the lines above say where.",
        )
    return 0
