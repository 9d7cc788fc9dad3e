"""Which clock a figure is read from: process-CPU time on a CPU, wall time on a GPU.

A neighbour on the same cores stretches wall time; the CPU time of a one-thread process it hardly
touches. So series in CPU time are judged by their own spread alone, and what the record says is
what the work cost, not how long somebody waited.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

from labkit.bench.sampling import SPREAD_LIMIT, Samples, pool, spread
from labkit.bench.session import Measured, Session
from labkit.contract import Series

CPU = "cpu"
WALL = "wall"


def clock_of(device: str) -> str:
    """ "cpu" for a CPU, "wall" for a GPU, whose work the CPU only waits for."""
    return CPU if device == "cpu" else WALL


def readings_ms(samples: Samples, device: str) -> tuple[float, ...]:
    """Each sample by that device's clock, in ms with five digits."""
    seconds = samples.cpu_s if clock_of(device) == CPU else samples.wall_s
    return tuple(float(f"{1e3 * value:.5g}") for value in seconds)


def median_ms(samples: Samples, device: str) -> float:
    """The middle reading, in ms with five digits."""
    return float(f"{statistics.median(readings_ms(samples, device)):.5g}")


def steady(
    session: Session, step: Callable[[], object], count: int, *, warmup: int = 1, attempts: int = 3
) -> Samples:
    """`count` samples of `step`; taken again while the device's own clock scatters too much.

    The quietest set is returned, with the number of tries.
    """
    best: Samples | None = None
    for attempt in range(1, attempts + 1):
        taken = session.time(
            step,
            warmup=warmup if attempt == 1 else 0,
            min_samples=count,
            max_samples=count,
            attempts=1,
        )
        taken = Samples(taken.wall_s, taken.cpu_s, attempt)
        if best is None or _scatter(taken, session) < _scatter(best, session):
            best = taken
        if _scatter(best, session) <= SPREAD_LIMIT or session.late():
            break
    if best is None:
        raise ValueError("attempts must be at least 1")
    return best


def add_readings(
    measured: Measured, name: str, label: str, sets: list[Samples], device: str
) -> None:
    """A series in ms of all `sets` pooled, by that device's clock."""
    together = pool(sets)
    measured.series.append(Series(name, "ms", readings_ms(together, device), label))
    if together.attempts > 1:
        measured.facts.setdefault("attempts", {})[name] = together.attempts


def _scatter(samples: Samples, session: Session) -> float:
    return spread(readings_ms(samples, session.device))
