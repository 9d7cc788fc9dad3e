"""What is timed of labkit: each entry is one line of `make bench`, with the goal it is held to.

Absolute times depend on the machine, so a missed goal is shown and fails nothing.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from benchmarks.timing import seconds_per_call


@dataclass(frozen=True, slots=True)
class Speed:
    """One measure. `goal` is in `unit`; `more_is_better` says on which side of it to be."""

    name: str
    unit: str
    goal: float
    more_is_better: bool
    measure: Callable[[], float]

    def met(self, value: float) -> bool:
        """Whether `value` reaches the goal."""
        return value >= self.goal if self.more_is_better else value <= self.goal


def estimate_microseconds() -> float:
    """One `estimate` of llama-3-8b on one L40S, objects made beforehand: its numbers alone."""
    from labkit.catalog import Catalog
    from labkit.sizing import EngineConfig, Workload, estimate

    catalog = Catalog.load()
    model, instance = catalog.model("llama-3-8b"), catalog.instance("g6e.xlarge")
    config, workload = EngineConfig(weights="fp16", kv="fp16"), Workload(512, 256)
    return seconds_per_call(lambda: estimate(model, instance, config, workload)) * 1e6


def import_seconds() -> float:
    """`import labkit` in a new Python, without the time that Python itself takes to start."""
    code = "import time; start = time.perf_counter(); import labkit; "
    code += "print(time.perf_counter() - start)"
    return median(
        float(subprocess.check_output([sys.executable, "-c", code], text=True)) for _ in range(5)
    )


SPEEDS = (
    Speed("estimate, the numbers of one set-up", "µs", 50, False, estimate_microseconds),
    Speed("import labkit", "s", 0.3, False, import_seconds),
)
