"""Fixed, uniform and geometric token lengths: the ones with one-line formulas."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from labkit.sizing.checks import LONGEST, SizingError, require_share, require_tokens
from labkit.sizing.lengths.law import bisected

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Fixed:
    """Always `tokens`."""

    tokens: int

    def __post_init__(self) -> None:
        require_tokens("A fixed length", self.tokens)

    @property
    def mean(self) -> float:
        """The length itself."""
        return float(self.tokens)

    @property
    def variance(self) -> float:
        """0."""
        return 0.0

    @property
    def smallest(self) -> int:
        """The length itself."""
        return self.tokens

    @property
    def largest(self) -> int:
        """The length itself."""
        return self.tokens

    @property
    def text(self) -> str:
        """For example "512"."""
        return str(self.tokens)

    def cdf(self, tokens: float) -> float:
        """P(length <= tokens): 0 or 1."""
        return float(tokens >= self.tokens)

    def quantile(self, q: float) -> int:
        """The length itself, for every q from 0 to 1."""
        require_share(q)
        return self.tokens

    def sample(self, rng: np.random.Generator, n: int) -> NDArray[np.int64]:
        """`n` times the length; `rng` is left as it was."""
        import numpy as np

        return np.full(n, self.tokens, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every whole number from `low` to `high` (both included) is as likely."""

    low: int
    high: int

    def __post_init__(self) -> None:
        require_tokens("low", self.low)
        require_tokens("high", self.high)
        if self.low > self.high:
            raise SizingError(f"low must not be above high, but {self.low} > {self.high}.")

    @property
    def mean(self) -> float:
        """(low + high) / 2."""
        return (self.low + self.high) / 2

    @property
    def variance(self) -> float:
        """((high - low + 1)^2 - 1) / 12."""
        return ((self.high - self.low + 1) ** 2 - 1) / 12

    @property
    def smallest(self) -> int:
        """`low`."""
        return self.low

    @property
    def largest(self) -> int:
        """`high`."""
        return self.high

    @property
    def text(self) -> str:
        """For example "uniform:32-512"."""
        return f"uniform:{self.low}-{self.high}"

    def cdf(self, tokens: float) -> float:
        """P(length <= tokens)."""
        count = self.high - self.low + 1
        return min(max((math.floor(tokens) - self.low + 1) / count, 0.0), 1.0)

    def quantile(self, q: float) -> int:
        """The smallest length with P(length <= it) >= q."""
        require_share(q)
        return self.low + max(_whole_up(q * (self.high - self.low + 1)) - 1, 0)

    def sample(self, rng: np.random.Generator, n: int) -> NDArray[np.int64]:
        """`n` independent lengths."""
        return rng.integers(self.low, self.high, size=n, endpoint=True)


@dataclass(frozen=True, slots=True)
class Geometric:
    """After each token the answer ends with the same chance: the whole-number exponential law.

    What would be longer than `cap` is cut there. `average` is the mean after the cut; the share
    of answers that go on after a token follows from it.
    """

    average: float
    cap: int = LONGEST
    survival: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_tokens("max", self.cap)
        if not 1.0 <= self.average < self.cap:
            raise SizingError(
                f"mean must be at least 1 and below max={self.cap}, not {self.average!r}."
            )
        survival = bisected(
            lambda r: _geometric_mean(r, self.cap), self.average, low=0.0, high=1.0 - 1e-15
        )
        object.__setattr__(self, "survival", survival)

    @property
    def mean(self) -> float:
        """`average`."""
        return self.average

    @property
    def variance(self) -> float:
        """Sum of (2k + 1) P(length > k), less the mean squared."""
        r, cap = self.survival, self.cap
        total = _geometric_mean(r, cap)
        weighted = r * (total - cap * r ** (cap - 1)) / (1.0 - r)  # sum of k r^k
        return max(2.0 * weighted + total - total**2, 0.0)

    @property
    def smallest(self) -> int:
        """1."""
        return 1

    @property
    def largest(self) -> int:
        """`cap`."""
        return self.cap

    @property
    def text(self) -> str:
        """For example "geometric:mean=128,max=1536"."""
        return f"geometric:mean={self.average:g},max={self.cap}"

    def cdf(self, tokens: float) -> float:
        """P(length <= tokens)."""
        if tokens >= self.cap:
            return 1.0
        return 1.0 - self.survival ** max(math.floor(tokens), 0)

    def quantile(self, q: float) -> int:
        """The smallest length with P(length <= it) >= q."""
        require_share(q)
        if q >= 1.0:
            return self.cap
        if self.survival <= 0.0:
            return 1
        tokens = _whole_up(math.log1p(-q) / math.log(self.survival))
        return min(max(tokens, 1), self.cap)

    def sample(self, rng: np.random.Generator, n: int) -> NDArray[np.int64]:
        """`n` independent lengths."""
        import numpy as np

        drawn = rng.geometric(1.0 - self.survival, size=n).astype(np.int64)
        return np.minimum(drawn, self.cap)


def _geometric_mean(survival: float, cap: int) -> float:
    if survival <= 0.0:
        return 1.0
    return -math.expm1(cap * math.log(survival)) / (1.0 - survival)


def _whole_up(value: float) -> int:
    """Ceiling that forgives the last bits: 0.95 x 20 is 19, not 20."""
    return math.ceil(value - 1e-9)
