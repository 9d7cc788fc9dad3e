"""Confidence intervals, the right ones and those that people compute instead.

Plain Python and exact enough to compare with: Student's t by its distribution function, the
percentile bootstrap with a seed of its own. Levels are shares: 0.95.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import cache
from random import Random

Interval = tuple[float, float]
RESAMPLES = 10_000


def paired_t(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Interval:
    """Interval of the mean of b - a, run by run (Student's t on the differences)."""
    return mean_t([y - x for x, y in zip(a, b, strict=True)], level)


def mean_t(values: Sequence[float], level: float = 0.95) -> Interval:
    """Interval of the mean: mean ± t · s / √n."""
    half = t_quantile(0.5 + level / 2, len(values) - 1) * standard_error(values)
    middle = statistics.fmean(values)
    return middle - half, middle + half


def mean_normal(values: Sequence[float], level: float = 0.95) -> Interval:
    """The same with the normal distribution's 1.96: too narrow for a handful of runs."""
    half = statistics.NormalDist().inv_cdf(0.5 + level / 2) * standard_error(values)
    middle = statistics.fmean(values)
    return middle - half, middle + half


def welch(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Interval:
    """Interval of mean(b) - mean(a) as if nothing paired them (Welch)."""
    va, vb = standard_error(a) ** 2, standard_error(b) ** 2
    freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1)) if va + vb else 1.0
    half = t_quantile(0.5 + level / 2, freedom) * math.sqrt(va + vb)
    middle = statistics.fmean(b) - statistics.fmean(a)
    return middle - half, middle + half


def spread(values: Sequence[float], level: float = 0.95) -> Interval:
    """Mean ± 1.96 standard deviations: where runs lie, not where the mean lies."""
    half = statistics.NormalDist().inv_cdf(0.5 + level / 2) * statistics.stdev(values)
    middle = statistics.fmean(values)
    return middle - half, middle + half


def one_sided(values: Sequence[float], level: float = 0.95) -> Interval:
    """Both ends at the quantile of a one-sided interval: really a 90 % interval."""
    return mean_t(values, 2 * level - 1)


def paired_bootstrap(
    a: Sequence[float],
    b: Sequence[float],
    level: float = 0.95,
    *,
    ratio: bool = False,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Percentile bootstrap over pairs, of mean(b - a), or of mean(b) / mean(a) with `ratio`."""
    rng = Random(seed)  # noqa: S311  # resampling, not secrets
    n, pairs = len(a), list(zip(a, b, strict=True))
    found = []
    for _ in range(resamples):
        drawn = rng.choices(pairs, k=n)
        left, right = math.fsum(x for x, _ in drawn), math.fsum(y for _, y in drawn)
        found.append(right / left if ratio else (right - left) / n)
    found.sort()
    low = max(0, round((1 - level) / 2 * resamples) - 1)
    return found[low], found[resamples - 1 - low]


def unpaired_bootstrap(
    a: Sequence[float],
    b: Sequence[float],
    level: float = 0.95,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Percentile bootstrap of mean(b) - mean(a), each list drawn by itself: the pairs are lost."""
    rng = Random(seed)  # noqa: S311  # resampling, not secrets
    found = [
        statistics.fmean(rng.choices(b, k=len(b))) - statistics.fmean(rng.choices(a, k=len(a)))
        for _ in range(resamples)
    ]
    return percentiles(found, level)


def percentiles(values: Sequence[float], level: float = 0.95) -> Interval:
    """Where the middle share of the values themselves lies, as np.percentile has it."""
    ordered = sorted(values)

    def at(share: float) -> float:
        place = share * (len(ordered) - 1)
        below = math.floor(place)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (place - below) * (ordered[above] - ordered[below])

    return at((1 - level) / 2), at((1 + level) / 2)


def standard_error(values: Sequence[float]) -> float:
    """s / √n. Raises statistics.StatisticsError for fewer than two values."""
    return statistics.stdev(values) / math.sqrt(len(values))


@cache
def t_quantile(p: float, freedom: float) -> float:
    """Quantile of Student's t; `freedom` may be a fraction. Exact to 1e-9.

    >>> round(t_quantile(0.975, 4), 3)
    2.776
    """
    if p < 0.5:
        return -t_quantile(1 - p, freedom)
    low, high = 0.0, 1.0
    while _t_below(high, freedom) < p:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_below(middle, freedom) < p else (low, middle)
    return (low + high) / 2


def _t_below(t: float, freedom: float) -> float:
    """P(T <= t) for t >= 0, by the incomplete beta function."""
    return 1 - _beta_share(freedom / (freedom + t * t), freedom / 2, 0.5) / 2


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        + a * math.log(x) + b * math.log1p(-x)
    )  # fmt: skip
    if x > (a + 1) / (a + b + 2):  # there the fraction converges on the other side
        return 1 - front * _fraction(1 - x, b, a) / b
    return front * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    """Its continued fraction, evaluated by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    value = d
    for m in range(1, 300):
        for top in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + top * d) or tiny)
            c = (1 + top / c) or tiny
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return value
