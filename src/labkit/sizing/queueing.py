"""Queues in steady state: Erlang B and C, M/M/c, M/G/c, and servers whose speed varies by load.

Times in seconds, rates per second. All closed forms; none draws a random number. They are exact
for M/M/c and for M/G/1; for M/G/c no closed form exists, and Kimura's two-moment formula stands
for it. An overloaded queue has no steady state: the functions raise `SizingError`.

Sources: Erlang (1917) for B and C; Pollaczek-Khinchine for M/G/1; Allen, "Probability, Statistics
and Queueing Theory" (1990) for the Allen-Cunneen factor; Cosmetatos (1975) for M/D/c; Kimura,
"A two-moment approximation for the mean waiting time in the GI/G/s queue" (1986).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.sizing.checks import SizingError, require_count, require_positive

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Wait:
    """The waiting time before service: `probability` that there is one, and its mean over all.

    Those who wait do so for an exponential time of mean `mean / probability`: exact for M/M/c,
    and the usual approximation for M/G/c.
    """

    probability: float
    mean: float

    @property
    def mean_of_those_who_wait(self) -> float:
        """Mean wait in seconds given that there is one; 0 where nobody waits."""
        return self.mean / self.probability if self.probability > 0 else 0.0

    def tail(self, seconds: float) -> float:
        """The share of arrivals that wait longer than `seconds` (at 0: that wait at all)."""
        scale = self.mean_of_those_who_wait
        return self.probability * math.exp(-seconds / scale) if scale > 0 else 0.0

    def percentile(self, percent: float) -> float:
        """Seconds that `percent` % of arrivals wait at most: 0 where so many do not wait."""
        left = 1.0 - _share(percent)
        if self.probability <= left:
            return 0.0
        return self.mean_of_those_who_wait * math.log(self.probability / left)


def erlang_b(servers: int, offered: float) -> float:
    """The share of arrivals that find all of `servers` busy where nobody may wait.

    `offered` = arrival rate x service time, in erlangs. The recursion
    B(k) = aB(k-1) / (k + aB(k-1)) adds only positive numbers, so it holds for any size.
    """
    require_count("servers", servers)
    _require_load(offered)
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = offered * blocked / (k + offered * blocked)
    return blocked


def erlang_c(servers: int, offered: float) -> float:
    """The share of arrivals that must wait where they queue: C = B / (1 - rho(1 - B)).

    Raises `SizingError` for offered >= servers. Two servers at 1 erlang: 1/3.
    """
    blocked = erlang_b(servers, offered)
    rho = _utilisation(servers, offered)
    return blocked / (1.0 - rho * (1.0 - blocked))


def mm_c_wait(arrival_rate: float, service_seconds: float, servers: int) -> Wait:
    """M/M/c: mean wait = C x service / (servers - offered)."""
    offered = _offered(arrival_rate, service_seconds)
    probability = erlang_c(servers, offered)
    return Wait(probability, probability * service_seconds / (servers - offered))


def allen_cunneen_wait(
    arrival_rate: float,
    service_seconds: float,
    servers: int,
    service_cv2: float,
    arrival_cv2: float = 1.0,
) -> Wait:
    """G/G/c by one factor: M/M/c's wait x (arrival cv2 + service cv2) / 2.

    cv2 is variance / mean squared: 0 for a constant, 1 for Poisson arrivals or exponential service.
    """
    exponential = mm_c_wait(arrival_rate, service_seconds, servers)
    factor = (_cv2("arrival_cv2", arrival_cv2) + _cv2("service_cv2", service_cv2)) / 2
    return Wait(exponential.probability, exponential.mean * factor)


def mg_c_wait(
    arrival_rate: float, service_seconds: float, servers: int, service_cv2: float
) -> Wait:
    """M/G/c after Kimura: between M/M/c and M/D/c by the service time's squared variation.

    W = (1 + cv2) / (2 cv2 / W(M/M/c) + (1 - cv2) / W(M/D/c)). One server gives
    Pollaczek-Khinchine exactly. See `deterministic_share` for W(M/D/c).
    """
    exponential = mm_c_wait(arrival_rate, service_seconds, servers)
    rho = _offered(arrival_rate, service_seconds) / servers
    return Wait(
        exponential.probability,
        exponential.mean * kimura_factor(servers, rho, _cv2("service_cv2", service_cv2)),
    )


def kimura_factor(servers: int, rho: float, service_cv2: float) -> float:
    """W(M/G/c) / W(M/M/c) after Kimura; (1 + cv2) / 2 on one server."""
    constant = deterministic_share(servers, rho)
    return (1.0 + service_cv2) / (2.0 * service_cv2 + (1.0 - service_cv2) / constant)


def deterministic_share(servers: int, rho: float) -> float:
    """W(M/D/c) / W(M/M/c): 1/2 on one server or near saturation, c/(c+1) in light traffic.

    Cosmetatos: (1 + (1 - rho)(c - 1)(sqrt(4 + 5c) - 2) / (16 rho c)) / 2, held at its exact
    light-traffic limit c/(c+1), beyond which the formula would rise without bound.
    """
    limit = servers / (servers + 1)
    if rho <= 0.0:
        return limit
    bend = (servers - 1) * (math.sqrt(4 + 5 * servers) - 2) / (16 * servers)
    return min(limit, (1.0 + bend * (1.0 - rho) / rho) / 2)


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many are in a system: `probabilities[n]` for n = 0 … places, then a geometric tail.

    `beyond` is the share of time with somebody queued for a place: each further one in the queue
    is `ratio` times as likely as the one before.
    """

    probabilities: NDArray[np.float64]
    ratio: float

    @property
    def places(self) -> int:
        """How many are served at once at most."""
        return len(self.probabilities) - 1

    @property
    def full(self) -> float:
        """The share of time, and of Poisson arrivals, that finds every place taken."""
        return float(self.probabilities[-1]) / (1.0 - self.ratio)

    @property
    def queued(self) -> float:
        """Mean number waiting for a place."""
        last = float(self.probabilities[-1])
        return last * self.ratio / (1.0 - self.ratio) ** 2

    @property
    def served(self) -> float:
        """Mean number in a place."""
        inside = sum(n * float(p) for n, p in enumerate(self.probabilities))
        return inside + self.places * (self.full - float(self.probabilities[-1]))

    def in_places(self) -> NDArray[np.float64]:
        """The distribution of the number in a place: the tail is added to `places`."""
        inside = self.probabilities.copy()
        inside[-1] = self.full
        return inside


def load_dependent(
    arrival_rate: float, departure_rates: Sequence[float] | NDArray[np.float64]
) -> Occupancy:
    """Poisson arrivals at a system that finishes `departure_rates[n - 1]` a second with n inside.

    Beyond the last entry it stays at that rate and the rest queue. This is Erlang's argument with
    a rate of its own for each number: p(n) = p(n - 1) x arrival / departure(n). Where the ones
    inside share the server evenly (a batch of sequences that all get their next token in the same
    step) and nobody queues, p depends on the mean service only, not on its distribution
    (insensitivity of processor sharing: Cohen 1979). In logarithms, so that thousands of places
    neither underflow nor overflow. Raises `SizingError` where the last rate is too slow.
    """
    import numpy as np

    require_positive("arrival_rate", arrival_rate)
    rates = np.asarray(departure_rates, dtype=float)
    if rates.size == 0 or not bool(np.all(rates > 0)):
        raise SizingError("Every departure rate must be above 0, and there must be one.")
    ratio = arrival_rate / float(rates[-1])
    if ratio >= 1.0:
        raise _overloaded(ratio)
    logs = np.concatenate(([0.0], np.cumsum(math.log(arrival_rate) - np.log(rates))))
    logs -= logs.max()
    weights = np.exp(logs)
    total = weights.sum() + weights[-1] * ratio / (1.0 - ratio)
    return Occupancy(weights / total, ratio)


def _offered(arrival_rate: float, service_seconds: float) -> float:
    require_positive("arrival_rate", arrival_rate)
    require_positive("service_seconds", service_seconds)
    return arrival_rate * service_seconds


def _utilisation(servers: int, offered: float) -> float:
    rho = offered / servers
    if rho >= 1.0:
        raise _overloaded(rho)
    return rho


def _overloaded(rho: float) -> SizingError:
    return SizingError(f"Offered load is {rho:.3g} of what can be served: the queue never settles.")


def _require_load(offered: float) -> None:
    if not math.isfinite(offered) or offered < 0.0:
        raise SizingError(f"offered must be a number of at least 0, not {offered!r}.")


def _cv2(name: str, value: float) -> float:
    if not math.isfinite(value) or value < 0.0:
        raise SizingError(f"{name} must be a number of at least 0, not {value!r}.")
    return value


def _share(percent: float) -> float:
    if not 0.0 < percent < 100.0:
        raise SizingError(f"percentile must lie between 0 and 100, not {percent!r}.")
    return percent / 100.0
