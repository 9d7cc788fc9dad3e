"""A 95 % interval of a speed-up from paired runs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

# Student's t, two-sided 95 %, by degrees of freedom; beyond the table the normal value is close.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_NORMAL = 1.96


@dataclass(frozen=True, slots=True)
class Interval:
    """A ratio with its 95 % interval, and the number of pairs it comes from."""

    ratio: float
    low: float
    high: float
    pairs: int


def ratio_interval(ratios: Sequence[float]) -> Interval:
    """Geometric mean of paired `ratios`, with Student's t on their logarithms.

    Ratios multiply, so that 2 and ½ cancel; their logarithms add, and t applies to those. Raises
    ValueError for fewer than two pairs or a ratio that is not positive.

    >>> interval = ratio_interval([2.0, 2.0, 2.0])
    >>> round(interval.low, 9), round(interval.ratio, 9), round(interval.high, 9)
    (2.0, 2.0, 2.0)
    """
    if len(ratios) < 2:
        raise ValueError(f"an interval needs at least two pairs, not {len(ratios)}")
    if min(ratios) <= 0:
        raise ValueError(f"a ratio must be positive, not {min(ratios)}")
    logs = [math.log(ratio) for ratio in ratios]
    middle = statistics.fmean(logs)
    freedom = len(logs) - 1
    t = _T[freedom - 1] if freedom <= len(_T) else _NORMAL
    half = t * statistics.stdev(logs) / math.sqrt(len(logs))
    return Interval(math.exp(middle), math.exp(middle - half), math.exp(middle + half), len(ratios))
