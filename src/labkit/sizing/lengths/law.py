"""What every distribution of token lengths offers: the protocol `Lengths`.

Every length is a whole number of tokens, at least 1 and at most `largest`. What a distribution
says of itself (mean, variance, quantiles) is said of those whole, capped numbers, so it is what a
sample shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HALVINGS = 80  # bisection: enough for the last bit of a double


@runtime_checkable
class Lengths(Protocol):
    """A distribution of token lengths."""

    @property
    def mean(self) -> float:
        """Mean length in tokens."""

    @property
    def variance(self) -> float:
        """Variance in tokens squared."""

    @property
    def smallest(self) -> int:
        """The shortest length that can occur."""

    @property
    def largest(self) -> int:
        """The longest length that can occur."""

    @property
    def text(self) -> str:
        """The distribution as `parse_lengths` reads it."""

    def cdf(self, tokens: float) -> float:
        """P(length <= tokens)."""

    def quantile(self, q: float) -> int:
        """The smallest length that at least a share `q` of all lengths does not exceed."""

    def sample(self, rng: np.random.Generator, n: int) -> NDArray[np.int64]:
        """`n` independent lengths, int64."""


def mean_progress(lengths: Lengths) -> float:
    """Mean number of tokens already written by an answer that is being written: E[L(L-1)] / 2E[L].

    Seen at a random decode step, a long answer is met more often than a short one, so this is
    (mean - 1) / 2 only where all answers have the same length (renewal theory: length-biased).
    """
    second_moment = lengths.variance + lengths.mean**2
    return (second_moment - lengths.mean) / (2.0 * lengths.mean)


def bisected(
    function: Callable[[float], float], target: float, *, low: float, high: float
) -> float:
    """Where a rising function reaches `target`, between `low` and `high`."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if function(middle) < target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
