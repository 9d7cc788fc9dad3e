"""A workload's lengths as the moments that steps and queues need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.sizing.inputs import Workload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NODES = 128  # equal shares of the requests; a prompt's percentile is read between them


@dataclass(frozen=True, slots=True)
class Traffic:
    """Per request, in tokens; all are means unless said otherwise.

    prompt_nodes, output_nodes: 128 equally likely numbers of new prompt tokens and of output
    tokens, ascending.
    new_tokens: prompt tokens that are computed, those of the prefix cache left out (at least 1).
    pairs_per_token: query-key pairs per new prompt token, cached x new + new^2 / 2 over new.
    decode_steps: output - 1, since the prefill yields the first token.
    decode_cv2: squared coefficient of variation of the decode steps.
    context: cached tokens that a decode step reads per sequence. Long answers are met more often:
    prompt + E[o(o - 1)] / 2E[o - 1]. context_cv2: its squared coefficient of variation.
    """

    prompt_nodes: NDArray[np.float64]
    output_nodes: NDArray[np.float64]
    prompt_tokens: float
    new_tokens: float
    prefix_hit_rate: float
    pairs_per_token: float
    output_tokens: float
    decode_steps: float
    decode_cv2: float
    context: float
    context_cv2: float

    def pairs_at(self, new_tokens: NDArray[np.float64]) -> NDArray[np.float64]:
        """Query-key pairs per new token of prompts that have this many: cached + new / 2."""
        hit = self.prefix_hit_rate
        return new_tokens * (hit / (1.0 - hit) + 0.5)


def traffic_of(workload: Workload) -> Traffic:
    """The moments of a workload's lengths; prompt and output are taken as independent."""
    import numpy as np

    prompts, outputs, hit = workload.prompts, workload.outputs, workload.prefix_hit_rate
    lengths = [prompts.quantile((i + 0.5) / _NODES) for i in range(_NODES)]
    nodes = np.array([length - min(int(length * hit), length - 1) for length in lengths], float)
    # A long tail lies beyond the outermost node: the nodes are stretched to the exact mean.
    new = max(1.0, prompts.mean * (1.0 - hit))
    nodes = np.maximum(nodes * (new / nodes.mean()), 1.0)
    second = prompts.variance + prompts.mean**2
    pairs = max(0.5, (hit * (1.0 - hit) + (1.0 - hit) ** 2 / 2) * second)

    written_nodes = np.array([outputs.quantile((i + 0.5) / _NODES) for i in range(_NODES)], float)
    steps = outputs.mean - 1.0
    written = outputs.variance + outputs.mean**2 - outputs.mean  # E[o(o - 1)]
    context = prompts.mean + (written / (2.0 * steps) if steps > 0 else 0.0)
    return Traffic(
        prompt_nodes=nodes,
        output_nodes=written_nodes,
        prompt_tokens=prompts.mean,
        new_tokens=new,
        prefix_hit_rate=hit,
        pairs_per_token=pairs / new,
        output_tokens=outputs.mean,
        decode_steps=steps,
        decode_cv2=outputs.variance / steps**2 if steps > 0 else 0.0,
        context=context,
        context_cv2=(prompts.variance + _progress_variance(written_nodes)) / context**2,
    )


def _progress_variance(outputs: NDArray[np.float64]) -> float:
    """Variance of the tokens written so far, seen at a random step of a random sequence in flight.

    A sequence of o tokens is seen o times, evenly from 0 to o: E[x^2] = E[o^3] / 3E[o].
    """
    first, second, third = (float((outputs**power).mean()) for power in (1, 2, 3))
    return max(third / (3.0 * first) - (second / (2.0 * first)) ** 2, 0.0)
