"""What waiting users see of a server: a crowd, a shared beginning, a long prompt amid short ones.

Each scene takes an endpoint and prompts nobody has sent before, and returns times in ms.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.bench.engine.crowd import ask_all, ask_amid, ask_in_turn
from labkit.bench.engine.requests import Request, piece
from labkit.bench.engine.sse import Completion, Endpoint
from labkit.contract import LabkitError

ANSWER = 16
PROMPT = 32
SHARED, OWN = 320, 16
LONG, LONG_ANSWER = 400, 4
STREAM, STREAMS, AFTER = 32, 2, 8


@dataclass(slots=True)
class Prompts:
    """Prompts cut from a text, each beginning at a sentence of its own, so that none is cached."""

    tokens: Sequence[Sequence[int]]
    used: int = 0

    def new(self, length: int) -> tuple[int, ...]:
        """A prompt of `length` tokens. Raises IndexError when the sentences are used up."""
        if self.used >= len(self.tokens):
            raise IndexError("every sentence has begun a prompt already")
        self.used += 1
        return tuple(piece(self.tokens, self.used - 1, length))

    def several(self, count: int, length: int, answer: int) -> list[Request]:
        """`count` requests with new prompts."""
        return [Request(index, self.new(length), answer) for index in range(count)]


def staircase(endpoint: Endpoint, prompts: Prompts, users: int) -> dict[str, Any]:
    """`users` requests at the same moment: who waits how long for a first token."""
    answers = ask_all(endpoint, prompts.several(users, PROMPT, ANSWER))
    took = max(a.ended for a in answers) - min(a.asked for a in answers)
    return {
        "ttft_ms": sorted(_ms(a.ttft_s) for a in answers),
        "e2e_ms": sorted(_ms(a.e2e_s) for a in answers),
        "output_tokens": ANSWER,
        "tok_per_s": round(sum(len(a.token_ids) for a in answers) / took, 2),
    }


def shared_prefix(endpoint: Endpoint, prompts: Prompts, pairs: int) -> dict[str, Any]:
    """Pairs of prompts with the same long beginning, the second after the first was answered."""
    cold, warm = [], []
    for _ in range(pairs):
        shared = prompts.new(SHARED)
        endings = [tuple(reversed(shared[at : at + OWN])) for at in (0, OWN)]
        pair = [Request(n, shared + ending, 2) for n, ending in enumerate(endings)]
        first, second = ask_in_turn(endpoint, pair)
        cold.append(_ms(first.ttft_s))
        warm.append(_ms(second.ttft_s))
    return {"shared_tokens": SHARED, "own_tokens": OWN, "cold_ms": cold, "warm_ms": warm}


def long_prompt(
    endpoint: Endpoint, prompts: Prompts, repetitions: int, tokens_per_step: int
) -> dict[str, Any]:
    """Streams that are decoding when a long prompt arrives: the gaps one of them sees."""
    scenes = [_one_long_prompt(endpoint, prompts) for _ in range(repetitions)]
    shown, _, arrived_at = scenes[len(scenes) // 2]
    gaps = list(_gaps_ms(shown))
    return {
        "tokens_per_step": tokens_per_step,
        "itl_ms": gaps,
        "arrived_at": arrived_at,
        "worst_ms": [max(list(_gaps_ms(stream))[at:]) for stream, _, at in scenes],
        "usual_ms": round(statistics.median(gaps), 2),
        "long_ttft_ms": [_ms(late.ttft_s) for _, late, _ in scenes],
    }


def _one_long_prompt(endpoint: Endpoint, prompts: Prompts) -> tuple[Completion, Completion, int]:
    running = prompts.several(STREAMS, PROMPT, STREAM)
    late = Request(STREAMS, prompts.new(LONG), LONG_ANSWER)
    streams, last, arrived_at = ask_amid(endpoint, running, late, AFTER)
    if arrived_at >= len(streams[0].gaps_s):
        raise LabkitError(
            f"The streams of {STREAM} tokens were over before the long prompt came: nothing was "
            "there to disturb. Run the measurement again."
        )
    return streams[0], last, arrived_at


def _gaps_ms(stream: Completion) -> Iterator[float]:
    return (_ms(gap) for gap in stream.gaps_s)


def _ms(seconds: float) -> float:
    return round(1e3 * seconds, 2)
