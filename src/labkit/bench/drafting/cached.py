"""A model with its KV cache, fed piece by piece, that can take tokens back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class CachedModel:
    """Greedy choices of one sequence; `length` tokens are in the cache.

    `sync` waits for the device. Call inside torch.inference_mode.
    """

    def __init__(self, model: Any, device: str, sync: Callable[[], object]) -> None:
        self._model = model
        self._device = device
        self._sync = sync
        self._cache: Any = None
        self.length = 0

    def start(self, tokens: Sequence[int]) -> int:
        """A fresh cache that holds `tokens`; the greedy token after them."""
        from transformers import DynamicCache

        self._cache = DynamicCache(config=self._model.config)
        self.length = 0
        return self.feed(tokens, keep=1)[-1]

    def feed(self, tokens: Sequence[int], keep: int = 0) -> list[int]:
        """Cache `tokens`; the greedy choice after each of the last `keep` (0: of all)."""
        import torch

        ids = torch.tensor([list(tokens)], device=self._device)
        logits = self._model(
            input_ids=ids, past_key_values=self._cache, use_cache=True, logits_to_keep=keep
        ).logits
        self.length += len(tokens)
        chosen: list[int] = logits[0].argmax(dim=-1).tolist()
        self._sync()
        return chosen

    def rewind(self, length: int) -> None:
        """Forget all but the first `length` tokens."""
        if length < self.length:
            self._cache.crop(length - self.length)  # negative: that many off the end
            self.length = length
