"""Latencies of requests as percentiles: what each one meets, at evenly spread points.

A request waits for a place, then for the step that runs when it comes, then for the prompts ahead
of it and its own prefill: that is TTFT. Its further tokens come once a step; a step is the longer
the more sequences there are, and the prompts of others lengthen some of them: that is TPOT.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.sizing.inputs import SLO
from labkit.sizing.queueing import kimura_factor
from labkit.sizing.serving.arrival import Prefill, on_arrival, prefill_of
from labkit.sizing.serving.crowd import Crowd
from labkit.sizing.serving.points import chain_quantiles, normal_quantiles, spread_points
from labkit.sizing.serving.replica import Replica

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# A request sees the batch change while it runs, and its TPOT is the mean over that time. Where
# arrivals and departures are independent the number inside forgets itself over one such time:
# the mean's variance is 2/3 of the momentary one, the spread sqrt(2/3).
_REMEMBERED = (2 / 3) ** 0.5


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds: mean, percentiles over requests, and `promised` at the SLO's percentile."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    promised: float


@dataclass(frozen=True, slots=True)
class Latencies:
    """What requests meet. `tpot` None: no answer has a second token.

    `kept`: share of requests that keep every promise at once (1 where nothing is promised).

    The four parts of the mean TTFT, in seconds: `place` (waiting for `max_num_seqs` or KV room),
    `running` (the rest of the step that runs on arrival), `ahead` (prompts of others in the same
    or earlier steps), `own` (the own prefill beside the decodes).
    """

    ttft: Latency
    tpot: Latency | None
    e2e: Latency
    kept: float
    place: float
    running: float
    ahead: float
    own: float


def latency_of(seconds: NDArray[np.float64], percentile: float) -> Latency:
    """The summary of equally likely `seconds`."""
    import numpy as np

    found = np.percentile(seconds, [50.0, 90.0, 95.0, 99.0, percentile])
    return Latency(float(seconds.mean()), *(float(value) for value in found))


def latencies(replica: Replica, each: float, crowd: Crowd, room: Crowd, slo: SLO) -> Latencies:
    """Latencies where each replica gets `each` requests/s.

    crowd: its `Replica.occupancy`; room: its `Replica.waiting_room`.
    """
    import numpy as np

    state, elapsed, arrived, split, own, inside, stalls, size, answer = spread_points(9)

    sequences = crowd.at(inside)
    place = _place_wait(replica, each, room, inside)
    found = on_arrival(replica, each, sequences, state, elapsed, arrived, split)
    prompts = _prompts(replica, own)
    nothing = np.zeros_like(prompts)
    alone = prefill_of(replica, sequences, prompts, nothing)
    prefill = prefill_of(replica, sequences, found.ahead + prompts, found.behind)
    ttft = place + found.running + prefill.seconds

    mean = float(sequences.mean())
    spread = _REMEMBERED * (1.0 + replica.traffic.context_cv2) ** 0.5
    seen = np.clip(1.0 / crowd.copies + mean + spread * (sequences - mean), 0.5, replica.places)
    tpot, steps = _tpot(replica, each, seen, prefill, stalls, size, answer)
    more = steps > 0
    late = np.zeros(len(ttft), dtype=bool)
    if slo.ttft_ms is not None:
        late |= ttft * 1e3 > slo.ttft_ms
    if slo.tpot_ms is not None:
        late |= more & (tpot * 1e3 > slo.tpot_ms)
    return Latencies(
        ttft=latency_of(ttft, slo.percentile),
        tpot=latency_of(tpot[more], slo.percentile) if bool(np.any(more)) else None,
        e2e=latency_of(ttft + steps * tpot, slo.percentile),
        kept=1.0 - float(late.mean()),
        place=float(place.mean()),
        running=float(found.running.mean()),
        ahead=float((prefill.seconds - alone.seconds).mean()),
        own=float(alone.seconds.mean()),
    )


def _prompts(replica: Replica, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """The own prompt as work in tokens (`Replica.work_nodes`) at each share, between the nodes."""
    import numpy as np

    nodes = replica.work_nodes
    return np.asarray(np.interp(share * len(nodes) - 0.5, np.arange(len(nodes)), nodes))


def _place_wait(
    replica: Replica, rate: float, crowd: Crowd, share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Seconds until a place is free: 0 unless the share lies in the top that finds all taken.

    Those wait exponentially with the queue's mean (Little), corrected after Kimura for how much
    answers differ in length.
    """
    import numpy as np

    full, occupancy = crowd.full, crowd.occupancy
    if full <= 0.0:
        return np.zeros_like(share)
    factor = kimura_factor(occupancy.places, occupancy.ratio, replica.traffic.decode_cv2)
    scale = factor * crowd.waiting / rate / full
    return scale * np.log(np.maximum(full / (1.0 - share), 1.0))


def _tpot(
    replica: Replica,
    rate: float,
    seen: NDArray[np.float64],
    prefill: Prefill,
    stalls: NDArray[np.float64],
    size: NDArray[np.float64],
    answer: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """TPOT in seconds and the number of decode steps of each point's answer.

    A plain step at the batch it sees, and what prompts add: those that arrived while its own was
    in its last step or waited behind it, and those that arrive while it decodes. Each makes that
    time longer, so that more arrive (a busy period): their number is `chain_quantiles`.
    """
    import numpy as np

    nodes = replica.traffic.output_nodes
    steps = nodes[(answer * len(nodes)).astype(int)] - 1.0
    plain = replica.table.plain(seen)
    extra = replica.prefill_seconds(rate, seen)
    ratio = np.minimum(rate * extra, 0.98)
    seeds = rate * (steps * plain + prefill.last) + prefill.behind / replica.traffic.new_tokens
    met = chain_quantiles(stalls, seeds, ratio)
    # Their work differs too (a busy period's variance), and a step takes no more than its budget.
    met += np.sqrt(met * replica.work_cv2) / (1.0 - ratio) * normal_quantiles(size)
    most = replica.table.at(seen, np.maximum(replica.budget - seen, 1.0)) - plain
    longer = np.clip(met * extra, 0.0, steps * most)
    return plain + longer / np.maximum(steps, 1.0), steps
