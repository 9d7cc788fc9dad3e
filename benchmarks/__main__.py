"""`make bench`, which is `python -m benchmarks`: labkit's speed beside that of public tools."""

from __future__ import annotations

import platform
import sys

from benchmarks.timing import use_one_thread

WIDTH = 100


def main() -> int:
    """Time everything in one run, one after another, and print it. Always exit code 0."""
    use_one_thread()
    from benchmarks.peers.ask import NotInstalledError, microseconds
    from benchmarks.peers.environment import HOW, python
    from benchmarks.peers.registry import PEERS
    from benchmarks.peers.translate import example
    from benchmarks.speeds import SPEEDS

    print(
        f"labkit's speed on {platform.machine()}, Python {platform.python_version()}, one thread."
    )
    print("Medians. Times depend on the machine; the ratios do less.\n")
    print(f"  {'labkit':<40}{'measured':>24}{'goal':>24}")
    values = {}
    for speed in SPEEDS:
        values[speed.name] = value = speed.measure()
        sign = "≥" if speed.more_is_better else "≤"
        goal = f"{sign} {figure(speed.goal)} {speed.unit}"
        mark = "" if speed.met(value) else "  missed"
        print(f"  {speed.name:<40}{figure(value) + ' ' + speed.unit:>24}{goal:>24}{mark}")

    own = values[SPEEDS[0].name]
    print(f"\n  {'one answer: llama-3-8b, L40S, 512 + 256 tokens':<48}{'µs':>12}  beside labkit")
    print(f"  {'labkit estimate, with bands and refusals':<48}{figure(own):>12}  1 ×")
    question = example()
    for name in PEERS:
        try:
            took = microseconds(name, question)
        except NotInstalledError:
            print(f"  {name:<48}{'–':>12}  not installed")
            continue
        print(f"  {name:<48}{figure(took):>12}  {ratio(took, own)}")
    if python() is None:
        print(f"\n  To install those tools in an environment of their own: {HOW}")
    return 0


def figure(value: float) -> str:
    """Three significant digits, thousands separated."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ratio(took: float, own: float) -> str:
    """How a tool's time compares: "3.2 × slower"."""
    if took >= own:
        return f"{figure(took / own)} × slower"
    return f"{figure(own / took)} × faster"


if __name__ == "__main__":
    sys.exit(main())
