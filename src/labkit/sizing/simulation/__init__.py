"""A seeded discrete-event simulator of LLM serving on one replica.

Continuous against static batching, with paged KV blocks, preemption and chunked prefill, on any
step time. `simulate` runs it.
"""

from labkit.sizing.simulation.arrivals import Burst, ClosedLoop, Deterministic, Poisson, Trace
from labkit.sizing.simulation.blocks import KVCache
from labkit.sizing.simulation.continuous import ContinuousBatching
from labkit.sizing.simulation.result import Gaps, SimulationResult, Timeline, Totals
from labkit.sizing.simulation.run import Scheduler, simulate
from labkit.sizing.simulation.static import StaticBatching
from labkit.sizing.simulation.steps import AffineSteps, StepTimes
from labkit.sizing.simulation.traffic import Recorded, Traffic

__all__ = [
    "AffineSteps",
    "Burst",
    "ClosedLoop",
    "ContinuousBatching",
    "Deterministic",
    "Gaps",
    "KVCache",
    "Poisson",
    "Recorded",
    "Scheduler",
    "SimulationResult",
    "StaticBatching",
    "StepTimes",
    "Timeline",
    "Totals",
    "Trace",
    "Traffic",
    "simulate",
]
