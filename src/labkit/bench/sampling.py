"""Repeating a step and judging the samples: warm-up, wall and CPU seconds, spread, retries.

Pure Python: it times any callable and knows nothing of torch, processes or files.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

# A median is kept while the middle half of its samples lies within this share of it. Two quiet
# cores show 1–8 %; a neighbour that streams memory through the same socket shows 30 % and more.
SPREAD_LIMIT = 0.20
# CPU seconds per wall second of a one-thread measurement: less, and something else had the core.
CPU_SHARE_LIMIT = 0.90


@dataclass(frozen=True, slots=True)
class Samples:
    """Timed repetitions of one step: wall and CPU seconds of each, and how many tries it took."""

    wall_s: tuple[float, ...]
    cpu_s: tuple[float, ...]
    attempts: int = 1

    @property
    def spread(self) -> float:
        """Interquartile range of the wall times ÷ their median; 0 for fewer than two samples."""
        return spread(self.wall_s)

    @property
    def cpu_share(self) -> float:
        """CPU seconds ÷ wall seconds over all samples; above 1 with several threads."""
        return sum(self.cpu_s) / sum(self.wall_s)

    def noise(self, share_limit: float = CPU_SHARE_LIMIT) -> float:
        """The worse of spread and missing CPU share, as a multiple of what is allowed."""
        return max(self.spread / SPREAD_LIMIT, share_limit / max(self.cpu_share, 1e-3))

    def milliseconds(self) -> tuple[float, ...]:
        """Each wall time in ms."""
        return tuple(1e3 * seconds for seconds in self.wall_s)

    def rate(self, amount: float) -> tuple[float, ...]:
        """`amount` per second for each sample: bytes → bytes/s, FLOP → FLOP/s."""
        return tuple(amount / seconds for seconds in self.wall_s)


def spread(samples: tuple[float, ...]) -> float:
    """Interquartile range ÷ median (quartiles inclusive); 0 for fewer than two samples.

    >>> round(spread((9.0, 10.0, 10.0, 11.0)), 3)
    0.05
    """
    if len(samples) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
    return (high - low) / middle


def pool(sets: Sequence[Samples]) -> Samples:
    """Several sets of the same step as one; `attempts` is that of the most troubled set."""
    return Samples(
        wall_s=tuple(wall for taken in sets for wall in taken.wall_s),
        cpu_s=tuple(cpu for taken in sets for cpu in taken.cpu_s),
        attempts=max(taken.attempts for taken in sets),
    )


def repeat(
    step: Callable[[], object],
    *,
    warmup: int = 1,
    min_samples: int = 5,
    max_samples: int = 40,
    budget_s: float = 1.0,
    attempts: int = 4,
    pause_s: float = 0.5,
    retry_until: float = float("inf"),
    share_limit: float = CPU_SHARE_LIMIT,
    sync: Callable[[], object] | None = None,
) -> Samples:
    """Time `step` until `budget_s` has passed, but at least `min_samples` times.

    `sync` waits for an asynchronous device before each clock reading; `share_limit` is 0 for one,
    since the CPU then only waits. A set with too much spread or too small a CPU share is thrown
    away and, after a pause, taken again: up to `attempts` times, and not after `retry_until`
    (`time.perf_counter`). The quietest set is returned, with the number of tries; the caller
    judges whether it is quiet enough.
    """
    wait = sync or _nothing
    for _ in range(warmup):
        step()
    wait()
    best: Samples | None = None
    for attempt in range(1, attempts + 1):
        if attempt > 1:
            time.sleep(pause_s * (attempt - 1))  # what disturbed it may pass
        taken = _take(step, wait, range(min_samples, max_samples), budget_s)
        if best is None or taken.noise(share_limit) < best.noise(share_limit):
            best = replace(taken, attempts=attempt)
        if best.noise(share_limit) <= 1.0 or time.perf_counter() > retry_until:
            break
    if best is None:
        raise ValueError("attempts must be at least 1")
    return best


def _take(
    step: Callable[[], object],
    wait: Callable[[], object],
    counts: range,
    budget_s: float,
) -> Samples:
    """From `counts.start` to `counts.stop` samples, as many as the budget allows."""
    walls: list[float] = []
    cpus: list[float] = []
    begun = time.perf_counter()
    while len(walls) < counts.start or (
        len(walls) < counts.stop and time.perf_counter() - begun < budget_s
    ):
        cpu, wall = time.process_time(), time.perf_counter()
        step()
        wait()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return Samples(tuple(walls), tuple(cpus))


def _nothing() -> None:
    return None
