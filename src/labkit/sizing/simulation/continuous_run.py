"""One run of continuous batching, event by event. The rules stand in `continuous`."""

from __future__ import annotations

import bisect
import heapq
import math
from collections import deque

from labkit.sizing.simulation.blocks import BlockPool, Growth, KVCache
from labkit.sizing.simulation.journal import Journal
from labkit.sizing.simulation.recorder import Recorder
from labkit.sizing.simulation.steps import DecodeRun, StepTimes, decode_runs, prompt_pairs
from labkit.sizing.simulation.traffic import Requests


class ContinuousRun:
    """The state of one run. A sequence is "active" from admission until it ends or is preempted.

    `turn` counts the decode steps so far. All decoding sequences take part in each of them, so a
    sequence's cached tokens are base + turn, and it ends at a turn that is known on joining.
    """

    def __init__(
        self,
        requests: Requests,
        steps: StepTimes,
        kv: KVCache,
        journal: Journal,
        recorder: Recorder,
        *,
        slots: int,
        budget: int,
        chunked: bool,
        longest_jump: int,
    ) -> None:
        self.chunked = chunked
        self.longest_jump = longest_jump
        self.slots = slots
        self.budget = budget
        self.steps = steps
        self.kv = kv
        self.pool = BlockPool(kv)
        self.watermark = int(kv.watermark * self.pool.total) if kv.blocks is not None else 0
        self.growth = Growth(kv.block_tokens)
        self.journal = journal
        self.recorder = recorder
        self.feed = requests.feed
        self.prompt: list[int] = requests.prompt.tolist()
        self.output: list[int] = requests.output.tolist()
        self.hits: list[int] = requests.cached.tolist()

        n = requests.count
        self.now = 0.0
        self.turn = 0
        self.waiting: deque[int] = deque()
        self.active: list[int] = []  # rising: arrival order
        self.prefilling: deque[int] = deque()
        self.progress = [0] * n  # prefilled tokens of a request in `prefilling`
        self.decoding = 0
        self.bases = 0  # sum of the decoding sequences' bases
        self.base = [0] * n
        self.written = [0] * n  # output tokens, as of joining or preemption
        self.ends_at = [-1] * n  # turn; -1: not decoding
        self.endings: list[tuple[int, int]] = []  # heap of (turn, request), stale ones included
        self.last_decode = 0.0  # when the last decode step ended
        self.joined: dict[int, float] = {}  # since then: request -> time of its last token
        self.last_token = [0.0] * n  # of preempted requests

    @property
    def cached(self) -> int:
        """Cached tokens of the decoding sequences."""
        return self.bases + self.decoding * self.turn

    def serve(self) -> None:
        """Until every request is answered."""
        while self.journal.unfinished:
            self._receive()
            if not self.active and not self.waiting:
                self.now = self.feed.next_time
            elif self.chunked:
                self._chunked_step()
            elif not self._prompt_step():
                self._secure_blocks()
                self._decode_jump()

    def _receive(self) -> None:
        while self.feed.next_time <= self.now:
            self.waiting.append(self.journal.arrived(self.feed.take()))

    # --- admission and prefill -----------------------------------------------------------------

    def _admit(self, spoken_for: int) -> int | None:
        """The head of the queue gets a slot and its blocks, if there are any.

        `spoken_for`: free blocks that this very step's decoding takes.
        """
        if not self.waiting or len(self.active) >= self.slots:
            return None
        request = self.waiting[0]
        tokens = self.prompt[request] + self.written[request]
        blocks = self.kv.blocks_on_admission(tokens, self.prompt[request], self.output[request])
        spare = self.watermark if self.active else 0  # alone, a request may take every block
        if blocks > self.pool.free - spoken_for - spare:
            return None
        self.waiting.popleft()
        self.pool.take(blocks)
        bisect.insort(self.active, request)
        self.progress[request] = self.hits[request]
        self.journal.started(request, self.now)
        self.recorder.enter(request, self.now)
        return request

    def _prompt_step(self) -> bool:
        """One step of whole prompts, as many as the budget holds; False where nobody can come."""
        budget, pairs, tokens = self.budget, 0.0, 0
        batch: list[int] = []
        while self.waiting:
            head = self.waiting[0]
            new = self.prompt[head] + self.written[head] - self.hits[head]
            if new > budget or self._admit(0) is None:
                break
            batch.append(head)
            budget -= new
            tokens += new
            pairs += prompt_pairs(new, self.hits[head])
        if not batch:
            return False
        seconds = self.steps.mixed_seconds(tokens, pairs, 0, 0)
        self.recorder.step(seconds, slots=len(self.active), cached=self.cached, tokens=tokens)
        self.now += seconds
        for request in batch:
            self._prefilled(request)
        return True

    def _chunked_step(self) -> None:
        """All decoding sequences, and prompt chunks in what is left of the budget."""
        self._secure_blocks()
        budget = self.budget - self.decoding
        pairs, tokens, held = 0.0, 0, self.cached
        done: list[int] = []
        spoken_for = self.growth.needed(self.turn)
        queue = iter(list(self.prefilling))
        while budget > 0:
            request = next(queue, None)
            if request is None:
                request = self._admit(spoken_for)
                if request is None:
                    break
                self.prefilling.append(request)
            cached = self.progress[request]
            goal = self.prompt[request] + self.written[request]
            new = min(goal - cached, budget)
            budget -= new
            tokens += new
            held += cached
            pairs += prompt_pairs(new, cached)
            self.progress[request] = cached + new
            if cached + new == goal:
                done.append(request)
        if not tokens:
            self._decode_jump()
            return
        decoding = self.decoding
        seconds = self.steps.mixed_seconds(tokens, pairs, decoding, self.cached)
        self.recorder.step(seconds, slots=len(self.active), cached=held, tokens=tokens + decoding)
        began, self.now = self.now, self.now + seconds
        if decoding:
            self._tokens_written(DecodeRun(1, seconds, seconds), began)
        for request in done:
            self.prefilling.remove(request)
            self._prefilled(request)
        self._end_finished()

    def _prefilled(self, request: int) -> None:
        """The prefill's last position gives one output token; then the request decodes, or ends."""
        cached = self.prompt[request] + self.written[request]
        self.recorder.prefilled(request, self.now)
        if self.written[request]:
            self.recorder.gap(self.now - self.last_token[request])
        else:
            self.journal.first_token[request] = self.now
        self.written[request] += 1
        left = self.output[request] - self.written[request]
        self.base[request] = cached - self.turn
        if left == 0:
            self._end(request)
            return
        self.decoding += 1
        self.bases += self.base[request]
        self.joined[request] = self.now
        self.ends_at[request] = self.turn + left
        heapq.heappush(self.endings, (self.turn + left, request))
        if self.kv.paged:
            self.growth.add(self.base[request])

    # --- decoding ------------------------------------------------------------------------------

    def _secure_blocks(self) -> None:
        """Preempt until the next decode step's blocks are free."""
        while self.growth.needed(self.turn) > self.pool.free:
            self._preempt(self.active[-1])

    def _decode_jump(self) -> None:
        """Decode until something changes: an end, an arrival that can join, blocks running out."""
        most = min(self._next_ending() - self.turn, self.longest_jump)
        most = self.growth.affordable(self.turn, self.pool.free, most)
        room = not self.waiting and len(self.active) < self.slots
        until = self.feed.next_time - self.now if room else math.inf
        for run in decode_runs(self.steps, self.decoding, self.cached, most, until):
            self.recorder.decode(
                run, slots=len(self.active), sequences=self.decoding, cached=self.cached
            )
            began, self.now = self.now, self.now + run.seconds
            self._tokens_written(run, began)
        self._end_finished()

    def _tokens_written(self, run: DecodeRun, began: float) -> None:
        """The turns of `run`, which began then, are over: blocks and gaps."""
        if self.kv.paged:
            self.pool.take(self.growth.needed_in(self.turn, run.steps))
        if not self.joined and began == self.last_decode:
            self.recorder.gaps_of(run, self.decoding)
        else:  # newcomers, or a pause for prompts: the first gap is another for each of them
            first_end = began + run.first
            steady = self.decoding - len(self.joined)
            for since in self.joined.values():
                self.recorder.gap(first_end - since)
            self.recorder.gap(first_end - self.last_decode, steady)
            if run.steps > 1:
                slope = (run.last - run.first) / (run.steps - 1)
                rest = DecodeRun(run.steps - 1, run.first + slope, run.last)
                self.recorder.gaps_of(rest, self.decoding)
            self.joined.clear()
        self.turn += run.steps
        self.last_decode = self.now

    def _next_ending(self) -> int:
        while True:
            turn, request = self.endings[0]
            if self.ends_at[request] == turn:
                return turn
            heapq.heappop(self.endings)

    def _end_finished(self) -> None:
        while self.endings and self.endings[0][0] <= self.turn:
            turn, request = heapq.heappop(self.endings)
            if self.ends_at[request] == turn:
                self._stop_decoding(request)
                self.written[request] = self.output[request]
                self._end(request)

    # --- leaving -------------------------------------------------------------------------------

    def _stop_decoding(self, request: int) -> None:
        self.ends_at[request] = -1
        self.decoding -= 1
        self.bases -= self.base[request]
        if self.kv.paged:
            self.growth.remove(self.base[request])

    def _end(self, request: int) -> None:
        self._release(request, self.prompt[request] + self.output[request] - 1)
        self.journal.finished(request, self.now)
        self.feed.finished(self.now)

    def _release(self, request: int, cached: int) -> None:
        """Slot and blocks come back from a request that holds `cached` tokens."""
        del self.active[bisect.bisect_left(self.active, request)]
        prompt, output = self.prompt[request], self.output[request]
        self.pool.give(self.kv.blocks_on_admission(cached, prompt, output))
        self.recorder.leave(request, self.now)

    def _preempt(self, request: int) -> None:
        if self.ends_at[request] < 0:  # still in prefill: it holds the blocks of all its tokens
            self.prefilling.remove(request)
            cached = self.prompt[request] + self.written[request]
            lost = self.progress[request]
        else:
            lost = cached = self.base[request] + self.turn
            self.written[request] = cached - self.prompt[request] + 1
            self.last_token[request] = self.joined.pop(request, self.last_decode)
            self._stop_decoding(request)
        self._release(request, cached)
        self.recorder.recomputed_tokens += lost - self.hits[request]
        self.journal.preemptions[request] += 1
        self.waiting.appendleft(request)
