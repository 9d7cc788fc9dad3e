"""A recommendation as plain JSON types: the contract of `labkit size --json`."""

from __future__ import annotations

from datetime import date
from math import isinf
from typing import Any

from labkit.catalog.specs import Price
from labkit.sizing.bands import Band
from labkit.sizing.dossier import Dossier, Winner
from labkit.sizing.inputs import Workload
from labkit.sizing.quota import Quota
from labkit.sizing.recommendation import Deployment, Loser, Miss, Setup


def as_dict(dossier: Dossier, *, every: bool) -> dict[str, Any]:
    """The whole answer; bands are {low, mid, high}. `every` adds each refused set-up.

    `deployments` has every set-up that holds the SLO, cheapest fleet first; `best` is null where
    nothing holds, and `nearest` then says by how much it was missed.
    """
    recommendation = dossier.recommendation
    on = dossier.on
    front = recommendation.front
    found = {
        "model": recommendation.model.name,
        "workload": _workload(recommendation.workload),
        "price_kind": recommendation.price_kind,
        "region": recommendation.region,
        "headroom": dossier.headroom,
        "catalog_snapshot": dossier.snapshot,
        "on": on.isoformat(),
        "considered": recommendation.considered,
        "deployments": [_deployment(d, d in front, on) for d in recommendation.deployments],
        "front": {
            "latency": recommendation.latency,
            "deployments": [_deployment(d, True, on) for d in front],
        },
        "refusals": [
            {
                "code": str(reason.code),
                "setups": reason.setups,
                "instances": reason.instances,
                "nearest": _loser(reason.nearest),
            }
            for reason in dossier.reasons
        ],
        "nearest": [_loser(loser) for loser in recommendation.nearest],
        "best": _best(dossier.winner, on),
    }
    if every:
        found["losers"] = [_loser(loser) for loser in recommendation.losers]
    return found


def _workload(workload: Workload) -> dict[str, Any]:
    slo = workload.slo
    return {
        "requests_per_second": workload.requests_per_second,
        "prompt_tokens": workload.prompt_tokens,
        "output_tokens": workload.output_tokens,
        "prefix_hit_rate": workload.prefix_hit_rate,
        "slo": (
            {"ttft_ms": slo.ttft_ms, "tpot_ms": slo.tpot_ms, "percentile": slo.percentile}
            if slo
            else None
        ),
    }


def _setup(setup: Setup) -> dict[str, Any]:
    return {
        "instance": setup.instance,
        "engine": setup.engine,
        "weights": setup.weights,
        "kv": setup.kv,
        "tensor_parallel_size": setup.tensor_parallel_size,
        "replicas_per_instance": setup.replicas_per_instance,
    }


def _deployment(d: Deployment, on_front: bool, on: date) -> dict[str, Any]:
    fleet = d.fleet
    return {
        "rank": d.rank,
        "pareto": on_front,
        **_setup(d.setup),
        "batch": d.batch,
        "max_sequences": d.max_sequences,
        "ttft_ms": d.ttft_ms.as_dict(),
        "tpot_ms": d.tpot_ms.as_dict(),
        "served_tpot_ms": d.served_tpot_ms.as_dict(),
        "e2e_ms": d.e2e_ms.as_dict(),
        "output_tokens_per_s": d.output_tokens_per_s.as_dict(),
        "requests_per_s": d.requests_per_s.as_dict(),
        "bound": d.bound,
        "kind": d.kind,
        "fleet": {
            "rate": fleet.rate,
            "instances": fleet.instances,
            "spares": fleet.spares,
            "replicas": fleet.replicas,
            "capacity_requests_per_s": fleet.capacity,
            "utilisation": fleet.utilisation,
            "most_utilisation": fleet.most_utilisation,
            "usd_per_hour": fleet.usd_per_hour.as_dict(),
            "usd_per_month": fleet.usd_per_month.as_dict(),
            "usd_per_million_output_tokens": fleet.usd_per_million_output_tokens.as_dict(),
            "usd_per_request": fleet.usd_per_request.as_dict(),
            "method": fleet.method,
        },
        "price": _price(d.price, on),
    }


def _price(price: Price, on: date) -> dict[str, Any]:
    fact = price.provenance
    return {
        "kind": price.kind,
        "region": price.region,
        "usd_per_hour": price.usd_per_hour,
        "as_of": fact.as_of.isoformat(),
        "age_days": price.age_days(on),
        "expired": fact.stale(on),
        "source": fact.source,
    }


def _loser(loser: Loser) -> dict[str, Any]:
    return {
        **_setup(loser.setup),
        "batch": loser.batch,
        "code": str(loser.code),
        "misses": [_miss(miss) for miss in loser.misses],
    }


def _miss(miss: Miss) -> dict[str, Any]:
    """`over` is null where no number decides: JSON has no infinity."""
    return {
        "code": str(miss.code),
        "detail": miss.detail,
        "value": miss.value,
        "limit": miss.limit,
        "unit": miss.unit,
        "over": None if isinf(miss.over) else miss.over,
    }


def _best(winner: Winner | None, on: date) -> dict[str, Any] | None:
    if winner is None:
        return None
    return {
        **_setup(winner.deployment.setup),
        "rank": winner.deployment.rank,
        "fleet_size": winner.fleet_size,
        "purchase_options": [option.as_dict(on) for option in winner.purchases],
        "quota": _quota(winner.quota),
        "weight_bytes": round(winner.weight_bytes),
        "host_memory_bytes": {
            "needed": round(winner.host_memory.needed_bytes),
            "there": winner.host_memory.instance_bytes,
        },
        "regions": {
            "on_demand": list(winner.availability.regions),
            "spot": list(winner.availability.spot_regions),
            "sagemaker": list(winner.availability.sagemaker_regions),
            "sagemaker_hosting": winner.availability.sagemaker_hosting,
        },
        "load_seconds": {load.source: _band(load.seconds) for load in winner.loads},
    }


def _quota(quota: Quota) -> dict[str, Any]:
    return {
        "service": quota.service,
        "name": quota.name,
        "code": quota.code or None,
        "needed": quota.needed,
        "unit": quota.unit,
        "source": quota.source,
    }


def _band(band: Band | None) -> dict[str, float] | None:
    return band.as_dict() if band else None
