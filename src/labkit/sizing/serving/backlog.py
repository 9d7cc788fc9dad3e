"""The prompts ahead: how many prompt tokens wait for a step, seen at the start of each step.

Chunked prefill serves prompts in order of arrival. A step that starts with x tokens of prompts
waiting takes min(x, budget) of them and lasts t(min(x, budget)); whatever arrives meanwhile waits
for the next one. So the backlog is a Markov chain from step to step,

    x' = x - min(x, budget) + prompts that arrive in t,

with Poisson arrivals of prompts of random length (compound Poisson). It is solved on a grid of
token bins; the arrivals' distribution comes from its characteristic function, exp(rate t (f - 1)).
The queue of Poisson arrivals at a gated server with vacations is the textbook case where t is
linear and the budget never binds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

BINS = 128
_ROUNDS, _STEPS, _STILL = 200, 16, 1e-6


@dataclass(frozen=True, slots=True)
class Backlog:
    """What an arrival finds, bin by bin of prompt tokens waiting at the start of the step it hits.

    shares: of arrivals (a long step is hit more often: weighted by time). seconds: how long that
    step lasts. left: tokens of the bin that it does not take. arrivals: for each bin the
    cumulative distribution, over bins of `unit` tokens, of what arrives during the step.
    """

    unit: float
    shares: NDArray[np.float64]
    seconds: NDArray[np.float64]
    left: NDArray[np.float64]
    arrivals: NDArray[np.float64]


def backlog(
    step_seconds: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    rate: float,
    prompts: NDArray[np.float64],
    budget: float,
    reach: float,
) -> Backlog:
    """The stationary backlog in front of steps of `step_seconds(prompt tokens)` at `rate`/s.

    prompts: equally likely prompt lengths. budget: prompt tokens of one step. reach: tokens that
    the grid spans; what would be beyond is counted in its last bin.
    """
    import numpy as np

    unit = reach / (BINS - 1)
    waiting = unit * np.arange(BINS)
    taken = np.minimum(waiting, budget)
    seconds = step_seconds(taken)
    left = waiting - taken

    span = 2 * BINS
    sizes = np.fft.rfft(_binned(prompts / unit, span))
    arriving = np.fft.irfft(np.exp(rate * seconds[:, None] * (sizes - 1.0)), span, axis=1)
    arriving = np.maximum(arriving, 0.0)
    arriving /= arriving.sum(axis=1, keepdims=True)
    steady = _stationary(_moves(arriving, left / unit))
    shares = steady * seconds
    return Backlog(unit, shares / shares.sum(), seconds, left, np.cumsum(arriving, axis=1))


def _binned(sizes: NDArray[np.float64], span: int) -> NDArray[np.float64]:
    """Equally likely sizes as a distribution over bins 0 … span - 1 of the same mean."""
    import numpy as np

    held = np.minimum(sizes, span - 1.001)
    low = np.floor(held).astype(int)
    share = held - low
    bins = np.zeros(span)
    np.add.at(bins, low, (1.0 - share) / len(sizes))
    np.add.at(bins, low + 1, share / len(sizes))
    return bins


def _moves(arriving: NDArray[np.float64], left: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chain's matrix: from each bin, `left` bins plus what arrives; the rest in the last."""
    import numpy as np

    size = len(left)
    below = np.floor(left + 1e-9).astype(int)
    share = np.clip(left - below, 0.0, 1.0)
    matrix = arriving[:, :size].copy()  # right where nothing is left over
    for start in np.flatnonzero(left > 0.0):
        shift = below[start]
        row = matrix[start]
        row[:] = 0.0
        row[shift:] = (1.0 - share[start]) * arriving[start, : size - shift]
        row[shift + 1 :] += share[start] * arriving[start, : size - shift - 1]
    matrix[:, -1] += 1.0 - matrix.sum(axis=1)
    return matrix


def _stationary(moves: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distribution that one step leaves as it is, by stepping until it stands still.

    A vector times a small matrix takes microseconds; solving the equations would start BLAS's
    threads, which on a busy machine costs a hundred times as much.
    """
    import numpy as np

    steady = moves[0]
    for _ in range(_ROUNDS):
        before = steady
        for _ in range(_STEPS):
            steady = steady @ moves
        if float(abs(steady - before).sum()) < _STILL:
            break
    return np.asarray(steady / steady.sum())


def reach_of(
    prompts: NDArray[np.float64], per_step: float, utilisation: float, budget: float
) -> float:
    """Tokens that the grid must span at the highest rate that will be asked.

    per_step, utilisation: mean prompt tokens of a step there, and the share of time they take.
    The longest prompt twice, or the mean step with six standard deviations; where prompts do not
    fit the budget, also six times the mean of what then waits (Pollaczek-Khinchine, in tokens).
    """
    mean, second = float(prompts.mean()), float((prompts**2).mean())
    busy = min(utilisation, 0.93)
    deviation = math.sqrt(per_step * second / mean / (1.0 - busy**2))
    reach = max(2.0 * float(prompts[-1]), per_step + 6.0 * deviation)
    if reach > budget:
        reach += 3.0 * second / mean * busy / (1.0 - busy)
    return reach
