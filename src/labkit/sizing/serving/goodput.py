"""Goodput: the highest rate at which the promises hold, each at its percentile.

TTFT and TPOT rise with the rate, so the rate is found by halving. Without a promise it is the
highest rate that can be kept up for long (`HIGHEST` of capacity): nearer to capacity a queue takes
hours to settle, and its length means nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.sizing.inputs import SLO, Workload
from labkit.sizing.refusal import RefusalCode
from labkit.sizing.serving.point import ServingPoint, point_at
from labkit.sizing.serving.replica import DEFAULT_MAX_BATCHED_TOKENS, Replica, replica_of
from labkit.sizing.serving.steps import StepTimes

HIGHEST = 0.98
UNLOADED = 1e-4  # of capacity: so few requests that they never meet
_HALVINGS = 9  # to 0.2 % of capacity, well inside what the step times are known to


@dataclass(frozen=True, slots=True)
class Breach:
    """A promise that does not hold: what it is at the percentile, and what was promised (ms)."""

    code: RefusalCode
    metric: str
    ms: float
    promised_ms: float


@dataclass(frozen=True, slots=True)
class Goodput:
    """The highest rate in requests/s per replica that keeps the promises; 0 where none does.

    limited_by: "SLO_TTFT" or "SLO_TPOT" (the promise that breaks just above), or what bounds the
    capacity (`Replica.bound_by`). point: the replica at that rate; unloaded: with hardly any.
    breaches: the promises that do not hold even unloaded; then more replicas never help.
    """

    rate: float
    limited_by: str
    point: ServingPoint
    unloaded: ServingPoint
    breaches: tuple[Breach, ...] = ()


def breaches(point: ServingPoint, slo: SLO | None) -> tuple[Breach, ...]:
    """The promises that a point does not keep at the SLO's percentile; none where saturated."""
    if slo is None:
        return ()
    found = []
    for code, metric, promised, latency in (
        (RefusalCode.SLO_TTFT, "TTFT", slo.ttft_ms, point.ttft),
        (RefusalCode.SLO_TPOT, "TPOT", slo.tpot_ms, point.tpot),
    ):
        if promised is not None and latency is not None and latency.promised * 1e3 > promised:
            found.append(Breach(code, metric, latency.promised * 1e3, promised))
    return tuple(found)


def holds(replica: Replica, rate: float, slo: SLO | None, pooled: int = 1) -> bool:
    """Whether `pooled` replicas with one queue keep up `rate` in all, and the promises with it."""
    if rate > HIGHEST * pooled * replica.capacity:
        return False
    return slo is None or not breaches(point_at(replica, rate, pooled=pooled, slo=slo), slo)


def goodput_of(replica: Replica, slo: SLO | None, pooled: int = 1) -> Goodput:
    """The goodput of one replica, alone or in a pool of `pooled` with one queue."""
    capacity = replica.capacity

    def at(share: float) -> ServingPoint:
        return point_at(replica, share * capacity * pooled, pooled=pooled, slo=slo)

    unloaded = at(UNLOADED)
    never = breaches(unloaded, slo)
    if never:
        return Goodput(0.0, str(never[0].code), unloaded, unloaded, never)
    top = at(HIGHEST)
    broken = breaches(top, slo)
    if not broken:
        return Goodput(HIGHEST * capacity, replica.bound_by, top, unloaded)
    low, high, point = UNLOADED, HIGHEST, unloaded
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        tried = at(middle)
        found = breaches(tried, slo)
        if found:
            high, broken = middle, found
        else:
            low, point = middle, tried
    return Goodput(low * capacity, str(broken[0].code), point, unloaded)


def max_rate_under_slo(
    steps: StepTimes,
    workload: Workload,
    slots: int,
    kv_tokens: float,
    *,
    max_batched_tokens: int = DEFAULT_MAX_BATCHED_TOKENS,
    block_tokens: int = 16,
) -> Goodput:
    """The goodput of one replica for the workload's lengths and SLO (see `replica_of`)."""
    replica = replica_of(
        steps,
        workload,
        slots,
        kv_tokens,
        max_batched_tokens=max_batched_tokens,
        block_tokens=block_tokens,
    )
    return goodput_of(replica, workload.slo)
