"""`plan_fleet`: the smallest fleet of one instance type that holds an SLO at a rate.

One replica's goodput is the highest rate at which it keeps the SLO (`serving`). The fleet leaves a
share of it free (head-room, for what a mean rate hides), and with `n_plus` instances lost the rest
still holds the SLO, then without head-room:

    instances = max(ceil(rate / ((1 - headroom) x goodput x replicas per instance)),
                    ceil(rate / (goodput x replicas per instance)) + n_plus).

How arrivals are split matters. "random": each replica has a queue of its own and Poisson arrivals;
that is what a load balancer without knowledge of the replicas gives, and the safe assumption.
"shared": requests wait in one queue until any replica has a place, which wastes none; a router
that knows how many requests each replica has in flight comes close.
"""

from __future__ import annotations

import math
from dataclasses import replace

from labkit.catalog.specs import Instance, ModelSpec
from labkit.contract.errors import UnknownNameError
from labkit.sizing.bands import Band
from labkit.sizing.device import device_of
from labkit.sizing.engines import DEFAULT_ENGINE, engine_named
from labkit.sizing.estimate import Estimate, estimate
from labkit.sizing.fleet_plan import FleetPlan
from labkit.sizing.inputs import (
    SLO,
    EngineConfig,
    SizingError,
    Workload,
    require_count,
    require_fraction,
)
from labkit.sizing.refusal import BLOCKING, Refusal, RefusalCode
from labkit.sizing.serving import (
    HIGHEST,
    Breach,
    Goodput,
    Replica,
    ServingPoint,
    goodput_of,
    holds,
    point_at,
)
from labkit.sizing.serving.limits import Limits, limits_of
from labkit.sizing.serving.scenarios import Scenarios, kv_tokens_of, scenarios_of

ROUTINGS = ("random", "shared")
DEFAULT_HEADROOM = 0.3


def plan_fleet(
    model: ModelSpec,
    instance: Instance,
    config: EngineConfig,
    workload: Workload,
    *,
    headroom: float = DEFAULT_HEADROOM,
    n_plus: int = 1,
    routing: str = "random",
    price_kind: str = "on-demand",
    region: str = "us-east-1",
    ends: bool = True,
) -> FleetPlan:
    """The smallest fleet, or the refusals that say why there is none.

    headroom: share of each replica's goodput that stays free, in [0, 1). n_plus: instances that
    may be lost while the SLO holds. ends: also plan at both ends of what is not known (thrice the
    work). The batch is what the engine makes of the load, up to `max_num_seqs` and the KV cache;
    `config.batch` only raises that limit. Raises `SizingError` where the workload names no rate,
    `UnknownNameError` for an unknown routing or engine.
    """
    rate = workload.requests_per_second
    if rate is None:
        raise SizingError("A fleet needs requests_per_second; this workload names none.")
    require_fraction("headroom", headroom, zero_ok=True)
    require_count("n_plus", n_plus, minimum=0)
    if routing not in ROUTINGS:
        raise UnknownNameError("routing", routing, ROUTINGS)
    one, limits = _one_replica(model, instance, config, workload, price_kind, region)
    refusals = [r for r in one.refusals if r.code in BLOCKING or r.code == "UNKNOWN_PRICE"]
    refusals += _cannot_serve(one)
    plan = FleetPlan(one, workload, headroom, n_plus, routing, tuple(refusals), limits)
    if any(refusal.code in BLOCKING for refusal in refusals):
        return plan
    scenarios = scenarios_of(one, limits)
    goodput = goodput_of(scenarios.mid, workload.slo)
    plan = replace(
        plan,
        replicas_per_instance=one.device.count // one.tensor_parallel_size,
        goodput=goodput,
        goodput_band=_band(scenarios, goodput, workload) if ends else None,
    )
    if goodput.breaches:
        said = tuple(_never(breach, plan) for breach in goodput.breaches)
        return replace(plan, refusals=plan.refusals + said)
    return _sized(plan, scenarios.mid, goodput, rate)


def _one_replica(
    model: ModelSpec,
    instance: Instance,
    config: EngineConfig,
    workload: Workload,
    price_kind: str,
    region: str,
) -> tuple[Estimate, Limits]:
    """The estimate of one replica that need only hold one sequence: the rest would queue."""
    engine = engine_named(config.engine or DEFAULT_ENGINE[instance.kind])
    device = device_of(instance)
    limits = limits_of(model, device, engine, config, config.tensor_parallel_size or 1)
    alone = replace(
        config, batch=1, max_num_seqs=limits.slots, max_num_batched_tokens=limits.batched_tokens
    )
    unpromised = replace(workload, slo=None)
    found = estimate(model, instance, alone, unpromised, price_kind=price_kind, region=region)
    return found, limits


def _cannot_serve(one: Estimate) -> list[Refusal]:
    """Why a replica that runs has no steady state that could be computed."""
    if one.engine.family == "eager":
        return [
            Refusal(
                RefusalCode.ENGINE_UNSUPPORTED,
                f"{one.engine.name} batches statically: a request waits for the whole batch "
                "before it, and no steady state is computed for that.",
            )
        ]
    if not one.fits:
        return []
    if one.ttft_ms is None:
        what = "bandwidth" if one.device.bandwidth <= 0 else "FLOP/s"
        return [
            Refusal(
                RefusalCode.ENGINE_UNSUPPORTED,
                f"No source gives the {what} of {one.instance.name}'s {one.device.noun}: a "
                "prefill cannot be timed, and so no queue.",
            )
        ]
    length = one.workload.prompts.mean + one.workload.outputs.mean
    room = kv_tokens_of(one, one.memory.pool.mid)
    if room < length:
        return [
            Refusal(
                RefusalCode.KV_CACHE,
                f"A mean sequence ends at {length:,.0f} tokens; the KV cache holds {room:,.0f}.",
            )
        ]
    return []


def _never(breach: Breach, plan: FleetPlan) -> Refusal:
    slo = plan.workload.slo
    percentile = slo.percentile if slo else 95.0
    return Refusal(
        breach.code,
        f"Unloaded, {breach.metric} is already {breach.ms:,.1f} ms at percentile {percentile:g}; "
        f"asked: {breach.promised_ms:,.1f} ms. More replicas do not help, only a faster one.",
    )


def _band(scenarios: Scenarios, goodput: Goodput, workload: Workload) -> Band:
    """Goodput at the ends, in order; 0 where the slow end keeps no promise or has no room."""
    fast = goodput_of(scenarios.fast, workload.slo).rate
    slow = goodput_of(scenarios.slow, workload.slo).rate if scenarios.slow else 0.0
    return Band(min(slow, goodput.rate), goodput.rate, max(fast, goodput.rate), scenarios.kind)


def _sized(plan: FleetPlan, replica: Replica, goodput: Goodput, rate: float) -> FleetPlan:
    per, slo, shared = plan.replicas_per_instance, plan.workload.slo, plan.routing == "shared"
    loaded = _least(rate / (1 - plan.headroom), goodput.rate * per)
    bare = _least(rate, goodput.rate * per)
    if shared:
        loaded = _fewest_pooled(replica, rate / (1 - plan.headroom), per, loaded, slo)
        bare = _fewest_pooled(replica, rate, per, bare, slo)
    instances = max(loaded, bare + plan.n_plus)

    def each(count: int) -> ServingPoint:
        replicas = count * per
        if shared:
            return point_at(replica, rate, pooled=replicas, slo=slo)
        return point_at(replica, rate / replicas, slo=slo)

    def at_the(end: float) -> int:
        """Instances at one end of the band; a pool keeps its advantage over random splitting."""
        most = _least(rate / (1 - plan.headroom), end * per)
        return max(most, _least(rate, end * per) + plan.n_plus)

    band, of_one = plan.goodput_band, goodput.rate
    if shared:
        of_one = goodput_of(replica, slo, pooled=instances * per).rate
    return replace(
        plan,
        instances=instances,
        without_spare=loaded,
        fewest=min(instances, at_the(band.high)) if band else None,
        most=max(instances, at_the(band.low)) if band and band.low > 0 else None,
        fleet_goodput=instances * per * of_one,
        point=each(instances),
        degraded=each(instances - plan.n_plus) if plan.n_plus else None,
    )


def _least(wanted: float, of_one: float) -> int:
    """ceil(wanted / of one), at least 1; rounding errors do not buy an instance."""
    return max(1, math.ceil(wanted / of_one * (1 - 1e-9)))


def _fewest_pooled(replica: Replica, rate: float, per: int, enough: int, slo: SLO | None) -> int:
    """The fewest instances whose replicas hold the SLO with one queue; `enough` do without it."""
    low = min(enough, _least(rate, HIGHEST * replica.capacity * per))
    while low < enough:
        middle = (low + enough) // 2
        if holds(replica, rate, slo, pooled=middle * per):
            enough = middle
        else:
            low = middle + 1
    return enough
