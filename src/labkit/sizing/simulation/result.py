"""What a simulation found: per-request times, token gaps, utilisation, slot spans.

Times are seconds from the start of the run. TTFT = first token - arrival, E2E = finish - arrival,
TPOT = (finish - first token) / (output - 1), ITL = every single gap between two tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from labkit.contract.errors import UnknownNameError
from labkit.sizing.checks import SizingError

if TYPE_CHECKING:
    from labkit.sizing.inputs import SLO

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
PERCENTILES = (50.0, 90.0, 95.0, 99.0)
_GAP_RESOLUTION = 0.005  # a run of gaps is split into pieces that differ by at most this share


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps between tokens in runs: `steps` gaps from `first` to `last` seconds, for `sequences`."""

    first: Floats
    last: Floats
    steps: Ints
    sequences: Ints

    @property
    def count(self) -> int:
        """How many gaps there are."""
        return int(np.dot(self.steps, self.sequences))

    @property
    def mean(self) -> float:
        """Mean gap in seconds; NaN where there is none."""
        if not self.count:
            return float("nan")
        weights = self.steps * self.sequences
        return float(np.dot((self.first + self.last) / 2, weights) / weights.sum())

    def percentile(self, q: float) -> float:
        """The gap that `q` percent of the gaps do not exceed, within 0.5 %; NaN without gaps."""
        if not self.count:
            return float("nan")
        spread = np.abs(self.last - self.first) / np.minimum(self.first, self.last)
        pieces = np.maximum(np.ceil(spread / _GAP_RESOLUTION), 1).astype(np.int64)
        single = 2 * pieces > self.steps  # then each step is its own piece
        pieces = np.where(single, self.steps, pieces)
        run = np.repeat(np.arange(len(pieces)), pieces)
        piece = np.arange(len(run)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        steps_in = np.maximum(self.steps - 1, 1)[run]
        place = np.where(single[run], piece / steps_in, (piece + 0.5) / pieces[run])
        seconds = self.first[run] + (self.last - self.first)[run] * place
        weights = (self.steps * self.sequences)[run] / pieces[run]
        order = np.argsort(seconds, kind="stable")
        rising = np.cumsum(weights[order])
        found = int(np.searchsorted(rising, q / 100.0 * rising[-1] * (1 - 1e-12)))
        return float(seconds[order][min(found, len(order) - 1)])


@dataclass(frozen=True, slots=True)
class Timeline:
    """Who held which slot when, one entry a stay (arrays of the same shape, sorted by start).

    From `start` to `prefill_end` the prompt is worked on, to `useful_end` tokens are made, and
    from there to `end` the slot is held for nothing (static batching waits for the slowest). A
    request that was preempted has several stays.
    """

    request: Ints
    slot: Ints
    start: Floats
    prefill_end: Floats
    useful_end: Floats
    end: Floats


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a run.

    seconds: until the last answer. busy_seconds: steps. slot_seconds: time integral of the
    occupied slots; cached_token_seconds: of the cached tokens. computed_tokens: token positions
    that went through the model; of these, recomputed after a preemption, or padding.
    """

    steps: int
    seconds: float
    busy_seconds: float
    slot_seconds: float
    cached_token_seconds: float
    computed_tokens: int
    recomputed_tokens: int
    padded_tokens: int
    peak_blocks: int

    @property
    def useful_share(self) -> float:
        """Share of the computed token positions that were neither padding nor done twice."""
        waste = self.padded_tokens + self.recomputed_tokens
        return 1.0 - waste / self.computed_tokens


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """A finished run: arrays have one entry a request, in arrival order.

    slots and kv_tokens are the limits of the run (kv_tokens None: no limit).
    """

    prompt: Ints
    output: Ints
    arrival: Floats
    start: Floats
    first_token: Floats
    finish: Floats
    preemptions: Ints
    gaps: Gaps
    totals: Totals
    slots: int
    kv_tokens: int | None
    timeline: Timeline | None = None

    @property
    def ttft(self) -> Floats:
        """Seconds from arrival to the first token."""
        return self.first_token - self.arrival

    @property
    def wait(self) -> Floats:
        """Seconds from arrival to the first step that works on the request."""
        return self.start - self.arrival

    @property
    def e2e(self) -> Floats:
        """Seconds from arrival to the end of the answer."""
        return self.finish - self.arrival

    @property
    def tpot(self) -> Floats:
        """Seconds per output token after the first; answers of one token are left out."""
        many = self.output > 1
        return (self.finish - self.first_token)[many] / (self.output[many] - 1)

    def percentile(self, metric: str, q: float) -> float:
        """Seconds of "ttft", "tpot", "itl", "e2e" or "wait" that `q` percent do not exceed."""
        if not 0.0 < q <= 100.0:
            raise SizingError(f"A percentile must lie above 0 and at most at 100, not {q!r}.")
        if metric == "itl":
            return self.gaps.percentile(q)
        if metric not in _METRICS:
            raise UnknownNameError("latency metric", metric, (*_METRICS, "itl"))
        values: Floats = getattr(self, metric)
        if not len(values):
            return float("nan")
        return float(np.percentile(values, q, method="inverted_cdf"))

    @property
    def requests_per_second(self) -> float:
        """Answers per second over the whole run, filling and emptying included."""
        return len(self.finish) / self.totals.seconds

    @property
    def output_tokens_per_second(self) -> float:
        """Output tokens per second over the whole run, filling and emptying included."""
        return float(self.output.sum()) / self.totals.seconds

    def steady_output_tokens_per_second(self, skip: float = 0.2) -> float:
        """Output tokens of answers that end in the middle of the run, per second of it.

        The first and the last `skip` share of the finishes are left out: the batch fills and
        empties there. A window counts whole answers, so it wants many.
        """
        order = np.argsort(self.finish, kind="stable")
        n = len(order)
        low, high = int(n * skip), n - 1 - int(n * skip)
        if not 0.0 < skip < 0.5 or low >= high:
            raise SizingError(f"skip={skip!r} leaves no steady part of {n} requests.")
        seconds = self.finish[order[high]] - self.finish[order[low]]
        if seconds <= 0.0:
            raise SizingError(
                "All answers of the middle part end at once; there is no steady part."
            )
        return float(self.output[order[low + 1 : high + 1]].sum() / seconds)

    @property
    def mean_running(self) -> float:
        """Time average of the occupied slots while the engine works."""
        return self.totals.slot_seconds / self.totals.busy_seconds

    @property
    def slot_utilisation(self) -> float:
        """Share of all slots x all the time that was occupied."""
        return self.totals.slot_seconds / (self.slots * self.totals.seconds)

    @property
    def kv_utilisation(self) -> float | None:
        """Share of the cache's token places x all the time that held a token; None: no limit."""
        if self.kv_tokens is None:
            return None
        return self.totals.cached_token_seconds / (self.kv_tokens * self.totals.seconds)

    def met(self, slo: SLO) -> NDArray[np.bool_]:
        """Which requests kept every promise of `slo` (an answer of one token has no TPOT)."""
        kept = np.ones(len(self.finish), dtype=np.bool_)
        if slo.ttft_ms is not None:
            kept &= self.ttft * 1e3 <= slo.ttft_ms
        if slo.tpot_ms is not None:
            per_token = (self.finish - self.first_token) / np.maximum(self.output - 1, 1)
            kept &= per_token * 1e3 <= slo.tpot_ms
        return kept

    def goodput(self, slo: SLO) -> float:
        """Requests per second that kept every promise."""
        return float(self.met(slo).sum()) / self.totals.seconds

    def holds(self, slo: SLO) -> bool:
        """Whether the promised percentile of the requests kept every promise."""
        return float(self.met(slo).mean()) * 100.0 >= slo.percentile

    def after(self, requests: int) -> SimulationResult:
        """The run without its first `requests` requests, for latencies once it is warm.

        Only the per-request arrays are cut: gaps, totals and timeline stay those of all.
        """
        if not 0 <= requests < len(self.finish):
            raise SizingError(f"Cannot leave out {requests} of {len(self.finish)} requests.")
        names = ("prompt", "output", "arrival", "start", "first_token", "finish", "preemptions")
        return replace(self, **{name: getattr(self, name)[requests:] for name in names})

    def summary(self) -> dict[str, float | int | None]:
        """The figures of the run by name; latencies in ms, NaN as None."""
        found: dict[str, float | int | None] = {
            "requests": len(self.finish),
            "seconds": self.totals.seconds,
            "requests_per_s": self.requests_per_second,
            "output_tokens_per_s": self.output_tokens_per_second,
            "mean_running": self.mean_running,
            "slot_utilisation": self.slot_utilisation,
            "kv_utilisation": self.kv_utilisation,
            "useful_share": self.totals.useful_share,
            "preemptions": int(self.preemptions.sum()),
            "steps": self.totals.steps,
        }
        for metric in ("ttft", "tpot", "itl", "e2e"):
            for q in PERCENTILES:
                value = self.percentile(metric, q) * 1e3
                found[f"{metric}_p{q:g}_ms"] = None if np.isnan(value) else value
        return found


_METRICS = ("ttft", "tpot", "e2e", "wait")
