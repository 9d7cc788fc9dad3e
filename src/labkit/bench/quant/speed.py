"""Decode and prefill of a torch model, timed in wall and in CPU seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labkit.bench.sampling import SPREAD_LIMIT, Samples, spread
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
    runs: list[Greedy] = []

    def decode() -> Samples:
        """From the prompt on, so that a further try meets the same contexts."""
        runs.append(Greedy(model, ids[:, :PROMPT_TOKENS]))
        return session.time(
            runs[-1].step, warmup=WARM_TOKENS, min_samples=tokens, max_samples=tokens, attempts=1
        )

    with torch.no_grad():
        decoded = quietest(session, decode)
        filled = session.time(
            lambda: model(input_ids=ids, use_cache=False, logits_to_keep=1),
            min_samples=PREFILLS,
            max_samples=PREFILLS,
            attempts=1,
        )
    add_decode(measured, f"torch.{key}", label, decoded)
    add_prefill(measured, f"torch.{key}", label, ids.shape[1], filled)
    return runs[-1].written


def decode_tokens(session: Session) -> int:
    """How many tokens are timed."""
    return 8 if session.quick else 24


def quietest(session: Session, take: Callable[[], Samples]) -> Samples:
    """The set of samples whose CPU times scatter least, of up to three tries (quick: two).

    A set within the limit ends the search.
    """
    best: Samples | None = None
    for attempt in range(1, 3 if session.quick else 4):
        taken = take()
        if best is None or spread(taken.cpu_s) < spread(best.cpu_s):
            best = replace(taken, attempts=attempt)
        if spread(best.cpu_s) <= SPREAD_LIMIT:
            break
    if best is None:
        raise ValueError("no try was made")
    return best


class Greedy:
    """Greedy decode of one sequence: the prompt ([1, n]) is prefilled, then token after token."""

    def __init__(self, model: Any, prompt: torch.Tensor) -> None:
        from transformers import DynamicCache

        self._model, self._device = model, prompt.device
        self._cache = DynamicCache(config=model.config)
        self.written: list[int] = []
        self._feed(prompt)

    def step(self) -> None:
        """One more token."""
        import torch

        self._feed(torch.tensor([[self.written[-1]]], device=self._device))

    def _feed(self, ids: torch.Tensor) -> None:
        logits = self._model(input_ids=ids, past_key_values=self._cache, use_cache=True).logits
        self.written.append(int(logits[0, -1].argmax()))


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
