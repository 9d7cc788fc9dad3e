"""Step times as the simulator uses them, and many decode steps summed at once.

Between two events (an arrival, a finish, blocks running out) the batch stays the same and every
sequence gains one cached token per step. Where the step time is affine in the cached tokens, n
steps last n x (first + last) / 2 seconds; `decode_runs` finds those stretches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from labkit.sizing.checks import SizingError

_AFFINE = 1e-12  # relative; far above rounding, far below what a kink in the curve does


class StepTimes(Protocol):
    """Anything that knows how long one engine step lasts, such as the engine's `StepModel`."""

    def mixed_seconds(
        self,
        prefill_tokens: int,
        prefill_pairs: float,
        decode_sequences: int,
        decode_tokens: int,
    ) -> float:
        """Seconds of one step.

        prefill_tokens: new prompt tokens in all. prefill_pairs: sum over the prompts (or chunks)
        of tokens x cached + tokens^2 / 2. decode_sequences: sequences that get one token each.
        decode_tokens: the sum of their cached tokens.
        """


@dataclass(frozen=True, slots=True)
class AffineSteps:
    """A step time that is a plain sum: for lessons and tests, where every term must be in sight.

    step: seconds of any step; the rest: seconds per prompt token, per query-key pair of the
    prefill, per decoding sequence, and per cached token that decoding reads.
    """

    step: float
    per_prefill_token: float = 0.0
    per_prefill_pair: float = 0.0
    per_sequence: float = 0.0
    per_cached_token: float = 0.0

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0.0:
                raise SizingError(f"{name} must be at least 0 seconds, not {value!r}.")
        if self.step <= 0.0:
            raise SizingError("step must be above 0 seconds: an engine step always takes time.")

    def mixed_seconds(
        self,
        prefill_tokens: int,
        prefill_pairs: float,
        decode_sequences: int,
        decode_tokens: int,
    ) -> float:
        """Seconds of one step: the sum of its terms."""
        return (
            self.step
            + self.per_prefill_token * prefill_tokens
            + self.per_prefill_pair * prefill_pairs
            + self.per_sequence * decode_sequences
            + self.per_cached_token * decode_tokens
        )


def prompt_pairs(new_tokens: int, cached_tokens: int) -> float:
    """Query-key pairs of one prompt or chunk: tokens x cached + tokens^2 / 2."""
    return new_tokens * cached_tokens + new_tokens * new_tokens / 2


class DecodeRun(NamedTuple):
    """`steps` decode steps in a row whose seconds go evenly from `first` to `last`."""

    steps: int
    first: float
    last: float

    @property
    def seconds(self) -> float:
        """The sum of the step times."""
        return self.steps * (self.first + self.last) / 2

    def cut(self, seconds: float) -> DecodeRun:
        """As few steps of the run as last at least `seconds` (all of them where none do)."""
        if self.steps == 1 or self.seconds < seconds:
            return self
        slope = (self.last - self.first) / (self.steps - 1)
        # n steps sum to n first + slope n (n - 1) / 2: solve for n, then settle the rounding.
        b = self.first - slope / 2
        root = math.sqrt(max(b * b + 2 * slope * seconds, 0.0))
        guess = 2 * seconds / (b + root) if b + root > 0.0 else self.steps
        n = min(max(math.ceil(guess), 1), self.steps)
        while n > 1 and self._sum(n - 1, slope) >= seconds:
            n -= 1
        while n < self.steps and self._sum(n, slope) < seconds:
            n += 1
        return DecodeRun(n, self.first, self.first + slope * (n - 1))

    def _sum(self, n: int, slope: float) -> float:
        return n * self.first + slope * n * (n - 1) / 2


def decode_runs(
    times: StepTimes, sequences: int, cached: int, steps: int, seconds: float = math.inf
) -> Iterator[DecodeRun]:
    """Up to `steps` decode steps of an unchanging batch, as runs of evenly changing step times.

    `cached` counts the sequences' cached tokens before the first step; each step adds one per
    sequence. Stops after the step that brings the sum to `seconds`. A stretch counts as even when
    a point inside lies on the line between its ends, which proves it for every convex or concave
    step time; else it is halved, in the worst case down to single steps.
    """

    def step_seconds(index: int) -> float:
        return times.mixed_seconds(0, 0.0, sequences, cached + sequences * index)

    left = seconds
    # Stretches still to do, the next one on top: (first index, steps, seconds first, seconds last).
    first = step_seconds(0)
    stack = [(0, steps, first, step_seconds(steps - 1) if steps > 1 else first)]
    while stack and left > 0.0:
        start, n, first, last = stack.pop()
        if n > 2:
            middle = (n - 1) // 2
            inside = step_seconds(start + middle)
            line = first + (last - first) * middle / (n - 1)
            if abs(inside - line) > _AFFINE * inside:
                stack.append((start + middle, n - middle, inside, last))
                before = step_seconds(start + middle - 1) if middle > 1 else first
                stack.append((start, middle, first, before))
                continue
        run = DecodeRun(n, first, last).cut(left)
        left -= run.seconds
        yield run
