"""How long a call takes: the median of many, after a warm-up, on one thread."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from statistics import median

# NumPy's libraries read these when they are first loaded.
_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB")


def use_one_thread() -> None:
    """Ask the numeric libraries for one thread; to be called before they are imported."""
    for library in _LIBRARIES:
        limit = "MAXIMUM_THREADS" if library == "VECLIB" else "NUM_THREADS"
        os.environ[f"{library}_{limit}"] = "1"


def seconds_per_call(
    work: Callable[[], object], *, at_least: float = 0.5, warm_up: int = 10, calls: int = 3
) -> float:
    """Median wall seconds of one call, over `at_least` seconds and no fewer than `calls` calls."""
    for _ in range(warm_up):
        work()
    took: list[float] = []
    end = time.perf_counter() + at_least
    while len(took) < calls or time.perf_counter() < end:
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return median(took)
