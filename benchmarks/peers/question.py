"""What every tool is asked, and what it answers: plain numbers that travel as JSON.

A question is one run of one model on one machine. A tool answers with times; `metrics` turns them
into the row's metric in the same way for all tools, so that none is judged by another's definition.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


class Unsupported(Exception):  # noqa: N818 - an answer, not an error
    """The tool does not model this row; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Question:
    """One run. Bytes, bytes/s and FLOP/s of one device; `link_bytes_per_s` is bidirectional.

    family: serving (any compiled or serving engine on GPUs), eager, llama.cpp, cpu, neuron.
    weights: the row's own word (fp16, bf16, fp8, int8, awq4, gptq4, int4, bnb4, q4_k_m, …).
    static: all sequences start together (a static batch), else they come and go.
    """

    id: str
    engine: str
    family: str
    config: dict[str, Any]
    parameters: int
    gated_mlp: bool
    gpu: str
    memory_bytes: int
    bandwidth: float
    flops: dict[str, float]
    link: str
    link_bytes_per_s: float
    weights: str
    bits_per_weight: float
    kv_bits: int
    tensor_parallel: int
    batch: int
    prompt_tokens: int
    output_tokens: int
    static: bool

    @property
    def context(self) -> int:
        """Mean cached tokens of a sequence while it decodes: prompt + output / 2."""
        return max(1, round(self.prompt_tokens + self.output_tokens / 2))

    @property
    def weight_only(self) -> bool:
        """Whether products run in 16 bit although the weights are stored in fewer."""
        return self.bits_per_weight < 16 and (self.weights != "fp8" or "fp8" not in self.flops)

    def as_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(line: str) -> Question:
        """The question written by `as_json`."""
        return Question(**json.loads(line))


@dataclass(frozen=True, slots=True)
class Times:
    """A tool's answer in ms; None where it has none.

    prefill: from the start to the first token, all prompts of the batch together.
    step: between two tokens of one sequence.
    steady: sequences come and go, `step` already carries their prefills (a rate is batch / step)
    and `prefill` is one request's.
    memory_gb: of one device in GB (1e9 bytes): weights, cache and whatever else the tool counts.
    """

    prefill_ms: float | None = None
    step_ms: float | None = None
    memory_gb: float | None = None
    steady: bool = False
