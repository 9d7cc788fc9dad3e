"""Short rounds of one step, spread over a whole measurement.

What changes slowly (a neighbour, heat) hardly shows within two seconds, and shows between rounds
that lie half a minute apart: their samples are pooled, and the drift becomes spread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from labkit.bench.sampling import Samples, pool
from labkit.bench.session import Session

# At the start, in the middle and at the end. One round of three is more than the quarter of the
# samples that an interquartile range ignores: if a single round differs, the spread shows it.
ROUNDS = 3
# A second try clears a hiccup; more would put off the other rounds.
_ATTEMPTS = 2


@dataclass(slots=True)
class Rounds:
    """The samples of one step so far, round by round.

    Every round has as many samples as the first. By time alone a slow round would have fewer,
    perhaps less than a quarter of all, and would hide.
    """

    session: Session
    budget_s: float
    min_samples: int = 5
    max_samples: int = 20
    taken: list[Samples] = field(default_factory=list)

    def take(self, step: Callable[[], object]) -> None:
        """One more round: a warm-up and the samples."""
        count = len(self.taken[0].wall_s) if self.taken else None
        self.taken.append(
            self.session.time(
                step,
                warmup=1,
                min_samples=count or self.min_samples,
                max_samples=count or self.max_samples,
                budget_s=self.budget_s,
                attempts=_ATTEMPTS,
            )
        )

    def pooled(self) -> Samples:
        """All rounds as one set."""
        return pool(self.taken)
