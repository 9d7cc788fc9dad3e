"""`make wheel`: the distribution that learners and instructors install, built into dist/."""

from __future__ import annotations

from tools.setup.layout import ROOT
from tools.setup.ready import light_set
from tools.setup.say import run, step


def main() -> int:
    """Build the wheel with the locked build backend, which fetches nothing."""
    python, _ = light_set()
    with step("wheel, into dist/"):
        run(
            [python, "-m", "hatchling", "build", "--target", "wheel", "--directory", "dist"],
            cwd=ROOT,
            remedy="The wheel was not built: the lines above say why.",
        )
    return 0
