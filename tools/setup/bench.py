"""`make bench`: labkit's speed beside that of public tools, after the set-up without torch."""

from __future__ import annotations

from tools.setup.layout import ROOT
from tools.setup.ready import light_set
from tools.setup.say import run


def main() -> int:
    """Time everything once and print it."""
    python, _ = light_set()
    remedy = "The benchmark broke off: the lines above say where."
    run([python, "-m", "benchmarks"], cwd=ROOT, remedy=remedy)
    return 0
