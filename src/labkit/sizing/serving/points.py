"""Evenly spread points in the unit cube: percentiles of a formula without drawing at random."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

POINTS = 2048
_WIDE = 12.0
_MOST = 400


@lru_cache(maxsize=4)
def spread_points(dimensions: int, count: int = POINTS) -> NDArray[np.float64]:
    """`count` points in (0, 1)^dimensions, as `dimensions` rows; the same ones at every call.

    Additive recurrence on powers of the generalised golden ratio (x^(d+1) = x + 1): the spread is
    far more even than random numbers give, and a higher load moves each point, never the draw, so
    that results rise smoothly with load. Source: Roberts, "The unreasonable effectiveness of
    quasirandom sequences" (2018).
    """
    import numpy as np

    ratio = 2.0
    for _ in range(40):
        ratio = (1.0 + ratio) ** (1.0 / (dimensions + 1))
    steps = ratio ** -np.arange(1.0, dimensions + 1)
    points = (0.5 + steps[:, None] * np.arange(count)) % 1.0
    # Each row by its ranks: exactly even by itself, and as spread as before with the others.
    points = (np.argsort(np.argsort(points, axis=1), axis=1) + 0.5) / count
    points.setflags(write=False)
    return points


def chain_quantiles(
    shares: NDArray[np.float64], seeds: NDArray[np.float64], ratio: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Quantiles of a Poisson number of which each brings `ratio` more, and those as well.

    The generalised Poisson law (Consul and Jain 1973): mean seeds / (1 - ratio), variance
    seeds / (1 - ratio)^3. It counts what arrives in a time that each arrival makes longer. Above a
    mean of 12 a shifted gamma curve of the same mean, variance and skewness stands for it, read
    after Wilson and Hilferty.
    """
    import numpy as np

    means = seeds / (1.0 - ratio)
    wide = means > _WIDE
    found = np.zeros_like(means)
    small = np.where(wide | (seeds <= 0.0), 1e-12, seeds)
    below = np.exp(-small)
    factorial = 0.0
    for k in range(1, _MOST):
        more = (below < shares) & ~wide
        if not bool(np.any(more)):
            break
        found += more
        factorial += math.log(k)
        inside = small + k * ratio
        below = below + np.exp(np.log(small) + (k - 1) * np.log(inside) - inside - factorial)
    shape = 4.0 * np.maximum(seeds * (1.0 - ratio), 1e-9) / (1.0 + 2.0 * ratio) ** 2
    root = np.sqrt(shape)
    cube = (1.0 - 1.0 / (9.0 * shape) + normal_quantiles(shares) / (3.0 * root)) ** 3
    curve = means + np.sqrt(seeds / (1.0 - ratio) ** 3) * root * (cube - 1.0)
    return np.where(wide, np.maximum(curve, 0.0), found)


def normal_quantiles(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """The standard normal's quantiles, read between 252 nodes."""
    import numpy as np

    grid, nodes = _normal_nodes()
    return np.interp(shares, grid, nodes)


@lru_cache(maxsize=1)
def _normal_nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    import numpy as np

    grid = np.concatenate(([1e-4], np.linspace(0.002, 0.998, 250), [1 - 1e-4]))
    inverse = NormalDist().inv_cdf
    return grid, np.array([inverse(float(share)) for share in grid])
