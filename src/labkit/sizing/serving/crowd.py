"""How many sequences a replica has in flight: the distribution, and who waits for a place.

Every sequence in flight gets one token a step, so the batch shares the engine evenly: a queue
with processor sharing whose speed depends on how many are inside. With n sequences decoding, d(n)
seconds a plain step, L decode steps per request and e(n) seconds that a request's prefill adds to
the steps that carry it, requests leave at

    departures(n) = (1 - rate x e(n)) x n / (L x d(n)),

and `queueing.load_dependent` gives the share of time with n inside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.sizing.checks import SizingError
from labkit.sizing.queueing import Occupancy, load_dependent
from labkit.sizing.serving.replica import Replica

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_POOLED_PLACES = 20_000  # more places in one queue than that: waiting is as good as gone


@dataclass(frozen=True, slots=True)
class Crowd:
    """An occupancy that counts units of `unit` sequences of one replica, of `copies` replicas."""

    occupancy: Occupancy
    unit: float
    copies: int

    @property
    def sequences(self) -> float:
        """Mean number decoding on one replica."""
        return self.occupancy.served * self.unit

    @property
    def waiting(self) -> float:
        """Mean number of requests that wait for a place, per replica."""
        return self.occupancy.queued * self.unit

    @property
    def full(self) -> float:
        """The share of requests that find every place taken."""
        return self.occupancy.full

    def at(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sequences on one replica at each share of the distribution."""
        import numpy as np

        rising = np.cumsum(self.occupancy.in_places())
        found = np.searchsorted(rising, shares, side="right")
        return np.asarray(np.minimum(found, self.occupancy.places) * self.unit)


def occupancy(replica: Replica, rate: float, pooled: int = 1) -> Crowd:
    """The distribution of sequences in flight at `rate` requests/s, below capacity.

    pooled: replicas that share one queue, `rate` being that of all together. Raises `SizingError`
    at or above their capacity.
    """
    return _crowd(replica, rate, pooled, 1.0)


def waiting_room(replica: Replica, rate: float, pooled: int = 1) -> Crowd:
    """The same, as those see it who wait for a place.

    Where the KV cache is what gets full, tokens count and not sequences, and tokens vary more:
    by 1 + cv2 of a sequence's tokens in variance. That many sequences are one unit then.
    """
    unit = 1.0 + replica.traffic.context_cv2 if replica.kv_bound else 1.0
    return _crowd(replica, rate, pooled, min(unit, float(replica.places)))


def departures(
    replica: Replica, rate: float, sequences: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Requests/s that one replica finishes with each number of sequences in flight."""
    import numpy as np

    plain = replica.table.plain(sequences)
    free = np.maximum(1.0 - rate * replica.prefill_seconds(rate, sequences), 1e-3)
    decoding = np.maximum(replica.traffic.decode_steps * plain, 1e-9 / replica.capacity)
    return np.asarray(free * sequences / decoding)


def _crowd(replica: Replica, rate: float, pooled: int, unit: float) -> Crowd:
    """At most 20,000 units are modelled: a larger pool is taken as one of that size."""
    import numpy as np

    each, places = rate / pooled, replica.places
    if each >= replica.capacity:
        raise SizingError(
            f"{each:.4g} requests/s are more than the {replica.capacity:.4g} that one replica "
            "can keep up."
        )
    copies = min(pooled, max(1, _POOLED_PLACES // places))
    units = max(1, math.floor(copies * places / unit))
    inside = np.arange(1.0, units + 1.0) * (places / units)
    speed = departures(replica, each, inside)
    # With a queue, the next prompt comes when a sequence ends, not at the offered rate.
    speed[-1] = max(replica.capacity, each * (1 + 1e-9))
    scale = units / places
    return Crowd(load_dependent(each * scale, scale * speed), places / units, copies)
