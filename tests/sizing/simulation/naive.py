"""The same two schedulers, written the slow and obvious way: one step and one token at a time.

Every sequence carries its own counters and its own blocks. The real simulator, with its jumps and
its counts per remainder, must agree with this.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Sequence:
    number: int
    arrival: float
    prompt: int
    output: int
    hits: int
    cached: int = 0
    goal: int = 0
    blocks: int = 0
    running: bool = False  # in prefill or decoding
    tokens: list[float] = field(default_factory=list)  # when each output token was made
    preemptions: int = 0

    @property
    def decoding(self) -> bool:
        return self.running and self.cached == self.goal


class NaiveContinuous:
    def __init__(self, sequences, steps, *, slots, budget, chunked, blocks, block_tokens, spare):
        self.everybody = sequences
        self.steps, self.slots, self.budget, self.chunked = steps, slots, budget, chunked
        self.total, self.size, self.spare = blocks, block_tokens, spare
        self.now = 0.0
        self.waiting: list[Sequence] = []
        self.running: list[Sequence] = []
        self.coming = list(sequences)
        self.most_running = 0

    @property
    def free(self):
        return self.total - sum(s.blocks for s in self.running)

    def serve(self):
        while self.coming or self.waiting or self.running:
            while self.coming and self.coming[0].arrival <= self.now:
                self.waiting.append(self.coming.pop(0))
            if not self.running and not self.waiting:
                self.now = self.coming[0].arrival
            else:
                self.one_step()
        return self

    def one_step(self):
        if self.chunked:
            decoders = self.make_room()
            self.grow(decoders)
            chunks = self.chunks(self.budget - len(decoders))
        else:
            chunks = self.whole_prompts()
            decoders = [] if chunks else self.make_room()
            self.grow(decoders)
        self.most_running = max(self.most_running, len(self.running))
        self.now += self.steps.mixed_seconds(
            sum(n for _, n in chunks),
            sum(n * s.cached + n * n / 2 for s, n in chunks),
            len(decoders),
            sum(s.cached for s in decoders),
        )
        for s in decoders:
            s.cached += 1
            s.goal += 1
        for s, n in chunks:
            s.cached += n
        for s in decoders + [s for s, _ in chunks if s.cached == s.goal]:
            s.tokens.append(self.now)
            if len(s.tokens) == s.output:
                s.blocks = 0
                s.running = False
        self.running = [s for s in self.running if s.running]

    def grow(self, decoders):
        for s in decoders:
            s.blocks += s.cached % self.size == 0
        assert self.free >= 0

    def make_room(self):
        """The sequences that decode in this step, after preemptions."""
        while True:
            decoders = [s for s in self.running if s.decoding]
            if sum(s.cached % self.size == 0 for s in decoders) <= self.free:
                return decoders
            last = max(self.running, key=lambda s: s.number)
            self.running.remove(last)
            last.blocks = last.cached = 0
            last.running = False
            last.preemptions += 1
            self.waiting.insert(0, last)

    def admit(self):
        if not self.waiting or len(self.running) == self.slots:
            return None
        head = self.waiting[0]
        goal = head.prompt + len(head.tokens)
        blocks = -(-goal // self.size)
        if blocks > self.free - (self.spare if self.running else 0):
            return None
        self.waiting.pop(0)
        self.running.append(head)
        self.running.sort(key=lambda s: s.number)
        head.running, head.goal, head.blocks, head.cached = True, goal, blocks, head.hits
        return head

    def whole_prompts(self):
        budget, chunks = self.budget, []
        while self.waiting:
            head = self.waiting[0]
            n = head.prompt + len(head.tokens) - head.hits
            if n > budget or self.admit() is None:
                break
            budget -= n
            chunks.append((head, n))
        return chunks

    def chunks(self, budget):
        chunks = []
        for s in self.running:
            if s.cached < s.goal and budget > 0:
                n = min(s.goal - s.cached, budget)
                budget -= n
                chunks.append((s, n))
        while budget > 0 and (s := self.admit()):
            n = min(s.goal - s.cached, budget)
            budget -= n
            chunks.append((s, n))
        return chunks


def naive_static(sequences, steps, slots, prefill):
    """Batches of whoever waits until the slowest is done; unlimited blocks, no hits."""
    now, coming = 0.0, list(sequences)
    ends = {}
    while coming:
        now = max(now, coming[0].arrival)
        batch = [s for s in coming if s.arrival <= now][:slots]
        coming = coming[len(batch) :]
        size = len(batch)
        if prefill == "padded":
            for s in batch:
                s.goal = max(s.prompt for s in batch)
        else:
            for s in batch:
                s.goal = s.prompt
        read = min(s.goal for s in batch)
        now += steps.mixed_seconds(size * read, size * read * read / 2, 0, 0)
        while True:
            for s in batch:
                if s.goal <= read and len(s.tokens) < s.output:
                    s.tokens.append(now)
            if all(len(s.tokens) == s.output for s in batch):
                break
            now += steps.mixed_seconds(0, 0.0, size, size * read)
            read += 1
        ends.update({s.number: now for s in batch})
    return ends
