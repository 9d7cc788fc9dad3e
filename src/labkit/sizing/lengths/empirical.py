"""Token lengths that were seen: a list of values with weights, for example from a log."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING

from labkit.sizing.checks import SizingError, require_share, require_tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Empirical:
    """Lengths that were seen, each with its weight (a count or a share; None: all the same)."""

    values: tuple[int, ...]
    weights: tuple[float, ...] | None = None
    shares: tuple[float, ...] = field(init=False, repr=False, compare=False)
    _rising: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.values:
            raise SizingError("An empirical length needs at least one value.")
        given = self.weights if self.weights is not None else (1.0,) * len(self.values)
        if len(given) != len(self.values):
            raise SizingError(
                f"Every length needs one weight: {len(self.values)} lengths, {len(given)} weights."
            )
        for value, weight in zip(self.values, given, strict=True):
            require_tokens("An empirical length", value)
            if not math.isfinite(weight) or weight < 0.0:
                raise SizingError(f"The weight of {value} tokens must be at least 0, not {weight}.")
        total = math.fsum(given)
        if total <= 0.0:
            raise SizingError("At least one length must have a weight above 0.")
        seen = sorted(zip(self.values, given, strict=True))
        shares = tuple(weight / total for _, weight in seen)
        object.__setattr__(self, "values", tuple(value for value, _ in seen))
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(weight for _, weight in seen))
        object.__setattr__(self, "shares", shares)
        object.__setattr__(self, "_rising", (*tuple(accumulate(shares))[:-1], 1.0))

    @classmethod
    def of(cls, lengths: Iterable[int]) -> Empirical:
        """The distribution of observed lengths, for example a log's `prompt_tokens`."""
        counts: dict[int, float] = {}
        for length in lengths:
            counts[int(length)] = counts.get(int(length), 0.0) + 1.0
        return cls(tuple(counts), tuple(counts.values()))

    @property
    def mean(self) -> float:
        """Weighted mean."""
        return math.fsum(v * s for v, s in zip(self.values, self.shares, strict=True))

    @property
    def variance(self) -> float:
        """Weighted variance (of the population, not a sample's estimate)."""
        mean = self.mean
        return math.fsum((v - mean) ** 2 * s for v, s in zip(self.values, self.shares, strict=True))

    @property
    def smallest(self) -> int:
        """The shortest length with a weight."""
        return next(v for v, s in zip(self.values, self.shares, strict=True) if s > 0.0)

    @property
    def largest(self) -> int:
        """The longest length with a weight."""
        pairs = zip(reversed(self.values), reversed(self.shares), strict=True)
        return next(v for v, s in pairs if s > 0.0)

    @property
    def text(self) -> str:
        """For example "values:128=0.7,2048=0.3"."""
        pairs = zip(self.values, self.shares, strict=True)
        return "values:" + ",".join(f"{value}={share:.10g}" for value, share in pairs)

    def cdf(self, tokens: float) -> float:
        """P(length <= tokens)."""
        below = bisect.bisect_right(self.values, tokens)
        return self._rising[below - 1] if below else 0.0

    def quantile(self, q: float) -> int:
        """The smallest length with P(length <= it) >= q."""
        require_share(q)
        found = self.values[bisect.bisect_left(self._rising, q - 1e-12)]
        return min(max(found, self.smallest), self.largest)

    def sample(self, rng: np.random.Generator, n: int) -> NDArray[np.int64]:
        """`n` independent lengths."""
        import numpy as np

        places = np.searchsorted(np.asarray(self._rising), rng.random(n), side="right")
        return np.asarray(self.values, dtype=np.int64)[places]
