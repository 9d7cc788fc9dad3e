"""The requests of a simulation: drawn from lengths and an arrival process, or recorded.

Prompts, answers and arrival times come from three random streams of one seed, so two schedulers
(or two rates) meet the same prompts and answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labkit.sizing.checks import SizingError, require_count, require_fraction
from labkit.sizing.lengths import Lengths
from labkit.sizing.simulation.arrivals import (
    Arrivals,
    Burst,
    Feed,
    OpenFeed,
    Poisson,
    require_rising,
)

if TYPE_CHECKING:
    from labkit.sizing.inputs import Workload

Ints = NDArray[np.int64]
MOST_REQUESTS = 10_000_000


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
        require_rising(list(self.seconds))
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
