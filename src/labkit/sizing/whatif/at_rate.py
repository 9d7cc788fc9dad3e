"""What a request rate needs: how many replicas, how busy they are, what requests then meet."""

from __future__ import annotations

import math
from dataclasses import dataclass

from labkit.sizing.bands import Band
from labkit.sizing.cost import usd_per_million_tokens
from labkit.sizing.estimate import Estimate
from labkit.sizing.fleet import DEFAULT_HEADROOM
from labkit.sizing.serving.point import point_at
from labkit.sizing.serving.replica import Replica, replica_of
from labkit.sizing.serving.steps import ScaledSteps
from labkit.sizing.step_model import step_model


@dataclass(frozen=True, slots=True)
class AtRate:
    """`rate` requests/s spread evenly over `replicas` on `instances`, with head-room and no spare.

    A quick answer for moving sliders; `plan_fleet` has the whole one: SLO, spares, routing.

    capacity: requests/s that one replica can keep up. replicas: the fewest that leave the usual
    head-room free at the capacity's central value; `replicas_range`: at its ends. sequences: mean
    number in flight per replica. Percentiles are over requests, from central step times, in ms.
    usd_per_million: of output tokens at this rate, idle time paid.
    """

    rate: float
    capacity: Band
    replicas: int
    replicas_range: tuple[int, int]
    instances: int
    utilisation: float
    sequences: float
    ttft_p95_ms: float
    tpot_p95_ms: float | None
    usd_per_hour: float | None
    usd_per_million: float | None


def at_rate(estimate: Estimate) -> AtRate | None:
    """What the workload's rate needs; None where no rate is asked or a replica cannot be timed.

    `batch` is read as `max_num_seqs`: the most sequences in flight, not how many there are.
    """
    rate = estimate.workload.requests_per_second
    decode, prefill, efficiency = estimate.decode, estimate.prefill, estimate.efficiency
    if rate is None or decode is None or efficiency is None or estimate.ttft_ms is None:
        return None
    if prefill is None or estimate.max_sequences < 1:
        return None
    n, config = estimate.tensor_parallel_size, estimate.config
    steps = step_model(estimate.model, estimate.device, config, n, efficiency)

    def replica(slower_decode: float, slower_prefill: float) -> Replica:
        return replica_of(
            ScaledSteps(steps, slower_decode, slower_prefill),
            estimate.workload,
            config.batch,
            float(estimate.memory.max_cached_tokens),
            block_tokens=config.block_tokens if estimate.engine.paged else 1,
        )

    usual = replica(1.0, 1.0)
    capacity = Band(
        replica(decode.spread.high, prefill.spread.high).capacity,
        usual.capacity,
        replica(decode.spread.low, prefill.spread.low).capacity,
        Band.worst_kind(decode.total, prefill.total),
    )
    replicas = _enough(rate, capacity.mid)
    per_instance = max(1, estimate.device.count // n)
    instances = math.ceil(replicas / per_instance)
    point = point_at(usual, rate / replicas)
    if point.ttft is None or point.sequences is None:
        return None
    hourly = estimate.usd_per_hour
    fleet = None if hourly is None else hourly * instances
    return AtRate(
        rate=rate,
        capacity=capacity,
        replicas=replicas,
        replicas_range=(_enough(rate, capacity.high), _enough(rate, capacity.low)),
        instances=instances,
        utilisation=point.utilisation,
        sequences=point.sequences,
        ttft_p95_ms=point.ttft.p95 * 1e3,
        tpot_p95_ms=point.tpot.p95 * 1e3 if point.tpot else None,
        usd_per_hour=fleet,
        usd_per_million=(
            None
            if fleet is None
            else usd_per_million_tokens(fleet, rate * estimate.workload.output_tokens)
        ),
    )


def _enough(rate: float, capacity: float) -> int:
    return max(1, math.ceil(rate / (capacity * (1.0 - DEFAULT_HEADROOM))))
