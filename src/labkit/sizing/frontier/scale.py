"""Logarithmic axes: where a value stands in the frame, and which ticks it gets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_PADDING = 0.08  # of the span, on both sides
_DIGITS = ((1.0,), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0))
_LEAST_SPAN = math.log10(2.0)  # one point alone still gets an axis


@dataclass(frozen=True, slots=True)
class LogScale:
    """Maps values from `low` to `high` on pixels from `start` to `stop`."""

    low: float
    high: float
    start: float
    stop: float

    def at(self, value: float) -> float:
        """The pixel of a value."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.stop - self.start)

    @property
    def ticks(self) -> tuple[float, ...]:
        """Powers of ten inside; where these are few, 1, 2 and 5 times them, then more digits."""
        for digits in _DIGITS:
            found = self._multiples(digits)
            if len(found) >= 3:
                return found
        return found if len(found) >= 2 else (self.low, self.high)

    def _multiples(self, digits: Sequence[float]) -> tuple[float, ...]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        values = {
            float(f"{digit:g}e{power}") for power in range(first, last + 1) for digit in digits
        }
        return tuple(sorted(v for v in values if self.low <= v <= self.high))


def log_scale(values: Sequence[float], start: float, stop: float) -> LogScale:
    """An axis that holds all values with some room. Values must be above 0."""
    low, high = math.log10(min(values)), math.log10(max(values))
    middle, span = (low + high) / 2, max(high - low, _LEAST_SPAN)
    half = span * (0.5 + _PADDING)
    return LogScale(10 ** (middle - half), 10 ** (middle + half), start, stop)
