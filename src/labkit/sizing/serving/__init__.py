"""Continuous batching in steady state: capacity, occupancy, latency percentiles, goodput.

`steady_state` answers for one rate, `max_rate_under_slo` finds the rate; `replica_of` builds what
both need once, for `point_at` and `goodput_of` to be asked often.
"""

from labkit.sizing.serving.explain import point_terms
from labkit.sizing.serving.goodput import (
    HIGHEST,
    Breach,
    Goodput,
    breaches,
    goodput_of,
    holds,
    max_rate_under_slo,
)
from labkit.sizing.serving.latency import Latencies, Latency
from labkit.sizing.serving.point import ServingPoint, point_at, steady_state
from labkit.sizing.serving.replica import Replica, replica_of
from labkit.sizing.serving.steps import ScaledSteps, StepTimes

__all__ = [
    "HIGHEST",
    "Breach",
    "Goodput",
    "Latencies",
    "Latency",
    "Replica",
    "ScaledSteps",
    "ServingPoint",
    "StepTimes",
    "breaches",
    "goodput_of",
    "holds",
    "max_rate_under_slo",
    "point_at",
    "point_terms",
    "replica_of",
    "steady_state",
]
