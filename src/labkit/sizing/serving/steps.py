"""What the serving model asks of a step-time model, and a step model made faster or slower."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from labkit.sizing.checks import require_positive


class StepTimes(Protocol):
    """Seconds of one engine step. `labkit.sizing.step_model` has the calibrated one."""

    def mixed_seconds(
        self,
        prefill_tokens: float,
        prefill_pairs: float,
        decode_sequences: float,
        decode_tokens: float,
    ) -> float:
        """One step (chunked prefill): new prompt tokens beside sequences that get one token each.

        `prefill_pairs` is the sum of tokens x cached + tokens^2 / 2 over the chunks (query-key
        pairs); `decode_tokens` the sum of the decoding sequences' cached tokens. With no prefill
        tokens it is a decode step, with no sequences a prefill alone.
        """
        ...


@dataclass(frozen=True, slots=True)
class ScaledSteps:
    """A step model whose decode part and whose further time for prefill are multiplied.

    That is how a step model's error band is carried through a queue: once at each end. `floor`:
    no step is faster than this one's (the roofline).
    """

    steps: StepTimes
    decode: float = 1.0
    prefill: float = 1.0
    floor: StepTimes | None = None

    def __post_init__(self) -> None:
        require_positive("decode", self.decode)
        require_positive("prefill", self.prefill)

    def mixed_seconds(
        self,
        prefill_tokens: float,
        prefill_pairs: float,
        decode_sequences: float,
        decode_tokens: float,
    ) -> float:
        """decode x (the step without prefill) + prefill x (what the prompt tokens add to it)."""
        asked = prefill_tokens, prefill_pairs, decode_sequences, decode_tokens
        alone = 0.0
        if decode_sequences > 0:
            alone = self.steps.mixed_seconds(0.0, 0.0, decode_sequences, decode_tokens)
        seconds = self.decode * alone
        if prefill_tokens > 0:
            seconds += self.prefill * (self.steps.mixed_seconds(*asked) - alone)
        return seconds if self.floor is None else max(seconds, self.floor.mixed_seconds(*asked))
