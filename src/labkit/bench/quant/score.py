"""The loss of a causal model on windows of tokens."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

# Logits of a batch are the largest thing in memory: 4 · 100 · 49,152 · 4 bytes = 79 MB.
BATCH = 4


def window_losses(model: Any, windows: torch.Tensor) -> list[float]:
    """Mean negative log-likelihood (nats per token) of each window of `windows`, [count, tokens].

    The first token of a window has no context and is not scored. The log-softmax is in FP32
    whatever the model computes in.
    """
    import torch

    losses: list[float] = []
    with torch.no_grad():  # inference_mode breaks bitsandbytes' cached states
        for ids in torch.split(windows, BATCH):
            logits = model(input_ids=ids, use_cache=False).logits[:, :-1].float()
            loss = torch.nn.functional.cross_entropy(
                logits.transpose(1, 2), ids[:, 1:], reduction="none"
            )
            losses += [float(value) for value in loss.mean(dim=1)]
    return [float(f"{loss:.7g}") for loss in losses]


def perplexity(losses: Sequence[float]) -> float:
    """exp of the mean loss in nats: windows of equal length weigh the same.

    >>> round(perplexity([2.0, 3.0]), 2)
    12.18
    """
    return float(f"{math.exp(statistics.fmean(losses)):.6g}")
