"""Static (request-level) batching: a batch is filled, padded, and kept until its slowest is done.

Every slot decodes until the longest answer ends; nobody joins meanwhile. Prompts of unequal length
share a batch in one of two ways:

- padded: all are as long as the longest, in one step (`generate` on a list does this);
- shortest: one step goes as far as the shortest prompt; the rest of the others is read one token a
  step, as if it were an answer (FasterTransformer 4.0 of 2021: its `min_start_length`).
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from labkit.contract.errors import UnknownNameError
from labkit.sizing.checks import SizingError, require_count
from labkit.sizing.simulation.blocks import BlockPool, KVCache
from labkit.sizing.simulation.journal import Journal
from labkit.sizing.simulation.recorder import Recorder
from labkit.sizing.simulation.steps import StepTimes, decode_runs, prompt_pairs
from labkit.sizing.simulation.traffic import Requests


@dataclass(frozen=True, slots=True)
class StaticBatching:
    """Batches of at most `max_num_seqs` requests, first come, first served.

    max_wait_seconds: how long the first of a batch waits for others (Triton's queue delay).
    prefill: "padded" or "shortest", see the module.
    streams: whether a request counts as finished when its own last token is made; else all are
    handed over at the end of the batch. `jump=False` does every decode step by itself.
    """

    max_num_seqs: int
    max_wait_seconds: float = 0.0
    prefill: str = "padded"
    streams: bool = False
    jump: bool = True

    def __post_init__(self) -> None:
        require_count("max_num_seqs", self.max_num_seqs)
        if not math.isfinite(self.max_wait_seconds) or self.max_wait_seconds < 0.0:
            raise SizingError(
                f"max_wait_seconds must be at least 0, not {self.max_wait_seconds!r}."
            )
        if self.prefill not in _PREFILLS:
            raise UnknownNameError("prefill", self.prefill, _PREFILLS)

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
        run = _StaticRun(self, requests, steps, kv, journal, recorder)
        run.serve()
        return run.pool


class _StaticRun:
    def __init__(
        self,
        spec: StaticBatching,
        requests: Requests,
        steps: StepTimes,
        kv: KVCache,
        journal: Journal,
        recorder: Recorder,
    ) -> None:
        self.spec = spec
        self.steps = steps
        self.kv = kv
        self.pool = BlockPool(kv)
        self.journal = journal
        self.recorder = recorder
        self.feed = requests.feed
        self.prompt: list[int] = requests.prompt.tolist()
        self.output: list[int] = requests.output.tolist()
        self.hits: list[int] = requests.cached.tolist()
        self.now = 0.0
        self.waiting: deque[int] = deque()

    def serve(self) -> None:
        """Until every request is answered."""
        while self.journal.unfinished:
            self._receive()
            if not self.waiting:
                self.now = self.feed.next_time
                continue
            self._wait_for_company()
            self._serve_batch(self._gather())

    def _receive(self) -> None:
        while self.feed.next_time <= self.now:
            self.waiting.append(self.journal.arrived(self.feed.take()))

    def _wait_for_company(self) -> None:
        patience = self.journal.arrival[self.waiting[0]] + self.spec.max_wait_seconds
        while len(self.waiting) < self.spec.max_num_seqs and self.now < patience:
            self.now = min(self.feed.next_time, patience)
            self._receive()

    def _gather(self) -> list[int]:
        """The head of the queue, as long as slots and padded blocks last."""
        batch: list[int] = []
        prompt = output = 0
        while self.waiting and len(batch) < self.spec.max_num_seqs:
            head = self.waiting[0]
            longest = max(prompt, self.prompt[head]), max(output, self.output[head])
            if batch and self._padded_blocks(len(batch) + 1, *longest) > self.pool.total:
                break
            prompt, output = longest
            batch.append(self.waiting.popleft())
        return batch

    def _padded_blocks(self, sequences: int, prompt: int, output: int) -> int:
        return sequences * self.kv.most_blocks(prompt, output)

    def _serve_batch(self, batch: list[int]) -> None:
        size, recorder = len(batch), self.recorder
        longest = max(self.prompt[request] for request in batch)
        output = max(self.output[request] for request in batch)
        blocks = self._padded_blocks(size, longest, output)
        self.pool.take(blocks)
        for request in batch:
            self.journal.started(request, self.now)
            recorder.enter(request, self.now)

        rows = _PREFILLS[self.spec.prefill]([self.prompt[request] for request in batch])
        first = dict(zip(batch, rows.first, strict=True))
        self._prefill(batch, rows.width)
        ended = self._decode(batch, first, rows.width)
        self.pool.give(blocks)
        for request in batch:
            finish = ended[request] if self.spec.streams else self.now
            recorder.leave(request, self.now, ended[request])
            self.journal.finished(request, finish)
            self.feed.finished(finish)

    def _prefill(self, batch: list[int], width: int) -> None:
        """One step over a rectangle of `width` tokens per request, padding included."""
        size = len(batch)
        # A hit saves work only where all have it: the batch is one rectangle of tokens.
        hits = min(self.hits[request] for request in batch)
        new = width - hits
        seconds = self.steps.mixed_seconds(size * new, size * prompt_pairs(new, hits), 0, 0)
        self.recorder.step(seconds, slots=size, cached=0, tokens=size * new)
        self.recorder.padded_tokens += sum(max(width - self.prompt[r], 0) for r in batch)
        self.now += seconds

    def _decode(self, batch: list[int], first: dict[int, int], width: int) -> dict[int, float]:
        """Decode from `width` tokens per row to the last answer's end; when each answer ended.

        A row's first output token is made by the position `first` - 1, its last one by the
        position first + output - 2. In between it writes; elsewhere its slot reads its own
        prompt, or pads.
        """
        last = {request: first[request] + self.output[request] - 1 for request in batch}
        begins, ends = Counter(first.values()), Counter(last.values())
        writing, done = 0, width
        times = {}
        for mark in sorted(begins | ends):
            while done < mark:
                done += self._decode_jump(batch, done, mark, writing)
            times[mark] = self.now
            writing += begins[mark] - ends[mark]
        self.recorder.padded_tokens += sum(done - last[request] for request in batch)
        for request in batch:
            self.journal.first_token[request] = times[first[request]]
            self.recorder.prefilled(request, times[first[request]])
        return {request: times[last[request]] for request in batch}

    def _decode_jump(self, batch: list[int], done: int, mark: int, writing: int) -> int:
        """Decode steps from `done` tokens per row towards `mark`: how many were done."""
        size = len(batch)
        most = mark - done if self.spec.jump else 1
        for run in decode_runs(self.steps, size, size * done, most):
            self.recorder.decode(run, slots=size, sequences=size, cached=size * done)
            self.recorder.gaps_of(run, writing)
            self.now += run.seconds
            done += run.steps
        return most


class _Rows(NamedTuple):
    """How a batch is laid out: tokens per row of the first step; per row, where answers begin."""

    width: int
    first: list[int]


# how prompts of unequal length share a batch -> its rows
_PREFILLS: dict[str, Callable[[list[int]], _Rows]] = {
    "padded": lambda prompts: _Rows(max(prompts), [max(prompts)] * len(prompts)),
    "shortest": lambda prompts: _Rows(min(prompts), prompts),
}
