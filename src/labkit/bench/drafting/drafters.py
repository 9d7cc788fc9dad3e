"""The drafters: prompt lookup, and models made from the target itself without any download.

The models are there to show what a drafter costs. Two of the target's properties are used: its
first layers are a smaller model of the same vocabulary, and its weights in INT8 nearly agree with
it. INT8 weights are dequantised at each product: torch has no portable kernel that would not. So
they save bytes only where a dequantised matrix stays in the cache.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Protocol

from labkit.bench.drafting.cached import CachedModel
from labkit.bench.drafting.lookup import look_up


class Drafter(Protocol):
    """Guesses what the target will say."""

    def start(self, prompt: Sequence[int]) -> None:
        """A new sequence begins with `prompt`; not timed."""

    def propose(self, tokens: Sequence[int], most: int) -> list[int]:
        """Up to `most` tokens that may follow `tokens`, of which earlier ones never change."""


class Lookup:
    """Prompt lookup."""

    def start(self, prompt: Sequence[int]) -> None:
        """Nothing to prepare."""

    def propose(self, tokens: Sequence[int], most: int) -> list[int]:
        """See `look_up`."""
        return look_up(tokens, most)


class ModelDrafter:
    """Greedy drafts of a smaller or cheaper model with a cache of its own."""

    def __init__(self, model: CachedModel) -> None:
        self._model = model
        self._told: list[int] = []

    def start(self, prompt: Sequence[int]) -> None:
        """Read the prompt, but for its last token, which the first draft begins with."""
        self._told = list(prompt[:-1])
        self._model.start(self._told)

    def propose(self, tokens: Sequence[int], most: int) -> list[int]:
        """Drop what the target refused, read what it said instead, then draft."""
        if most < 1:
            return []
        known = _common(self._told, tokens[:-1])
        self._model.rewind(known)
        draft = [self._model.feed(tokens[known:], keep=1)[-1]]
        while len(draft) < most:
            draft.append(self._model.feed(draft[-1:], keep=1)[-1])
        self._told = [*tokens, *draft[:-1]]
        return draft


def _common(left: Sequence[int], right: Sequence[int]) -> int:
    """Length of the common beginning."""
    for count, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return count
    return min(len(left), len(right))


def first_layers(model: Any, count: int) -> Any:
    """A model of `model`'s first `count` layers, its embedding, last norm and head; all shared."""
    import torch

    inner = _twin(model.model, {"layers": torch.nn.ModuleList(model.model.layers[:count])})
    config = copy.deepcopy(model.config)
    config.num_hidden_layers = count
    inner.config = config
    outer = _twin(model, {"model": inner})
    outer.config = config
    return outer


def with_int8_weights(model: Any) -> Any:
    """`model` with its Linear weights in INT8, one scale per output channel; the rest shared."""
    import torch

    def change(module: Any) -> Any:
        if isinstance(module, torch.nn.Linear):
            return _int8_linear(module)
        return _twin(module, {name: change(child) for name, child in module.named_children()})

    return change(model)


def streamed_parameters(model: Any) -> int:
    """Weights and scales that one token streams; of an embedding only a tied head's."""
    import torch

    counted: dict[int, int] = {}
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            continue
        tensors = [*module.parameters(recurse=False)]
        tensors += [getattr(module, name) for name in ("weight", "scale") if _is_int8(module)]
        counted |= {tensor.data_ptr(): tensor.numel() for tensor in tensors}
    return sum(counted.values())


def _is_int8(module: Any) -> bool:
    return any(str(buffer.dtype) == "torch.int8" for buffer in module.buffers(recurse=False))


def _twin(module: Any, children: dict[str, Any]) -> Any:
    """A shallow copy with some children replaced; parameters and other children are shared."""
    twin = copy.copy(module)
    twin._modules = {**module._modules, **children}
    return twin


def _int8_linear(linear: Any) -> Any:
    """Symmetric per-channel INT8: scale = largest magnitude of the row ÷ 127."""
    import torch

    class Int8Linear(torch.nn.Module):
        weight: torch.Tensor
        scale: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            rows = linear.weight.detach()
            scale = rows.abs().amax(dim=1).clamp(min=1e-12) / 127
            self.register_buffer("scale", scale)
            self.register_buffer("weight", (rows / scale[:, None]).round().to(torch.int8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.linear(x, self.weight.to(x.dtype)) * self.scale

    return Int8Linear()
