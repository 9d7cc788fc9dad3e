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
from labkit.sizing.serving.backlog import backlog, reach_of
from labkit.sizing.serving.points import chain_quantiles, normal_quantiles, spread_points
from labkit.sizing.serving.replica import Crowd, Replica

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


def latencies(replica: Replica, rate: float, crowd: Crowd, pooled: int, slo: SLO) -> Latencies:
    """Latencies at `rate` requests/s over `pooled` replicas with one queue (see `Replica`)."""
    import numpy as np

    each = rate / pooled
    state, elapsed, arrived, split, own, inside, stalls, size, answer = spread_points(9)

    sequences = crowd.at(inside)
    place = _place_wait(replica, each, replica.waiting_room(rate, pooled), inside)
    found = _on_arrival(replica, each, sequences, state, elapsed, arrived, split)
    prompts = _prompts(replica, own)
    nothing = np.zeros_like(prompts)
    alone = _prefill(replica, sequences, prompts, prompts, nothing)
    prefill = _prefill(replica, sequences, prompts, found.ahead + prompts, found.behind)
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
    """New prompt tokens at each share, between the nodes."""
    import numpy as np

    nodes = replica.traffic.prompt_nodes
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


@dataclass(frozen=True, slots=True)
class _Found:
    """What each arrival finds: prompt tokens before and after it when the running step ends, and
    the seconds until then.
    """

    ahead: NDArray[np.float64]
    behind: NDArray[np.float64]
    running: NDArray[np.float64]


def _on_arrival(
    replica: Replica,
    rate: float,
    sequences: NDArray[np.float64],
    state: NDArray[np.float64],
    elapsed: NDArray[np.float64],
    arrived: NDArray[np.float64],
    split: NDArray[np.float64],
) -> _Found:
    import numpy as np

    busy = sequences[sequences > 0]
    usual = max(1.0, float(busy.mean())) if len(busy) else 1.0
    waiting = backlog(
        lambda tokens: replica.table.over_prompt(usual, tokens),
        rate,
        replica.traffic.prompt_nodes,
        max(1.0, replica.budget - usual),
        reach_of(
            replica.traffic.prompt_nodes,
            replica.capacity_prompt_tokens,
            replica.capacity_prefill_share,
            replica.prompt_budget,
        ),
    )
    at = np.searchsorted(np.cumsum(waiting.shares), state)
    at = np.minimum(at, len(waiting.shares) - 1)
    coming = _row_quantiles(waiting.arrivals, at, arrived) * waiting.unit
    # Whole prompts came before or after: their number before is v x number, rounded at random.
    prompts = np.maximum(1.0, np.rint(coming / replica.traffic.new_tokens))
    before = coming * np.minimum(np.floor(prompts * elapsed + split) / prompts, 1.0)

    busy_engine = (at > 0) | (sequences > 0)
    lasts = replica.table.at(sequences, at * waiting.unit - waiting.left[at])
    return _Found(
        ahead=busy_engine * (waiting.left[at] + before),
        behind=busy_engine * (coming - before),
        running=busy_engine * (1.0 - elapsed) * lasts,
    )


def _row_quantiles(
    cumulative: NDArray[np.float64], rows: NDArray[np.int64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """For each point the quantile of its row of `cumulative` distributions, in bins."""
    import numpy as np

    size = cumulative.shape[1]
    # Rows end to end, each lifted by its number: one search finds all.
    lifted = (np.minimum(cumulative, 1.0) + np.arange(len(cumulative))[:, None]).ravel()
    found = np.searchsorted(lifted, shares + rows) - rows * size
    return np.asarray(np.clip(found, 0, size - 1), dtype=float)


@dataclass(frozen=True, slots=True)
class _Prefill:
    """Seconds until the own prompt is done; of these the last step's; prompt tokens that then wait
    behind it.
    """

    seconds: NDArray[np.float64]
    last: NDArray[np.float64]
    behind: NDArray[np.float64]


def _prefill(
    replica: Replica,
    sequences: NDArray[np.float64],
    own: NDArray[np.float64],
    tokens: NDArray[np.float64],
    behind: NDArray[np.float64],
) -> _Prefill:
    """From a step's start to the end of the step that takes the last of `tokens` (`own` the last).

    Full steps first; what came behind fills up the last one.
    """
    import numpy as np

    room = np.maximum(replica.budget - sequences, 1.0)
    full = np.ceil(tokens / room - 1e-9) - 1.0
    wanted = tokens - full * room + behind
    last = replica.table.at(sequences, np.minimum(wanted, room))
    before = full * replica.table.at(sequences, room)
    # The table knows mean pairs per token; a long prompt has more, a short one fewer.
    pairs = own * (replica.traffic.pairs_at(own) - replica.traffic.pairs_per_token)
    least = replica.table.plain(sequences)
    last = np.maximum(last + replica.table.seconds_per_pair * pairs, least)
    return _Prefill(before + last, last, np.maximum(wanted - room, 0.0))


def _tpot(
    replica: Replica,
    rate: float,
    seen: NDArray[np.float64],
    prefill: _Prefill,
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
    # Their lengths differ too, and a step takes no more than its budget.
    met += np.sqrt(met * replica.traffic.new_cv2) * normal_quantiles(size)
    most = replica.table.at(seen, np.maximum(replica.budget - seen, 1.0)) - plain
    longer = np.clip(met * extra, 0.0, steps * most)
    return plain + longer / np.maximum(steps, 1.0), steps
