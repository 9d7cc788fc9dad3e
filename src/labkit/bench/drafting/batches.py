"""What a verification costs in batches: γ + 1 tokens of every sequence against one of every one.

At batch 1 the weights take most of a step, and more tokens ride along nearly free. A full batch
has used that up already: then a verification costs what its tokens cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from labkit.bench import clock
from labkit.bench.session import Measured, Session

_SAMPLES = 6
_STRIDE = 7919  # spreads the token ids over the vocabulary; which they are makes no difference


def measure_batches(
    session: Session, model: Any, batches: Sequence[int], gamma: int, context: int = 64
) -> Measured:
    """Series batch.bB.step and batch.bB.verify, and the fact batches (see `bench.speculation`)."""
    import torch

    session.say("verification in batches")
    measured = Measured()
    medians: dict[str, list[float]] = {"step": [], "verify": []}
    with torch.inference_mode():
        for batch in batches:
            forward = _forward(session, model, batch, context)
            for name, tokens in (("step", 1), ("verify", gamma + 1)):
                samples = clock.steady(session, partial(forward, tokens), _SAMPLES)
                label = f"Batch {batch}, {'one token' if tokens == 1 else f'{tokens} tokens'} each"
                key = f"batch.b{batch}.{name}"
                clock.add_readings(measured, key, label, [samples], session.device)
                medians[name].append(clock.median_ms(samples, session.device))
    measured.facts["batches"] = {
        "gamma": gamma,
        "context_tokens": context,
        "batch": list(batches),
        "step_ms": medians["step"],
        "verify_ms": medians["verify"],
        "verify_over_step": [
            round(verify / step, 3)
            for step, verify in zip(medians["step"], medians["verify"], strict=True)
        ],
    }
    return measured


def _forward(session: Session, model: Any, batch: int, context: int) -> Callable[[int], None]:
    """A forward over so many new tokens of each sequence, which are then taken back."""
    import torch
    from transformers import DynamicCache

    cache = DynamicCache(config=model.config)
    vocabulary = model.config.vocab_size

    def ids(count: int) -> torch.Tensor:
        numbers = torch.arange(batch * count, device=session.device) * _STRIDE
        return numbers.remainder(vocabulary).reshape(batch, count)

    def forward(count: int) -> None:
        logits = model(input_ids=ids(count), past_key_values=cache, use_cache=True).logits
        logits.argmax(dim=-1)
        cache.crop(-count)  # negative: that many off the end

    model(input_ids=ids(context), past_key_values=cache, use_cache=True, logits_to_keep=1)
    return forward
