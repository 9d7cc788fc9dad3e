"""What a replica does at a batch limit and a load, in closed form, for many lanes at once.

An option is a lane with a batch limit (`max_num_seqs`). All arrays are (lanes, options, 1).

- A sequence's tokens wait for the prefills of the others: with n in flight a token after the first
  takes on average step + (n - 1) x prefill / (output - 1) (the served TPOT).
- A new prompt waits for the step that runs, then for its own prefill.
- In flight at a rate: the n at which n / (n x prefill + (output - 1) x step(n)) is that rate. The
  number changes from moment to moment; at percentile p it is taken as n + z(p) x sqrt(n), as
  independent arrivals give, and never above the batch limit.
- Where all places are taken a request waits: Sakasegawa's form of Erlang C (1977), P(wait) =
  rho^(sqrt(2(c + 1)) - 1), exponential with mean 1 / (capacity - rate). It is exact for one place.
  Answers of equal length wait about half as long, so this errs on the safe side.
- Prompts queue for each other's prefills: with r = rate x prefill the wait exceeds t with
  probability r exp(-2 (1 - r) t / prefill), the tail of a queue with one server and equal times.

`plan_fleet` has the distributions instead; this form is what a whole catalogue can be ranked by.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from labkit.sizing.grid import Answers, Loads, Range, evaluate, middle_seconds
from labkit.sizing.lanes import Stack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HIGHEST = 0.98  # of capacity: nearer to it a queue takes hours to settle
_HALVINGS = 18  # to 4 millionths of the range


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds at a number in flight: of a step, and as requests meet them (see the module)."""

    tpot: Range
    ttft: Range
    served_tpot: Range
    e2e: Range
    bound: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Promise:
    """What must hold, in ms (infinite: nothing promised), at a share of requests."""

    ttft_ms: float
    tpot_ms: float
    percentile: float

    @property
    def z(self) -> float:
        """The standard normal's quantile at that share, at least 0."""
        return max(0.0, NormalDist().inv_cdf(self.percentile / 100.0))


def times(stack: Stack, in_flight: Floats, load: Loads) -> Times:
    """The times with so many sequences in flight (real numbers above 0 are welcome)."""
    return times_of(evaluate(stack, in_flight, load), in_flight, load)


def times_of(answers: Answers, in_flight: Floats, load: Loads) -> Times:
    """The same from answers that are there already."""
    prefill, step = answers.ttft_ms, answers.tpot_ms
    others = np.maximum(in_flight - 1.0, 0.0)
    more = load.output - 1.0

    def ends(work: str) -> tuple[Floats, Floats, Floats]:
        first, then = getattr(prefill, work), getattr(step, work)
        served = then + others * first / np.maximum(more, 1.0)
        ttft = first + np.minimum(others, 1.0) * then
        return ttft, served, ttft + more * served

    low, mid, high = (ends(work) for work in ("low", "mid", "high"))
    ttft, served, e2e = (Range(*band) for band in zip(low, mid, high, strict=True))
    return Times(step, ttft, served, e2e, answers.bound)


def largest_batch(stack: Stack, load: Loads, most: Floats, promise: Promise) -> Floats:
    """The largest whole batch up to `most` at which the promise holds; 0 where 1 breaks it.

    Times grow with the batch, so it is found by halving. `most` is (lanes, 1, 1), whole numbers;
    0 stands for lanes that do not run or are not timed.
    """
    prefill, step = middle_seconds(stack, load)
    further = load.output - 1.0

    def holds(batch: Floats) -> NDArray[np.bool_]:
        then, others = step(np.maximum(batch, 1.0)), np.maximum(batch - 1.0, 0.0)
        ttft = (prefill + np.minimum(others, 1.0) * then) * 1e3 <= promise.ttft_ms
        served = (then + others * prefill / np.maximum(further, 1.0)) * 1e3 <= promise.tpot_ms
        return np.asarray(ttft & (served | (further <= 0)))

    low, high = np.zeros_like(most), np.maximum(most, 0.0) + 1.0  # high: does not hold
    while bool((high - low > 1.0).any()):
        middle = np.floor((low + high) / 2.0)
        good = holds(middle) & (middle >= 1.0)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
        high = np.maximum(high, low + 1.0)
    return low


@dataclass(frozen=True, slots=True)
class Queue:
    """One replica: the most it makes (requests/s), its batch limit, and seconds per prefill."""

    capacity: Floats
    places: Floats
    prefill: Floats

    def wait_seconds(self, rate: Floats, percentile: float) -> Floats:
        """Seconds a request waits before its own prefill, at that percentile (see the module)."""
        beyond = 1.0 - percentile / 100.0
        rho = np.minimum(rate / self.capacity, 1.0 - 1e-9)
        full = np.maximum(rho ** (np.sqrt(2.0 * (self.places + 1.0)) - 1.0), 1e-300)
        place = np.maximum(np.log(full / beyond), 0.0) / (self.capacity * (1.0 - rho))
        busy = np.clip(rate * self.prefill, 1e-300, 1.0 - 1e-9)
        ahead = np.maximum(np.log(busy / beyond), 0.0) * self.prefill / (2.0 * (1.0 - busy))
        return np.asarray(place + ahead)

    def goodput(self, ttft_ms: Floats, promise: Promise) -> Floats:
        """The highest rate, requests/s, at which the TTFT with its wait keeps the promise.

        ttft_ms: at the full batch, without the wait. At most `HIGHEST` of the capacity.
        """
        top = HIGHEST * np.ones_like(self.capacity)
        if promise.ttft_ms == inf:
            return top * self.capacity
        slack = (promise.ttft_ms - ttft_ms) / 1e3

        def fine(share: Floats) -> NDArray[np.bool_]:
            return self.wait_seconds(share * self.capacity, promise.percentile) <= slack

        low, high, easy = np.zeros_like(top), top, fine(top)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            good = fine(middle)
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        return np.where(easy, top, low) * self.capacity


def in_flight(stack: Stack, load: Loads, rate: Floats, most: Floats) -> Floats:
    """Mean sequences in flight on a replica at `rate` requests/s; `most`: its batch limit."""
    prefill, step = middle_seconds(stack, load)
    low, high = np.zeros_like(most), most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        enough = middle >= rate * (middle * prefill + (load.output - 1.0) * step(middle))
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(high)


def at_percentile(mean: Floats, most: Floats, promise: Promise) -> Floats:
    """The number in flight that is not exceeded at the promise's percentile, from 1 to `most`."""
    return np.clip(mean + promise.z * np.sqrt(mean), 1.0, most)
