"""The best of a recommendation planned again by `plan_fleet`, whose queue has distributions."""

from __future__ import annotations

from dataclasses import replace

from labkit.sizing.bands import Band
from labkit.sizing.fleet import plan_fleet
from labkit.sizing.fleet_plan import FleetPlan
from labkit.sizing.money import HOURS_PER_MONTH
from labkit.sizing.recommendation import Deployment, Fleet, Loser, Miss, Recommendation
from labkit.sizing.serving import Latency


def planned_again(
    result: Recommendation,
    checked: int,
    headroom: float,
    n_plus: int,
    loader: str | None = None,
) -> Recommendation:
    """The best deployment of each of the first `checked` instance types, as `plan_fleet` has it.

    The ranking is by its answers for those. A deployment that does not hold there is a loser.
    """
    again: dict[int, Deployment] = {}
    lost: dict[int, Loser] = {}
    for deployment in result.per_instance()[:checked]:
        setup = deployment.setup
        plan = plan_fleet(
            result.model,
            deployment.instance,
            replace(setup.config(1), max_num_seqs=deployment.batch, loader=loader),
            result.workload,
            headroom=headroom,
            n_plus=n_plus,
            price_kind=result.price_kind,
            region=result.region,
            ends=False,
        )
        if plan.holds:
            again[deployment.rank] = _as_planned(deployment, plan)
        else:
            misses = tuple(Miss(refusal.code, refusal.detail) for refusal in plan.refusals)
            lost[deployment.rank] = Loser(setup, deployment.batch, misses)
    kept = [again.get(d.rank, d) for d in result.deployments if d.rank not in lost]
    kept.sort(key=lambda d: (d.fleet.usd_per_hour.mid, d.e2e_ms.mid))
    ranked = tuple(replace(d, rank=rank) for rank, d in enumerate(kept, start=1))
    place = {(d.setup, d.batch): d for d in ranked}
    rank_of = {d.setup: d.rank for d in ranked}
    front = tuple(
        place.get((d.setup, d.batch)) or replace(d, rank=rank_of[d.setup])
        for d in result.front
        if d.setup in rank_of
    )
    losers = (*result.losers, *(lost[rank] for rank in sorted(lost)))
    return replace(result, deployments=ranked, front=front, losers=losers)


def _as_planned(deployment: Deployment, plan: FleetPlan) -> Deployment:
    point, instances, goodput = plan.point, plan.instances, plan.goodput
    if point is None or instances is None or goodput is None:
        raise ValueError("a plan that holds has a point, instances and a goodput")
    per = plan.replicas_per_instance
    busy = deployment.busy if point.sequences is None else point.sequences
    return replace(
        deployment,
        ttft_ms=_moved(deployment.ttft_ms, point.ttft),
        served_tpot_ms=_moved(deployment.served_tpot_ms, point.tpot),
        e2e_ms=_moved(deployment.e2e_ms, point.e2e),
        in_flight=busy,
        fleet=_fleet(
            deployment.fleet,
            instances,
            instances * per,
            instances * per * point.capacity,
            (1.0 - plan.headroom) * goodput.rate / point.capacity,
            deployment.price.usd_per_hour * instances,
        ),
    )


def _moved(band: Band, latency: Latency | None) -> Band:
    """The band around the latency at the promised percentile, as wide as it was in proportion."""
    return band if latency is None else band.times(latency.promised * 1e3 / band.mid)


def _fleet(
    closed: Fleet, instances: int, replicas: int, capacity: float, most: float, usd: float
) -> Fleet:
    """The ends stay those of the closed form where the new middle lies between them."""
    rate = closed.rate
    if rate is None:
        raise ValueError("a plan needs a rate")
    old = closed.usd_per_hour
    hourly = Band(min(old.low, usd), usd, max(old.high, usd), old.kind)
    per_token = closed.usd_per_million_output_tokens.mid / old.mid
    return Fleet(
        rate=rate,
        instances=instances,
        spares=closed.spares,
        replicas=replicas,
        capacity=capacity,
        utilisation=rate / capacity,
        most_utilisation=most,
        usd_per_hour=hourly,
        usd_per_month=hourly.times(HOURS_PER_MONTH),
        usd_per_million_output_tokens=hourly.times(per_token),
        usd_per_request=hourly.times(1.0 / (rate * 3600.0)),
        method="queueing",
    )
