"""Log-normal token lengths: what real prompts and answers look like (many short, a few very long).

A length is round(X), cut to 1..cap, with ln X normal(mu, sigma). For whole k from 1 to cap - 1,
P(length > k) = P(X > k + 1/2). Mean = sum of P(length > k); second moment = sum of
(2k + 1) P(length > k). Beyond `_EXACT` tokens the sums are replaced by the integrals that they are
the midpoint rule of; their partial moments have closed forms. There the error is below 1e-6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING

from labkit.sizing.checks import (
    LONGEST,
    SizingError,
    require_positive,
    require_share,
    require_tokens,
)
from labkit.sizing.lengths.law import bisected

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_EXACT = 128
_WIDEST = 5.0  # 95 % of such lengths lie within a factor of 18,000 of the median
_NORMAL = NormalDist()
_P95 = _NORMAL.inv_cdf(0.95)


@dataclass(frozen=True, slots=True)
class LogNormal:
    """round(exp(normal(mu, sigma))), cut to 1..cap. Usually made by `with_mean`."""

    mu: float
    sigma: float
    cap: int = LONGEST
    mean: float = field(init=False, compare=False)
    variance: float = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not math.isfinite(self.mu):
            raise SizingError(f"mu must be a finite number, not {self.mu!r}.")
        _require_sigma(self.sigma)
        require_tokens("max", self.cap)
        first, second = _moments(self.mu, self.sigma, self.cap)
        object.__setattr__(self, "mean", first)
        object.__setattr__(self, "variance", max(second - first**2, 0.0))

    @classmethod
    def with_mean(
        cls, mean: float, *, p95: int | None = None, sigma: float | None = None, cap: int = LONGEST
    ) -> LogNormal:
        """The log-normal lengths with this mean, and either this 95th percentile or this sigma.

        Both hold after the cut at `cap`: they are what a log of such traffic shows. Raises
        `SizingError` where no log-normal length has them.
        """
        require_tokens("max", cap)
        if not 1.0 < mean < cap:
            raise SizingError(f"mean must be above 1 and below max={cap}, not {mean!r}.")
        if p95 is not None and sigma is None:
            return cls._through(mean, p95, cap)
        if sigma is None or p95 is not None:
            raise SizingError("A log-normal length needs its mean and either p95 or sigma.")
        _require_sigma(sigma)
        low, high = math.log(0.25) - 9.0 * sigma, math.log(cap) + 9.0 * sigma
        mu = bisected(lambda m: _moments(m, sigma, cap)[0], mean, low=low, high=high)
        return cls(mu, sigma, cap)

    @classmethod
    def _through(cls, mean: float, p95: int, cap: int) -> LogNormal:
        """Sigma from mean and p95: with p95 held, a wider curve has a lower mean (to _P95)."""
        require_tokens("p95", p95)
        if p95 > cap:
            raise SizingError(f"p95 must not be above max, but {p95} > {cap}.")
        level = math.log(p95)

        def falling(sigma: float) -> float:
            return -_moments(level - _P95 * sigma, sigma, cap)[0]

        narrow, wide = 1e-3, _P95
        least, most = -falling(wide), -falling(narrow)
        if not least <= mean <= most:
            raise SizingError(
                f"A log-normal length with p95={p95} and max={cap} has a mean from "
                f"{math.ceil(least)} to {math.floor(most)} tokens, not {mean:g}."
            )
        sigma = bisected(falling, -mean, low=narrow, high=wide)
        return cls(level - _P95 * sigma, sigma, cap)

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
        """For example "lognormal:mean=300,sigma=0.9,max=2048"."""
        return f"lognormal:mean={self.mean:.10g},sigma={self.sigma:.10g},max={self.cap}"

    def cdf(self, tokens: float) -> float:
        """P(length <= tokens)."""
        if tokens < 1:
            return 0.0
        if tokens >= self.cap:
            return 1.0
        return 1.0 - _above(math.floor(tokens) + 0.5, self.mu, self.sigma)

    def quantile(self, q: float) -> int:
        """The smallest length with P(length <= it) >= q."""
        require_share(q)
        if q <= 0.0:
            return 1
        if q >= 1.0:
            return self.cap
        level = min(self.mu + self.sigma * _NORMAL.inv_cdf(q), math.log(self.cap))
        return min(max(math.ceil(math.exp(level) - 0.5), 1), self.cap)

    def sample(self, rng: np.random.Generator, n: int) -> NDArray[np.int64]:
        """`n` independent lengths."""
        import numpy as np

        level = np.minimum(rng.normal(self.mu, self.sigma, size=n), math.log(self.cap))
        return np.clip(np.rint(np.exp(level)).astype(np.int64), 1, self.cap)


def _require_sigma(sigma: float) -> None:
    require_positive("sigma", sigma)
    if sigma > _WIDEST:
        raise SizingError(f"sigma must be at most {_WIDEST:g}, not {sigma:g}.")


def _above(x: float, mu: float, sigma: float) -> float:
    """P(X > x)."""
    return 0.5 * math.erfc((math.log(x) - mu) / (sigma * math.sqrt(2.0)))


def _moments(mu: float, sigma: float, cap: int) -> tuple[float, float]:
    """Mean and second moment of round(X) cut to 1..cap."""
    first = second = 1.0  # k = 0: every length is above 0
    edge = min(_EXACT, cap)
    for k in range(1, edge):
        tail = _above(k + 0.5, mu, sigma)
        first += tail
        second += (2 * k + 1) * tail
    if cap > edge:
        first += _capped_moment(1, cap, mu, sigma) - _capped_moment(1, edge, mu, sigma)
        second += _capped_moment(2, cap, mu, sigma) - _capped_moment(2, edge, mu, sigma)
    return first, second


def _capped_moment(power: int, cap: int, mu: float, sigma: float) -> float:
    """E[min(X, cap)^power]: the partial moment of the log-normal below cap, and cap above."""
    below = 0.5 * math.erfc(-(math.log(cap) - mu - power * sigma**2) / (sigma * math.sqrt(2.0)))
    above = _above(cap, mu, sigma)
    exponent = power * mu + (power * sigma) ** 2 / 2.0
    moment = math.exp(exponent + math.log(below)) if below > 0.0 else 0.0
    return moment + float(cap) ** power * above
