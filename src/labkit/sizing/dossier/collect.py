"""What is known about a recommendation and its winner, collected once for every view of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from labkit.catalog import Catalog
from labkit.catalog.interruptions import interruption
from labkit.sizing.availability import (
    Availability,
    HostMemory,
    availability_of,
    host_memory_of,
)
from labkit.sizing.bands import Band
from labkit.sizing.checks import SizingError
from labkit.sizing.estimate import Estimate, estimate
from labkit.sizing.fleet import DEFAULT_HEADROOM, plan_fleet
from labkit.sizing.fleet_plan import FleetPlan
from labkit.sizing.loading import SOURCES, load_seconds
from labkit.sizing.money import HOURS_PER_MONTH
from labkit.sizing.purchase import PurchaseOption, purchase_options
from labkit.sizing.quota import Quota, quota_for
from labkit.sizing.recommendation import Deployment, Loser, Recommendation
from labkit.sizing.refusal_codes import RefusalCode
from labkit.sizing.user_rates import UserRate
from labkit.sizing.weights import resident_weight_bytes


@dataclass(frozen=True, slots=True)
class Reason:
    """One refusal code: how many set-ups and instance types it stopped, and the nearest miss."""

    code: RefusalCode
    setups: int
    instances: int
    nearest: Loser


@dataclass(frozen=True, slots=True)
class LoadTime:
    """Seconds to load one instance's weights from `source`; None where it has no such source."""

    source: str
    seconds: Band | None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Winner:
    """The cheapest deployment, and all that follows from taking it.

    estimate: one replica with `busy` sequences in flight. fleet_size: instances to pay for.
    plan: the fleet with queues and one instance lost; None where no rate or no plan was asked.
    """

    deployment: Deployment
    estimate: Estimate
    fleet_size: int
    purchases: tuple[PurchaseOption, ...]
    quota: Quota
    weight_bytes: float
    loads: tuple[LoadTime, ...]
    availability: Availability
    host_memory: HostMemory
    plan: FleetPlan | None = None


@dataclass(frozen=True, slots=True)
class Dossier:
    """A recommendation with what a reader needs to judge it. `on`: the day prices are aged by."""

    recommendation: Recommendation
    snapshot: str
    on: date
    headroom: float
    reasons: tuple[Reason, ...]
    winner: Winner | None


def dossier_of(
    recommendation: Recommendation,
    *,
    on: date,
    catalog: Catalog | None = None,
    headroom: float = DEFAULT_HEADROOM,
    n_plus: int = 1,
    loader: str | None = None,
    rates: Sequence[UserRate] = (),
    plan: bool = False,
) -> Dossier:
    """Collect it. `loader`, `headroom` and `n_plus` as `recommend` was asked with them.

    `plan` also works out the winner's fleet with queues, which takes seconds."""
    catalog = catalog or Catalog.load()
    best = recommendation.best
    winner = None
    if best is not None:
        fleet = _plan(recommendation, best, loader, headroom, n_plus) if plan else None
        winner = _winner(recommendation, best, catalog, loader, rates, fleet)
    return Dossier(
        recommendation,
        catalog.snapshot,
        on,
        headroom,
        reasons(recommendation.losers),
        winner,
    )


def reasons(losers: Sequence[Loser]) -> tuple[Reason, ...]:
    """Losers by the code that is hardest to lift, the code that stopped most first."""
    groups: dict[RefusalCode, list[Loser]] = {}
    for loser in losers:
        groups.setdefault(loser.code, []).append(loser)
    found = [
        Reason(
            code,
            len(group),
            len({loser.setup.instance for loser in group}),
            min(group, key=lambda loser: loser.miss.over),
        )
        for code, group in groups.items()
    ]
    return tuple(sorted(found, key=lambda reason: (-reason.setups, reason.code)))


def _plan(
    recommendation: Recommendation,
    best: Deployment,
    loader: str | None,
    headroom: float,
    n_plus: int,
) -> FleetPlan | None:
    """The winner's fleet with queues; None where the workload names no rate."""
    if recommendation.workload.requests_per_second is None:
        return None
    return plan_fleet(
        recommendation.model,
        best.instance,
        replace(best.setup.config(1), max_num_seqs=best.batch, loader=loader),
        recommendation.workload,
        headroom=headroom,
        n_plus=n_plus,
        price_kind=recommendation.price_kind,
        region=recommendation.region,
    )


def _winner(
    recommendation: Recommendation,
    best: Deployment,
    catalog: Catalog,
    loader: str | None,
    rates: Sequence[UserRate],
    plan: FleetPlan | None,
) -> Winner:
    # The deployment's times are met with `busy` sequences in flight: so are the estimate's.
    busy = min(best.batch, max(1, math.ceil(best.busy or best.batch)))
    config = replace(best.setup.config(busy), max_num_seqs=best.batch, loader=loader)
    model, region, size = recommendation.model, recommendation.region, best.fleet.instances
    kind, weights = recommendation.price_kind, resident_weight_bytes(model, config.weight_format)
    purchases = purchase_options(
        best.instance,
        size,
        HOURS_PER_MONTH,
        region,
        rates,
        interruption=interruption(catalog.snapshot, best.instance.name, region),
    )
    # Spot holds spares of its own, and they count against the quota too.
    running = max((o.instances for o in purchases if o.kind.name == kind), default=size)
    return Winner(
        deployment=best,
        estimate=estimate(
            model,
            best.instance,
            config,
            recommendation.workload,
            price_kind=kind,
            region=region,
        ),
        fleet_size=size,
        purchases=purchases,
        quota=quota_for(best.instance, running, kind),
        weight_bytes=weights,
        loads=tuple(_load(source, weights, best) for source in SOURCES),
        availability=availability_of(best.instance),
        host_memory=host_memory_of(model, best.setup, best.instance, loader),
        plan=plan,
    )


def _load(source: str, weights: float, best: Deployment) -> LoadTime:
    devices = min(
        max(1, best.instance.accelerator_count),
        best.setup.tensor_parallel_size * best.setup.replicas_per_instance,
    )
    try:
        return LoadTime(source, load_seconds(weights, source, best.instance, devices=devices))
    except SizingError as error:
        return LoadTime(source, None, str(error))
