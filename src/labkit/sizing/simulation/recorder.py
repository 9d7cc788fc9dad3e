"""What a running simulation writes down: token gaps, time integrals, token counts, slot spans."""

from __future__ import annotations

import heapq
import math

import numpy as np

from labkit.sizing.checks import SizingError
from labkit.sizing.simulation.result import Gaps, Timeline, Totals
from labkit.sizing.simulation.steps import DecodeRun


class Recorder:
    """Sums and lists that grow while a simulation runs; `totals`, `gaps`, `timeline` close them."""

    def __init__(self, slots: int, *, timeline: bool) -> None:
        self.steps = 0
        self.busy_seconds = 0.0
        self.slot_seconds = 0.0
        self.cached_token_seconds = 0.0
        self.computed_tokens = 0
        self.recomputed_tokens = 0
        self.padded_tokens = 0
        self._gap_first: list[float] = []
        self._gap_last: list[float] = []
        self._gap_steps: list[int] = []
        self._gap_sequences: list[int] = []
        self._spans: list[tuple[int, int, float, float, float, float]] | None = (
            [] if timeline else None
        )
        self._free_slots = list(range(slots)) if timeline else []
        self._open: dict[int, tuple[int, float, float]] = {}  # request -> slot, start, prefill end

    def step(self, seconds: float, *, slots: int, cached: int, tokens: int) -> None:
        """One step with prompt tokens in it: `slots` sequences held `cached` tokens."""
        _require_time(seconds)
        self.steps += 1
        self.busy_seconds += seconds
        self.slot_seconds += slots * seconds
        self.cached_token_seconds += cached * seconds
        self.computed_tokens += tokens

    def decode(self, run: DecodeRun, *, slots: int, sequences: int, cached: int) -> None:
        """A run of decode steps: cached tokens and step time both grow evenly."""
        n, seconds = run.steps, run.seconds
        _require_time(seconds)
        self.steps += n
        self.busy_seconds += seconds
        self.slot_seconds += slots * seconds
        self.computed_tokens += n * sequences
        # sum over j < n of (cached + sequences j)(first + slope j)
        slope = (run.last - run.first) / (n - 1) if n > 1 else 0.0
        ones, squares = n * (n - 1) / 2, (n - 1) * n * (2 * n - 1) / 6
        self.cached_token_seconds += (
            cached * run.first * n
            + (cached * slope + sequences * run.first) * ones
            + sequences * slope * squares
        )

    def gap(self, seconds: float, sequences: int = 1) -> None:
        """`sequences` answers each waited `seconds` for their next token."""
        self.gaps_of(DecodeRun(1, seconds, seconds), sequences)

    def gaps_of(self, run: DecodeRun, sequences: int) -> None:
        """Each step of the run was a gap between two tokens of `sequences` answers."""
        if sequences > 0:
            self._gap_first.append(run.first)
            self._gap_last.append(run.last)
            self._gap_steps.append(run.steps)
            self._gap_sequences.append(sequences)

    def enter(self, request: int, now: float) -> None:
        """A request gets the lowest free slot."""
        if self._spans is not None:
            self._open[request] = (heapq.heappop(self._free_slots), now, now)

    def prefilled(self, request: int, now: float) -> None:
        """Its prompt is in the cache."""
        if self._spans is not None:
            slot, start, _ = self._open[request]
            self._open[request] = (slot, start, now)

    def leave(self, request: int, now: float, useful_until: float | None = None) -> None:
        """It gives the slot back; what came after `useful_until` was padding."""
        if self._spans is not None:
            slot, start, prefilled = self._open.pop(request)
            heapq.heappush(self._free_slots, slot)
            useful = now if useful_until is None else useful_until
            self._spans.append((request, slot, start, prefilled, useful, now))

    def totals(self, *, seconds: float, peak_blocks: int) -> Totals:
        """The sums, at the end."""
        return Totals(
            steps=self.steps,
            seconds=seconds,
            busy_seconds=self.busy_seconds,
            slot_seconds=self.slot_seconds,
            cached_token_seconds=self.cached_token_seconds,
            computed_tokens=self.computed_tokens,
            recomputed_tokens=self.recomputed_tokens,
            padded_tokens=self.padded_tokens,
            peak_blocks=peak_blocks,
        )

    def gaps(self) -> Gaps:
        """Every gap between two tokens of an answer."""
        return Gaps(
            first=np.asarray(self._gap_first, dtype=np.float64),
            last=np.asarray(self._gap_last, dtype=np.float64),
            steps=np.asarray(self._gap_steps, dtype=np.int64),
            sequences=np.asarray(self._gap_sequences, dtype=np.int64),
        )

    def timeline(self) -> Timeline | None:
        """The spans, or None where they were not asked for."""
        if self._spans is None:
            return None
        table = sorted(self._spans, key=lambda span: (span[2], span[1]))
        request, slot, start, prefilled, useful, end = zip(*table, strict=True)
        return Timeline(
            request=np.asarray(request, dtype=np.int64),
            slot=np.asarray(slot, dtype=np.int64),
            start=np.asarray(start, dtype=np.float64),
            prefill_end=np.asarray(prefilled, dtype=np.float64),
            useful_end=np.asarray(useful, dtype=np.float64),
            end=np.asarray(end, dtype=np.float64),
        )


def _require_time(seconds: float) -> None:
    if not 0.0 < seconds < math.inf:
        raise SizingError(f"The step-time model gave {seconds!r} seconds; a step takes some time.")
