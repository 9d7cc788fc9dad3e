"""The fleets of many options at once: how many instances carry the rate, and what they cost.

The same count as `plan_fleet`, with the goodput in closed form:
    instances = max(ceil(rate / ((1 - headroom) x goodput x replicas)),
                    ceil(rate / (goodput x replicas)) + n_plus).
Where the workload names no rate, one instance is priced at full load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labkit.sizing.bands import Band
from labkit.sizing.grid import Range
from labkit.sizing.inputs import Workload
from labkit.sizing.money import HOURS_PER_MONTH
from labkit.sizing.options import Promise, Queue
from labkit.sizing.recommendation import Fleet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fleets:
    """Arrays of (lanes, options, 1). See `Fleet` for the words.

    capacity_each, rate_each: of one replica (rate None: at full load); cost: what is ranked, USD
    per hour of the fleet where there is a rate, else USD per 1M output tokens.
    """

    rate: float | None
    spares: int
    instances: Range
    capacity_each: Range
    rate_each: Floats | None
    most_utilisation: Floats
    usd_per_hour: Range
    cost: Range


def fleet_of(
    workload: Workload,
    capacity_each: Band,
    usd_per_hour: Band,
    instances: int,
    spares: int,
    replicas_per_instance: int,
    most_utilisation: float,
) -> Fleet:
    """One fleet as an object; capacity_each: requests/s of one replica, usd_per_hour: of all."""
    rate, replicas = workload.requests_per_second, instances * replicas_per_instance
    capacity = capacity_each.mid * replicas
    if rate is not None:
        per_request = usd_per_hour.times(1.0 / (rate * 3600.0))
    else:
        per_request = capacity_each.times(replicas).under(usd_per_hour.mid / 3600.0)
    return Fleet(
        rate=rate,
        instances=instances,
        spares=spares,
        replicas=replicas,
        capacity=capacity,
        utilisation=1.0 if rate is None else rate / capacity,
        most_utilisation=most_utilisation,
        usd_per_hour=usd_per_hour,
        usd_per_month=usd_per_hour.times(HOURS_PER_MONTH),
        usd_per_million_output_tokens=per_request.times(1e6 / workload.output_tokens),
        usd_per_request=per_request,
    )


def fleets_for(
    capacity: Range,
    ttft_ms: Floats,
    queue: Queue,
    replicas: Floats,
    usd_per_hour: Floats,
    workload: Workload,
    promise: Promise,
    headroom: float,
    n_plus: int,
) -> Fleets:
    """The fleets of options of this capacity (requests/s per replica) and TTFT without a wait.

    replicas: per instance; usd_per_hour: of one instance.
    """
    rate, output = workload.requests_per_second, workload.output_tokens
    if rate is None:
        one = np.ones_like(capacity.mid)
        per_token = usd_per_hour / 3600.0 * 1e6 / (output * replicas)
        low, mid, high = (per_token / end for end in (capacity.high, capacity.mid, capacity.low))
        hourly = usd_per_hour * one
        return Fleets(
            None, 0, Range(one, one, one), capacity, None, one,
            Range(hourly, hourly, hourly), Range(low, mid, high),
        )  # fmt: skip
    good = queue.goodput(ttft_ms, promise)

    def count(end: Floats) -> Floats:
        each = np.maximum(good * (end / capacity.mid) * replicas, 1e-12)
        loaded = np.ceil(rate / ((1.0 - headroom) * each) * (1 - 1e-9))
        bare = np.ceil(rate / each * (1 - 1e-9))
        return np.asarray(np.maximum(np.maximum(loaded, 1.0), np.maximum(bare, 1.0) + n_plus))

    few, instances, many = (count(end) for end in (capacity.high, capacity.mid, capacity.low))
    hourly_range = Range(*(count_ * usd_per_hour for count_ in (few, instances, many)))
    return Fleets(
        rate=rate,
        spares=n_plus,
        instances=Range(few, instances, many),
        capacity_each=capacity,
        rate_each=rate / (instances * replicas),
        most_utilisation=(1.0 - headroom) * good / capacity.mid,
        usd_per_hour=hourly_range,
        cost=hourly_range,
    )
