"""A replica's step time as a table over sequences and prompt tokens, so that a queue can ask often.

A step model takes microseconds, and a queue's distribution asks for every number of sequences up
to `max_num_seqs`. Between the nodes the time is read linearly; it is nearly so, since a step is a
sum of terms that each grow in proportion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.sizing.checks import SizingError
from labkit.sizing.serving.steps import StepTimes
from labkit.sizing.serving.traffic import Traffic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class StepTable:
    """`seconds[i, j]`: a step of `sequences[i]` decoding and `prompt[j]` new prompt tokens.

    `pair_tokens`: one more query-key pair takes as long as so many prompt tokens in a full step.
    """

    sequences: NDArray[np.float64]
    prompt: NDArray[np.float64]
    seconds: NDArray[np.float64]
    pair_tokens: float

    def plain(self, sequences: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each number of sequences the seconds of a step without prompt tokens."""
        import numpy as np

        return np.asarray(np.interp(sequences, self.sequences, self.seconds[:, 0]))

    def rows(self, sequences: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each number of sequences the seconds at every node of `prompt`."""
        left, share = _place(self.sequences, sequences)
        part = share[:, None]
        return (1.0 - part) * self.seconds[left] + part * self.seconds[left + 1]

    def at(
        self, sequences: NDArray[np.float64], prompt_tokens: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Seconds for each pair; `prompt_tokens` up to the last node."""
        i, u = _place(self.sequences, sequences)
        j, v = _place(self.prompt, prompt_tokens)
        near = (1.0 - v) * self.seconds[i, j] + v * self.seconds[i, j + 1]
        far = (1.0 - v) * self.seconds[i + 1, j] + v * self.seconds[i + 1, j + 1]
        return (1.0 - u) * near + u * far

    def over_prompt(self, sequences: float, tokens: NDArray[np.float64]) -> NDArray[np.float64]:
        """Seconds at one number of sequences for each number of prompt tokens."""
        import numpy as np

        return np.asarray(np.interp(tokens, self.prompt, self.rows(np.array([sequences]))[0]))


def step_table(steps: StepTimes, traffic: Traffic, most: int, budget: float) -> StepTable:
    """The table for up to `most` sequences and `budget` prompt tokens a step.

    Raises `SizingError` where the step model gives a time that is no positive number.
    """
    import numpy as np

    sequences = _spaced(most)
    prompt = _prompt_nodes(traffic, budget)
    seconds = np.array(
        [
            [
                _seconds(steps, n, tokens, tokens * traffic.pairs_per_token, traffic.context)
                for tokens in prompt
            ]
            for n in sequences
        ]
    )
    # More work never takes less time; a step model's rounding may say otherwise by a hair.
    seconds = np.maximum.accumulate(np.maximum.accumulate(seconds, axis=0), axis=1)
    pair_tokens = _pair_tokens(steps, traffic, prompt, seconds[0])
    return StepTable(np.array(sequences), np.array(prompt), seconds, pair_tokens)


def _pair_tokens(
    steps: StepTimes, traffic: Traffic, prompt: list[float], alone: NDArray[np.float64]
) -> float:
    """Seconds per query-key pair over seconds per token, of prompts alone at the full budget."""
    budget, pairs = prompt[-1], traffic.pairs_per_token
    twice = _seconds(steps, 0.0, budget, 2.0 * pairs * budget, traffic.context)
    per_pair = max(0.0, twice - float(alone[-1])) / (pairs * budget)
    slope = float(alone[-1] - alone[-2]) / (prompt[-1] - prompt[-2])
    if per_pair <= 0.0:
        return 0.0
    return per_pair / max(slope, per_pair * pairs)


def _seconds(
    steps: StepTimes, sequences: float, tokens: float, pairs: float, context: float
) -> float:
    if sequences == 0 and tokens == 0:
        return 0.0
    seconds = steps.mixed_seconds(tokens, pairs, sequences, sequences * context)
    if not 0.0 < seconds < float("inf"):
        raise SizingError(f"The step model gives {seconds!r} seconds for a step: no positive time.")
    return float(seconds)


def _spaced(most: int) -> list[float]:
    """0, 1 and `most`, and about two numbers between for each doubling."""
    nodes = {0, 1, most}
    at = 1.0
    while at < most:
        nodes.add(round(at))
        at *= 2**0.5 if at > 4 else 1.5
    return [float(n) for n in sorted(nodes)]


def _prompt_nodes(traffic: Traffic, budget: float) -> list[float]:
    """0, parts and multiples of a mean prompt, and the step's budget."""
    chunk = min(traffic.new_tokens, budget)
    nodes = {0.0, budget, *(chunk * part for part in (0.25, 0.5, 1.0))}
    at = 2.0 * chunk
    while at < budget:
        nodes.add(at)
        at *= 2.0
    return sorted(nodes)


def _place(
    nodes: NDArray[np.float64], at: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The node below each value and the share of the way to the next one."""
    import numpy as np

    left = np.clip(np.searchsorted(nodes, at, side="right") - 1, 0, len(nodes) - 2)
    share = (at - nodes[left]) / (nodes[left + 1] - nodes[left])
    return left, np.minimum(share, 1.0)


def reading_matrix(nodes: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """The matrix that reads a row known at `nodes` linearly at each of `at`."""
    import numpy as np

    left, share = _place(nodes, at)
    matrix = np.zeros((len(nodes), len(at)))
    columns = np.arange(len(at))
    matrix[left, columns] = 1.0 - share
    matrix[left + 1, columns] = share
    return matrix
