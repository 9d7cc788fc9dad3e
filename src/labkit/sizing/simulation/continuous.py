"""Continuous (iteration-level) batching: after every step, finished requests leave and others join.

First come, first served. A request is admitted when a sequence slot and the blocks of its whole
prompt are free. Two ways to prefill:

- chunked (vLLM's V1 engine): every step decodes all running sequences, and what is left of
  `max_num_batched_tokens` goes to prompts, the last of them in part;
- whole prompts first (vLLM's V0 default): as long as somebody can be admitted, a step does only
  prompts and decoding stands still.

When a running sequence needs a block and none is free, the last arrived is preempted by
recomputation: its blocks are freed, it goes back to the head of the queue, and its prompt and the
tokens written so far are prefilled again.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.sizing.checks import SizingError, require_count
from labkit.sizing.simulation.blocks import BlockPool, KVCache
from labkit.sizing.simulation.continuous_run import ContinuousRun
from labkit.sizing.simulation.journal import Journal
from labkit.sizing.simulation.recorder import Recorder
from labkit.sizing.simulation.steps import StepTimes
from labkit.sizing.simulation.traffic import Requests

_NO_LIMIT = 2**62
_SMALLEST_DEFAULT_BUDGET = 2048  # vLLM's default for short-context models


@dataclass(frozen=True, slots=True)
class ContinuousBatching:
    """The scheduler's limits, by vLLM's names.

    max_num_batched_tokens: tokens per step. None: 2048, or without chunked prefill the longest
    sequence if that is more. `jump=False` does every decode step by itself: the same result,
    slowly, to check the jumps against.
    """

    max_num_seqs: int
    max_num_batched_tokens: int | None = None
    chunked_prefill: bool = True
    jump: bool = True

    def __post_init__(self) -> None:
        require_count("max_num_seqs", self.max_num_seqs)
        budget = self.max_num_batched_tokens
        if budget is not None:
            require_count("max_num_batched_tokens", budget)
            if budget < self.max_num_seqs:
                raise SizingError(
                    f"max_num_batched_tokens={budget} must be at least "
                    f"max_num_seqs={self.max_num_seqs}: each running sequence takes one per step."
                )

    @property
    def slots(self) -> int:
        """Sequences that can run at once."""
        return self.max_num_seqs

    def run(
        self,
        requests: Requests,
        steps: StepTimes,
        kv: KVCache,
        journal: Journal,
        recorder: Recorder,
    ) -> BlockPool:
        """Serve every request; what happened is in `journal` and `recorder`."""
        run = ContinuousRun(
            requests,
            steps,
            kv,
            journal,
            recorder,
            slots=self.max_num_seqs,
            budget=self.budget_for(requests),
            chunked=self.chunked_prefill,
            longest_jump=_NO_LIMIT if self.jump else 1,
        )
        run.serve()
        return run.pool

    def budget_for(self, requests: Requests) -> int:
        """Tokens per step. Raises `SizingError` where a whole prompt would never fit."""
        longest = int((requests.prompt + requests.output).max()) - 1
        budget = self.max_num_batched_tokens
        if budget is None:
            budget = max(_SMALLEST_DEFAULT_BUDGET, self.max_num_seqs)
            return budget if self.chunked_prefill else max(budget, longest)
        if not self.chunked_prefill and budget < longest:
            raise SizingError(
                f"Without chunked prefill max_num_batched_tokens must be at least {longest}, the "
                f"longest prompt with its answer (it may have to be recomputed), not {budget}."
            )
        return budget
