"""What a request finds on arrival, and how long its prefill then takes, at evenly spread points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.sizing.serving.backlog import backlog, reach_of
from labkit.sizing.serving.replica import Replica

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Found:
    """What each arrival finds: prompt tokens before and after it when the running step ends, and
    the seconds until then.
    """

    ahead: NDArray[np.float64]
    behind: NDArray[np.float64]
    running: NDArray[np.float64]


def on_arrival(
    replica: Replica,
    rate: float,
    sequences: NDArray[np.float64],
    state: NDArray[np.float64],
    elapsed: NDArray[np.float64],
    arrived: NDArray[np.float64],
    split: NDArray[np.float64],
) -> Found:
    """What is there at `rate` requests/s, for points that meet these `sequences`.

    The other arguments are shares in (0, 1): which backlog, how much of the running step is over,
    how much arrives during it, and how that is rounded to before and after.
    """
    import numpy as np

    busy = sequences[sequences > 0]
    usual = max(1.0, float(busy.mean())) if len(busy) else 1.0
    waiting = backlog(
        lambda tokens: replica.table.over_prompt(usual, tokens),
        rate,
        replica.work_nodes,
        max(1.0, replica.budget - usual),
        reach_of(
            replica.work_nodes,
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
    return Found(
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
class Prefill:
    """Seconds until the own prompt is done; of these the last step's; prompt tokens that then wait
    behind it.
    """

    seconds: NDArray[np.float64]
    last: NDArray[np.float64]
    behind: NDArray[np.float64]


def prefill_of(
    replica: Replica,
    sequences: NDArray[np.float64],
    tokens: NDArray[np.float64],
    behind: NDArray[np.float64],
) -> Prefill:
    """From a step's start to the end of the step that takes the last of `tokens`.

    Full steps first; what came behind fills up the last one.
    """
    import numpy as np

    room = np.maximum(replica.budget - sequences, 1.0)
    full = np.ceil(tokens / room - 1e-9) - 1.0
    wanted = tokens - full * room + behind
    last = replica.table.at(sequences, np.minimum(wanted, room))
    before = full * replica.table.at(sequences, room)
    return Prefill(before + last, last, np.maximum(wanted - room, 0.0))
