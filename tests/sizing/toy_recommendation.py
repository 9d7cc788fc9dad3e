"""A recommendation put together by hand from single estimates: what the views are tested on.

It does not depend on how `recommend` searches or ranks, only on what a recommendation is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from labkit.catalog import Catalog, ModelSpec
from labkit.sizing import SLO, Workload, estimate
from labkit.sizing.bands import Band
from labkit.sizing.estimate import Estimate
from labkit.sizing.recommend import nearest
from labkit.sizing.recommendation import Deployment, Fleet, Loser, Miss, Recommendation, Setup

WORKLOAD = Workload(512, 256, 10.0, SLO(ttft_ms=2000, tpot_ms=100))
SETUPS = (
    Setup("g6e.xlarge", "fp8", "bf16", 1, "vllm"),
    Setup("g5.xlarge", "int4", "bf16", 1, "vllm"),
    Setup("g6.xlarge", "int4", "bf16", 1, "vllm"),
    Setup("g6e.12xlarge", "bf16", "bf16", 4, "vllm"),
    Setup("g5.12xlarge", "bf16", "bf16", 2, "vllm", replicas_per_instance=2),
    Setup("p4d.24xlarge", "bf16", "bf16", 1, "vllm", replicas_per_instance=8),
    Setup("p5.48xlarge", "fp8", "bf16", 1, "vllm", replicas_per_instance=8),
)
LOSERS = (
    Loser(
        Setup("g4dn.xlarge", "fp16", "fp16", 1, "vllm"),
        1,
        (
            Miss(
                "WEIGHTS",
                "fp16 weights take 14.96 GiB of each T4 and the engine about 0.80 GiB; of "
                "14.74 GiB it may use 13.56 GiB: 2.19 GiB too little.",
                15.76 * 2**30,
                13.56 * 2**30,
                "B",
                15.76 / 13.56,
            ),
        ),
    ),
    Loser(
        Setup("inf2.xlarge", "bf16", "bf16", 2, "neuron"),
        1,
        (Miss("SLO_TTFT", "TTFT is about 2,400.0 ms; asked: 2,000.0 ms.", 2400, 2000, "ms", 1.2),),
    ),
    Loser(
        Setup("p3.2xlarge", "bf16", "fp16", 1, "vllm"),
        1,
        (Miss("DTYPE_UNSUPPORTED", "V100 does not run bf16 weights; it takes fp16."),),
    ),
)


def recommendation(
    model: str = "llama-3-8b",
    workload: Workload = WORKLOAD,
    setups: Sequence[Setup] = SETUPS,
    *,
    batch: int = 16,
    price_kind: str = "on-demand",
) -> Recommendation:
    """Deployments of these set-ups, ranked by cost, with their front, and three losers."""
    spec = ModelSpec.from_config(model)
    found = [_deployment(spec, setup, workload, batch, price_kind) for setup in setups]
    ranked = sorted(found, key=lambda d: (d.fleet.usd_per_hour.mid, d.e2e_ms.mid))
    ranked = [replace(d, rank=i) for i, d in enumerate(ranked, start=1)]
    front, fastest = [], math.inf
    for deployment in ranked:
        if deployment.e2e_ms.mid < fastest:
            front.append(deployment)
            fastest = deployment.e2e_ms.mid
    missed = nearest(LOSERS, {deployment.setup.instance for deployment in ranked})
    return Recommendation(
        spec, workload, price_kind, "us-east-1", tuple(ranked), tuple(front), LOSERS, missed
    )


def nothing(workload: Workload = WORKLOAD) -> Recommendation:
    """The same where nothing holds."""
    return recommendation(workload=workload, setups=())


def _deployment(
    spec: ModelSpec, setup: Setup, workload: Workload, batch: int, price_kind: str
) -> Deployment:
    instance = Catalog.load().instance(setup.instance)
    e = estimate(spec, instance, setup.config(batch), workload, price_kind=price_kind)
    assert e.tpot_ms is not None
    assert e.ttft_ms is not None
    assert e.output_tokens_per_s is not None
    assert e.requests_per_s is not None
    assert e.price is not None
    tokens = workload.output_tokens - 1
    e2e = Band(*(t + tokens * p for t, p in zip(_ends(e.ttft_ms), _ends(e.tpot_ms), strict=True)))
    return Deployment(
        rank=1,
        setup=setup,
        instance=instance,
        batch=batch,
        max_sequences=e.max_sequences,
        ttft_ms=e.ttft_ms,
        tpot_ms=e.tpot_ms,
        served_tpot_ms=e.tpot_ms,
        e2e_ms=e2e,
        output_tokens_per_s=e.output_tokens_per_s,
        requests_per_s=e.requests_per_s,
        bound=e.bound or "memory",
        price=e.price,
        fleet=_fleet(e, setup, workload),
    )


def _ends(band: Band) -> tuple[float, float, float]:
    return band.low, band.mid, band.high


def _fleet(e: Estimate, setup: Setup, workload: Workload) -> Fleet:
    assert e.requests_per_s is not None
    assert e.price is not None
    rate = workload.requests_per_second
    one = e.requests_per_s.mid * setup.replicas_per_instance

    def instances(capacity: float) -> int:
        return (
            1 if rate is None else math.ceil(rate / (0.7 * capacity * setup.replicas_per_instance))
        )

    count = instances(e.requests_per_s.mid)
    hourly = Band(
        *(
            e.price.usd_per_hour * instances(end)
            for end in (e.requests_per_s.high, e.requests_per_s.mid, e.requests_per_s.low)
        )
    )
    served = one if rate is None else rate
    return Fleet(
        rate=rate,
        instances=count,
        spares=0,
        replicas=count * setup.replicas_per_instance,
        capacity=count * one,
        utilisation=served / (count * one),
        most_utilisation=0.7,
        usd_per_hour=hourly,
        usd_per_month=hourly.times(730),
        usd_per_million_output_tokens=hourly.times(1e6 / (served * workload.output_tokens * 3600)),
        usd_per_request=hourly.times(1 / (served * 3600)),
    )
