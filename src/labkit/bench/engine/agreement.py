"""Whether two engines said the same: a speed-up of other words is not a speed-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# The share of positions that must agree over the whole set. Not all can: two tokens may be so
# close that another order of additions turns them, and all that follows is then another text.
NEEDED = 0.95


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many of all output positions hold the same token."""

    agreed: int
    positions: int

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.agreed / self.positions

    @property
    def enough(self) -> bool:
        """Whether a speed-up may count."""
        return self.share >= NEEDED


def agreement(
    reference: Mapping[int, Sequence[int]], other: Mapping[int, Sequence[int]]
) -> Agreement:
    """Compare token ids by request id, position by position; what is missing does not agree.

    Only requests of `other` are compared. Raises ValueError where there is nothing to compare.

    >>> agreement({1: [5, 6, 7]}, {1: [5, 6, 8]})
    Agreement(agreed=2, positions=3)
    """
    agreed = positions = 0
    for name, said in other.items():
        wanted = reference[name]
        positions += max(len(wanted), len(said))
        agreed += sum(a == b for a, b in zip(wanted, said, strict=False))
    if not positions:
        raise ValueError("there are no outputs to compare")
    return Agreement(agreed, positions)
