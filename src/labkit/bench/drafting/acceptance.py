"""Which drafted tokens a greedy target keeps, how they are counted, and what theory expects.

Formula: Leviathan, Kalman & Matias, "Fast Inference from Transformers via Speculative Decoding"
(2023), equation 1 and theorem 3.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


def accepted(draft: Sequence[int], choices: Sequence[int]) -> int:
    """How many drafted tokens equal the target's own choice, from the first up to a refusal.

    `choices`: the target's greedy token at each drafted place, and one more after them.

    >>> accepted([5, 6, 7], [5, 6, 9, 1])
    2
    """
    for count, (guess, choice) in enumerate(zip(draft, choices, strict=False)):
        if guess != choice:
            return count
    return len(draft)


@dataclass(slots=True)
class Tally:
    """Counts over the rounds of one run."""

    tokens: int = 0
    target_forwards: int = 0
    rounds_with_draft: int = 0
    drafted: int = 0
    examined: int = 0
    accepted: int = 0

    def add(self, drafted: int, kept: int) -> None:
        """One forward of the target: `kept` of `drafted` tokens, and its own one after them.

        Examined are those kept and the first refused: what follows a refusal says nothing of
        how good the drafter is.
        """
        self.tokens += kept + 1
        self.target_forwards += 1
        self.rounds_with_draft += drafted > 0
        self.drafted += drafted
        self.accepted += kept
        self.examined += min(kept + 1, drafted)

    @property
    def tokens_per_forward(self) -> float:
        """Tokens out per forward of the target; 1 without a drafter."""
        return self.tokens / self.target_forwards

    @property
    def alpha(self) -> float | None:
        """Chance that the next drafted token is kept, given that all before it were."""
        return self.accepted / self.examined if self.examined else None

    @property
    def accepted_of_drafted(self) -> float | None:
        """Share of all drafted tokens that were kept: what engines log as acceptance rate."""
        return self.accepted / self.drafted if self.drafted else None


def expected_tokens(alpha: float, gamma: int) -> float:
    """Tokens per forward of the target when each drafted token is kept with chance `alpha`.

    (1 - α^(γ+1)) / (1 - α); γ + 1 at α = 1.

    >>> round(expected_tokens(0.8, 5), 3)
    3.689
    """
    if alpha == 1.0:
        return float(gamma + 1)
    return float((1 - alpha ** (gamma + 1)) / (1 - alpha))


def expected_speedup(alpha: float, gamma: int, c: float, verify: float = 1.0) -> float:
    """That per unit of time: ÷ (γ c + v), times in plain steps of the target.

    `c` is what one drafted token costs. `verify` is what a forward over γ + 1 tokens costs; the
    published formula takes it as 1, which holds where weights are what takes the time.

    >>> round(expected_speedup(0.7, 5, 0.0845), 2)
    2.07
    """
    return expected_tokens(alpha, gamma) / (gamma * c + verify)


def gain(tokens_per_forward: float, drafted_share: float, verify: float) -> float:
    """Speed-up of counted rounds, drafting itself taken as free.

    `drafted_share` of the rounds cost `verify` plain steps; a round without a draft costs one.

    >>> round(gain(4.0, 0.8, 1.5), 3)
    2.857
    """
    return tokens_per_forward / (drafted_share * verify + 1 - drafted_share)
