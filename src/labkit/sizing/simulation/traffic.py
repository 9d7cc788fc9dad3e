"""Who asks, when, and for how much: arrival processes, and the requests drawn from them.

Prompts, answers and arrival times come from three random streams of one seed, so two schedulers
(or two rates) meet the same prompts and answers.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labkit.sizing.checks import SizingError, require_count, require_fraction, require_positive
from labkit.sizing.lengths import Lengths

if TYPE_CHECKING:
    from labkit.sizing.inputs import Workload

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_REQUESTS = 10_000_000


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
        _require_rising(list(self.seconds))

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


@dataclass(frozen=True, slots=True)
class Requests:
    """What is asked, one entry a request in arrival order (int64 arrays of the same shape).

    prompt, output: tokens; cached: prompt tokens found in the prefix cache (below prompt).
    """

    prompt: Ints
    output: Ints
    cached: Ints
    feed: Feed

    @property
    def count(self) -> int:
        """How many requests there are."""
        return len(self.prompt)


@dataclass(frozen=True, slots=True)
class Traffic:
    """`requests` requests: their prompts, answers and arrivals.

    `prefix_hit_rate` of each prompt is in the prefix cache: memory, but no prefill.
    `max_model_len` cuts answers where prompt + output would pass it, as an engine does.
    """

    prompt: Lengths
    output: Lengths
    arrivals: Arrivals
    requests: int
    prefix_hit_rate: float = 0.0
    max_model_len: int | None = None

    def __post_init__(self) -> None:
        require_count("requests", self.requests)
        if self.requests > MOST_REQUESTS:
            raise SizingError(f"requests must be at most {MOST_REQUESTS:,}, not {self.requests:,}.")
        require_fraction("prefix_hit_rate", self.prefix_hit_rate, zero_ok=True)
        if self.max_model_len is not None and self.prompt.largest >= self.max_model_len:
            raise SizingError(
                f"The longest prompt ({self.prompt.largest} tokens) leaves no room for an answer "
                f"in max_model_len={self.max_model_len}."
            )

    @classmethod
    def of(cls, workload: Workload, requests: int, max_model_len: int | None = None) -> Traffic:
        """The traffic of a workload: Poisson at its rate, or all at once where it has none."""
        rate = workload.requests_per_second
        return cls(
            workload.prompts,
            workload.outputs,
            Burst() if rate is None else Poisson(rate),
            requests,
            workload.prefix_hit_rate,
            max_model_len,
        )

    def draw(self, seed: int) -> Requests:
        """The same requests for the same seed."""
        streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(3)]
        prompt = self.prompt.sample(streams[0], self.requests)
        output = self.output.sample(streams[1], self.requests)
        if self.max_model_len is not None:
            output = np.minimum(output, self.max_model_len - prompt)
        feed = self.arrivals.feed(streams[2], self.requests)
        return Requests(prompt, output, _hits(prompt, self.prefix_hit_rate), feed)


@dataclass(frozen=True, slots=True)
class Recorded:
    """Requests from a log: when they came (seconds, rising) and their prompt and output tokens."""

    seconds: tuple[float, ...]
    prompt: tuple[int, ...]
    output: tuple[int, ...]
    prefix_hit_rate: float = 0.0

    def __post_init__(self) -> None:
        _require_rising(list(self.seconds))
        if not len(self.seconds) == len(self.prompt) == len(self.output) >= 1:
            raise SizingError(
                "A recording needs as many times as prompts and outputs, and at least one, not "
                f"{len(self.seconds)}, {len(self.prompt)} and {len(self.output)}."
            )
        for name, values in (("prompt", self.prompt), ("output", self.output)):
            for value in values:
                require_count(f"{name} tokens", value)
        require_fraction("prefix_hit_rate", self.prefix_hit_rate, zero_ok=True)

    @property
    def requests(self) -> int:
        """How many requests there are."""
        return len(self.seconds)

    def draw(self, seed: int) -> Requests:
        """The recorded requests; nothing is random."""
        prompt = _int64(self.prompt)
        hits = _hits(prompt, self.prefix_hit_rate)
        return Requests(prompt, _int64(self.output), hits, OpenFeed(list(self.seconds)))


def _hits(prompt: Ints, rate: float) -> Ints:
    """Cached prompt tokens: at least one token must be computed to get the first answer token."""
    hits: Ints = np.minimum(np.rint(prompt * rate).astype(np.int64), prompt - 1)
    return hits


def _int64(values: ArrayLike) -> Ints:
    return np.asarray(values, dtype=np.int64)


def _require_rising(times: list[float]) -> None:
    before = 0.0
    for index, time in enumerate(times):
        if not math.isfinite(time) or time < before:
            raise SizingError(
                f"Arrival times must rise from 0 on, but number {index + 1} is {time!r}."
            )
        before = time
