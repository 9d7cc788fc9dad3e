"""The steady state of one replica, or of a pool with one queue, at one offered rate."""

from __future__ import annotations

from dataclasses import dataclass, replace

from labkit.sizing.checks import SizingError, require_count, require_positive
from labkit.sizing.inputs import SLO, Workload
from labkit.sizing.serving.crowd import occupancy, waiting_room
from labkit.sizing.serving.latency import Latencies, Latency, latencies
from labkit.sizing.serving.replica import DEFAULT_MAX_BATCHED_TOKENS, Replica, replica_of
from labkit.sizing.serving.steps import StepTimes


@dataclass(frozen=True, slots=True)
class ServingPoint:
    """What a replica does at `rate` requests/s. Seconds, tokens, requests/s; per replica.

    capacity: highest rate that can be kept up; bound_by says where it ends (`Replica.bound_by`).
    saturated: the offered rate is at or above it. The queue then grows without end: latencies and
    what is in flight are None, and `served` is the capacity.
    utilisation: rate / capacity. sequences: mean number decoding. places: the most there can be.
    waiting: mean number queued for a place. wait_share: share of requests that wait for one.
    prefill_share: share of time that prompts add to the steps. kv_share: of the KV cache in use.
    """

    rate: float
    served: float
    capacity: float
    utilisation: float
    bound_by: str
    saturated: bool
    places: int
    context: float
    output_tokens_per_s: float
    sequences: float | None = None
    waiting: float | None = None
    wait_share: float | None = None
    decode_seconds: float | None = None
    prefill_seconds: float | None = None
    prefill_share: float | None = None
    kv_share: float | None = None
    latencies: Latencies | None = None

    @property
    def ttft(self) -> Latency | None:
        """Time to first token; None where saturated."""
        return self.latencies.ttft if self.latencies else None

    @property
    def tpot(self) -> Latency | None:
        """Time per output token after the first; None where saturated or nobody writes a second."""
        return self.latencies.tpot if self.latencies else None

    @property
    def e2e(self) -> Latency | None:
        """From arrival to the last token; None where saturated."""
        return self.latencies.e2e if self.latencies else None


def steady_state(
    steps: StepTimes,
    workload: Workload,
    slots: int,
    kv_tokens: float,
    *,
    max_batched_tokens: int = DEFAULT_MAX_BATCHED_TOKENS,
    block_tokens: int = 16,
) -> ServingPoint:
    """The steady state of one replica at the workload's rate (see `replica_of` for the inputs).

    Raises `SizingError` where the workload names no rate, or no sequence fits the KV cache.
    """
    if workload.requests_per_second is None:
        raise SizingError("A steady state needs requests_per_second; this workload names none.")
    replica = replica_of(
        steps,
        workload,
        slots,
        kv_tokens,
        max_batched_tokens=max_batched_tokens,
        block_tokens=block_tokens,
    )
    return point_at(replica, workload.requests_per_second, slo=workload.slo)


def point_at(
    replica: Replica, rate: float, *, pooled: int = 1, slo: SLO | None = None
) -> ServingPoint:
    """The same for a replica that is built already, at any rate.

    pooled: this many replicas take from one queue and share `rate` requests/s; the answer is per
    replica. 1: the replica has a queue of its own, as where arrivals are split at random.
    slo: whose percentile the latencies carry as `promised` (None: the 95th).
    """
    import numpy as np

    require_positive("rate", rate)
    require_count("pooled", pooled)
    each, traffic, capacity = rate / pooled, replica.traffic, replica.capacity
    saturated = each >= capacity
    served = min(each, capacity)
    point = ServingPoint(
        rate=each,
        served=served,
        capacity=capacity,
        utilisation=each / capacity,
        bound_by=replica.bound_by,
        saturated=saturated,
        places=replica.places,
        context=traffic.context,
        output_tokens_per_s=served * traffic.output_tokens,
    )
    if saturated:
        return point
    crowd = occupancy(replica, rate, pooled)
    room = waiting_room(replica, rate, pooled) if replica.kv_bound else crowd
    sequences = crowd.sequences
    at = np.array([max(sequences, 1.0)])
    prefill = float(replica.prefill_seconds(each, at)[0])
    return replace(
        point,
        sequences=sequences,
        waiting=room.waiting,
        wait_share=room.full,
        decode_seconds=float(replica.table.plain(at)[0]),
        prefill_seconds=prefill,
        prefill_share=each * prefill,
        kv_share=sequences / replica.kv_places,
        latencies=latencies(replica, each, crowd, room, slo or SLO()),
    )
