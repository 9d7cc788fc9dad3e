"""Arrival processes: open (Poisson, even, all at once, recorded) and closed (users who wait)."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from labkit.sizing.checks import SizingError, require_count, require_positive


class Feed(Protocol):
    """The stream of arrivals while a simulation runs. Requests are numbered in arrival order."""

    @property
    def next_time(self) -> float:
        """When the next known request arrives; infinity where none is known."""

    def take(self) -> float:
        """The next request arrives now: its time."""

    def finished(self, now: float) -> None:
        """A request was answered at `now`."""


class Arrivals(Protocol):
    """How requests arrive."""

    def feed(self, rng: np.random.Generator, n: int) -> Feed:
        """The stream of `n` arrivals."""


class OpenFeed:
    """Arrival times that are known beforehand: nobody waits for an answer to ask again."""

    __slots__ = ("_next", "_times")

    def __init__(self, times: list[float]) -> None:
        self._times = times
        self._next = 0

    @property
    def next_time(self) -> float:
        """When the next request arrives; infinity after the last."""
        return self._times[self._next] if self._next < len(self._times) else math.inf

    def take(self) -> float:
        """The next request arrives now: its time."""
        self._next += 1
        return self._times[self._next - 1]

    def finished(self, now: float) -> None:
        """Nothing: users do not wait."""


class ClosedFeed:
    """Users who each ask again `think` seconds after their answer, until `n` were asked."""

    __slots__ = ("_coming", "_left", "_think")

    def __init__(self, users: int, n: int, think: list[float]) -> None:
        first = min(users, n)
        self._coming = [0.0] * first
        self._left = n - first
        self._think = think

    @property
    def next_time(self) -> float:
        """When the next user asks; infinity while all wait for answers."""
        return self._coming[0] if self._coming else math.inf

    def take(self) -> float:
        """The next request arrives now: its time."""
        return heapq.heappop(self._coming)

    def finished(self, now: float) -> None:
        """A user has the answer and starts to think."""
        if self._left:
            self._left -= 1
            heapq.heappush(self._coming, now + self._think[self._left])


@dataclass(frozen=True, slots=True)
class Poisson:
    """Independent arrivals at `requests_per_second` on average."""

    requests_per_second: float

    def __post_init__(self) -> None:
        require_positive("requests_per_second", self.requests_per_second)

    def feed(self, rng: np.random.Generator, n: int) -> Feed:
        """Exponential gaps."""
        gaps = rng.exponential(1.0 / self.requests_per_second, size=n)
        return OpenFeed(np.cumsum(gaps).tolist())


@dataclass(frozen=True, slots=True)
class Deterministic:
    """One arrival every 1 / `requests_per_second` seconds, the first at 0."""

    requests_per_second: float

    def __post_init__(self) -> None:
        require_positive("requests_per_second", self.requests_per_second)

    def feed(self, rng: np.random.Generator, n: int) -> Feed:
        """Even gaps; `rng` is left as it was."""
        return OpenFeed((np.arange(n) / self.requests_per_second).tolist())


@dataclass(frozen=True, slots=True)
class Burst:
    """Everything arrives at once: the saturated case."""

    def feed(self, rng: np.random.Generator, n: int) -> Feed:
        """All at time 0; `rng` is left as it was."""
        return OpenFeed([0.0] * n)


@dataclass(frozen=True, slots=True)
class Trace:
    """Arrivals at recorded times, in seconds from the start."""

    seconds: tuple[float, ...]

    def __post_init__(self) -> None:
        require_rising(list(self.seconds))

    def feed(self, rng: np.random.Generator, n: int) -> Feed:
        """The first `n` recorded times; `rng` is left as it was."""
        if n > len(self.seconds):
            raise SizingError(f"The trace has {len(self.seconds)} arrivals, not {n}.")
        return OpenFeed(list(self.seconds[:n]))


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """`users` who ask, wait for the answer, think and ask again.

    The time to think is exponential with mean `think_seconds`.
    """

    users: int
    think_seconds: float = 0.0

    def __post_init__(self) -> None:
        require_count("users", self.users)
        if not math.isfinite(self.think_seconds) or self.think_seconds < 0.0:
            raise SizingError(f"think_seconds must be at least 0, not {self.think_seconds!r}.")

    def feed(self, rng: np.random.Generator, n: int) -> Feed:
        """All users ask at time 0."""
        later = max(n - self.users, 0)
        return ClosedFeed(self.users, n, rng.exponential(self.think_seconds, size=later).tolist())


def require_rising(times: list[float]) -> None:
    """Raise `SizingError` unless the times are finite, not negative, and never fall."""
    before = 0.0
    for index, time in enumerate(times):
        if not math.isfinite(time) or time < before:
            raise SizingError(
                f"Arrival times must rise from 0 on, but number {index + 1} is {time!r}."
            )
        before = time
