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


def simulated_per_minute() -> float:
    """Requests per wall minute of continuous batching: 20,000 chats on 64 slots, near saturation.

    Log-normal lengths (mean 512 + 256), paged cache of 100,000 tokens, chunked prefill, step times
    of the order of an 8B model on an L40S.
    """
    from labkit.sizing.lengths import parse_lengths
    from labkit.sizing.simulation import (
        AffineSteps,
        ContinuousBatching,
        KVCache,
        Poisson,
        Traffic,
        simulate,
    )

    requests = 20_000
    traffic = Traffic(
        prompt=parse_lengths("lognormal:mean=512,sigma=0.8,max=4096"),
        output=parse_lengths("lognormal:mean=256,sigma=0.8,max=2048"),
        arrivals=Poisson(4.0),
        requests=requests,
    )
    steps = AffineSteps(
        step=0.021, per_prefill_token=7e-5, per_sequence=1e-5, per_cached_token=1.6e-7
    )
    scheduler = ContinuousBatching(max_num_seqs=64)
    kv = KVCache(blocks=6_250)

    def run() -> object:
        return simulate(traffic, scheduler, steps, kv=kv)

    return requests / seconds_per_call(run, warm_up=0, calls=2) * 60


def import_seconds() -> float:
    """`import labkit` in a new Python, without the time that Python itself takes to start."""
    code = "import time; start = time.perf_counter(); import labkit; "
    code += "print(time.perf_counter() - start)"
    return median(
        float(subprocess.check_output([sys.executable, "-c", code], text=True)) for _ in range(5)
    )


SPEEDS = (
    Speed("estimate, the numbers of one set-up", "µs", 50, False, estimate_microseconds),
    Speed("simulator, continuous batching", "requests/min", 1e5, True, simulated_per_minute),
    Speed("import labkit", "s", 0.3, False, import_seconds),
)
