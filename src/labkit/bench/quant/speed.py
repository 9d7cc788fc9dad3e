"""Decode and prefill of a torch model, timed in wall and in CPU seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labkit.bench.sampling import Samples
from labkit.bench.session import Measured, Session
from labkit.contract import Series

if TYPE_CHECKING:
    import torch

PROMPT_TOKENS = 32
WARM_TOKENS = 2
PREFILLS = 5
_DIGITS = 5


def time_torch(
    session: Session, measured: Measured, key: str, label: str, model: Any, ids: torch.Tensor
) -> None:
    """Add torch.<key>.step, .cpu and .prefill of `model`; `ids` is one window, [1, tokens]."""
    import torch

    tokens = decode_tokens(session)
    with torch.no_grad():
        step = greedy(model, ids[:, :PROMPT_TOKENS])
        decoded = session.time(
            step, warmup=WARM_TOKENS, min_samples=tokens, max_samples=tokens, attempts=1
        )
        filled = session.time(
            lambda: model(input_ids=ids, use_cache=False, logits_to_keep=1),
            min_samples=PREFILLS,
            max_samples=PREFILLS,
            attempts=1,
        )
    add_decode(measured, f"torch.{key}", label, decoded)
    add_prefill(measured, f"torch.{key}", label, ids.shape[1], filled)


def decode_tokens(session: Session) -> int:
    """How many tokens are timed."""
    return 8 if session.quick else 24


def greedy(model: Any, prompt: torch.Tensor) -> Any:
    """Prefill `prompt` ([1, n]) and return a function that decodes one more token greedily."""
    from transformers import DynamicCache

    cache = DynamicCache(config=model.config)

    def following(ids: torch.Tensor) -> torch.Tensor:
        logits = model(input_ids=ids, past_key_values=cache, use_cache=True).logits
        token: torch.Tensor = logits[:, -1:].argmax(dim=-1)
        return token

    latest = [following(prompt)]

    def step() -> None:
        latest[0] = following(latest[0])

    return step


def add_decode(measured: Measured, name: str, label: str, samples: Samples) -> None:
    """<name>.step: wall ms of each token; <name>.cpu: the process's CPU ms of each."""
    measured.add_times(f"{name}.step", f"{label}: one token", samples)
    cpu = [1e3 * seconds for seconds in samples.cpu_s]
    measured.series.append(
        Series(f"{name}.cpu", "ms", rounded(cpu), f"{label}: one token, CPU time")
    )


def add_prefill(measured: Measured, name: str, label: str, tokens: int, samples: Samples) -> None:
    """<name>.prefill: prompt tokens per second of CPU time."""
    rates = [tokens / seconds for seconds in samples.cpu_s]
    measured.series.append(
        Series(f"{name}.prefill", "tok/s", rounded(rates), f"{label}: prefill, per CPU-second")
    )


def rounded(values: Sequence[float]) -> tuple[float, ...]:
    """Samples to five significant digits: more is noise."""
    return tuple(float(f"{value:.{_DIGITS}g}") for value in values)
