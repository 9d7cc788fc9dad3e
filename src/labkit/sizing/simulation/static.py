"""Static (request-level) batching: a batch is filled, padded, and kept until its slowest is done.

Prompts are padded to the longest of the batch and every slot decodes until the longest answer
ends; nobody joins meanwhile. What FasterTransformer behind a batching server, or `generate` on a
list, does.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from labkit.sizing.checks import SizingError, require_count
from labkit.sizing.simulation.blocks import BlockPool, KVCache
from labkit.sizing.simulation.journal import Journal
from labkit.sizing.simulation.recorder import Recorder
from labkit.sizing.simulation.steps import DecodeRun, StepTimes, decode_runs, prompt_pairs
from labkit.sizing.simulation.traffic import Requests


@dataclass(frozen=True, slots=True)
class StaticBatching:
    """Batches of at most `max_num_seqs` requests, first come, first served.

    max_wait_seconds: how long the first of a batch waits for others (Triton's queue delay).
    streams: whether a request counts as finished when its own last token is made; else all are
    handed over at the end of the batch. `jump=False` does every decode step by itself.
    """

    max_num_seqs: int
    max_wait_seconds: float = 0.0
    streams: bool = False
    jump: bool = True

    def __post_init__(self) -> None:
        require_count("max_num_seqs", self.max_num_seqs)
        if not math.isfinite(self.max_wait_seconds) or self.max_wait_seconds < 0.0:
            raise SizingError(
                f"max_wait_seconds must be at least 0, not {self.max_wait_seconds!r}."
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
        prompt = max(self.prompt[request] for request in batch)
        output = max(self.output[request] for request in batch)
        blocks = self._padded_blocks(size, prompt, output)
        self.pool.take(blocks)
        for request in batch:
            self.journal.started(request, self.now)
            recorder.enter(request, self.now)

        # A hit saves work only where all have it: the batch is one rectangle of tokens.
        hits = min(self.hits[request] for request in batch)
        new = prompt - hits
        seconds = self.steps.mixed_seconds(size * new, size * prompt_pairs(new, hits), 0, 0)
        recorder.step(seconds, slots=size, cached=0, tokens=size * new)
        recorder.padded_tokens += sum(prompt - self.prompt[request] for request in batch)
        self.now += seconds
        for request in batch:
            self.journal.first_token[request] = self.now
            recorder.prefilled(request, self.now)

        by_length = sorted(batch, key=lambda request: (self.output[request], request))
        ended = self._decode_all(by_length, prompt)
        self.pool.give(blocks)
        for request in batch:
            finish = ended[request] if self.spec.streams else self.now
            recorder.leave(request, self.now, ended[request])
            self.journal.finished(request, finish)
            self.feed.finished(finish)

    def _decode_all(self, by_length: list[int], prompt: int) -> dict[int, float]:
        """Decode to the longest answer; when each request's own last token was made."""
        size, made = len(by_length), 1
        ended: dict[int, float] = {}
        for place, request in enumerate(by_length):
            todo = self.output[request] - made
            while todo > 0:
                chunk = todo if self.spec.jump else 1
                cached = size * (prompt + made - 1)
                for run in decode_runs(self.steps, size, cached, chunk):
                    self._decoded(run, size, size * (prompt + made - 1), running=size - place)
                    made += run.steps
                todo -= chunk
            ended[request] = self.now
        return ended

    def _decoded(self, run: DecodeRun, size: int, cached: int, *, running: int) -> None:
        """Decode steps in which `running` of `size` sequences still write their answer."""
        self.recorder.decode(run, slots=size, sequences=size, cached=cached)
        self.recorder.padded_tokens += run.steps * (size - running)
        self.recorder.gaps_of(run, running)
        self.now += run.seconds
