"""Decode and prefill of a torch model, timed in wall and in CPU seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
) -> list[int]:
    """Add torch.<key>.step, .cpu and .prefill of `model`; `ids` is one window, [1, tokens].

    Returns the tokens that it wrote greedily after the first 32 of the window.
    """
    import torch

    tokens = decode_tokens(session)
    with torch.no_grad():
        step, written = greedy(model, ids[:, :PROMPT_TOKENS])
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
    return written


def decode_tokens(session: Session) -> int:
    """How many tokens are timed."""
    return 8 if session.quick else 24


def greedy(model: Any, prompt: torch.Tensor) -> tuple[Callable[[], None], list[int]]:
    """Prefill `prompt` ([1, n]); a function that decodes one more token, and the tokens so far."""
    import torch
    from transformers import DynamicCache

    cache = DynamicCache(config=model.config)
    written: list[int] = []

    def feed(ids: torch.Tensor) -> None:
        logits = model(input_ids=ids, past_key_values=cache, use_cache=True).logits
        written.append(int(logits[0, -1].argmax()))

    def step() -> None:
        feed(torch.tensor([[written[-1]]], device=prompt.device))

    feed(prompt)
    return step, written


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
