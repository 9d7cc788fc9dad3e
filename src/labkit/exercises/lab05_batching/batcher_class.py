"""An iteration-level batcher with paged KV blocks, and the ways in which people get it wrong.

Pure Python and nothing of ours: the class is the reference of exercise 5.6, and its subclasses
are its known mistakes.
"""

from __future__ import annotations


class Batcher:
    """Serves requests step by step, in at most `slots` slots and `blocks` KV blocks."""

    def __init__(self, slots: int, blocks: int, block_tokens: int) -> None:
        self.slots, self.blocks, self.size = slots, blocks, block_tokens
        self.prompt: dict[int, int] = {}
        self.left: dict[int, int] = {}  # tokens still to write
        self.written: dict[int, int] = {}
        self.waiting: list[int] = []
        self.running: list[int] = []

    def add(self, request: int, prompt: int, output: int) -> None:
        """A request arrives."""
        self.prompt[request], self.left[request], self.written[request] = prompt, output, 0
        self.waiting.append(request)

    def step(self) -> list[int]:
        """One engine step: the requests that wrote a token in it."""
        self.leave()
        self.preempt()
        self.admit()
        for request in self.running:
            self.written[request] += 1
            self.left[request] -= 1
        return list(self.running)

    def leave(self) -> None:
        """Who has written everything is done."""
        self.running = [r for r in self.running if self.left[r]]

    def preempt(self) -> None:
        """The last to arrive goes back to the head of the queue, until the others have room."""
        while self.in_use() > self.blocks:
            self.send_back(self.running.pop())

    def send_back(self, request: int) -> None:
        """Its cache is dropped; what it wrote has been sent and stays."""
        self.waiting.insert(0, request)

    def admit(self) -> None:
        """The head of the queue joins while a slot and its blocks are free."""
        while self.waiting and len(self.running) < self.slots and self.fits(self.waiting[0]):
            self.running.append(self.waiting.pop(0))

    def fits(self, request: int) -> bool:
        """Whether its prompt, and what it wrote before, find room."""
        return self.in_use() + self.needs(request) <= self.blocks

    def needs(self, request: int) -> int:
        """Blocks of what it has in the cache in this step."""
        return -(-(self.prompt[request] + self.written[request]) // self.size)

    def in_use(self) -> int:
        """Blocks of all that run."""
        return sum(self.needs(request) for request in self.running)


class WaitsForAll(Batcher):
    """Static batching: nobody joins while somebody runs."""

    def admit(self) -> None:
        if not self.running:
            super().admit()


class OverfillsSlots(Batcher):
    """One slot too many."""

    def admit(self) -> None:
        self.slots += 1
        super().admit()
        self.slots -= 1


class LeavesLate(Batcher):
    """A finished request is thrown out a step later."""

    def leave(self) -> None:
        self.running = [r for r in self.running if self.left[r] >= 0]


class LeavesEarly(Batcher):
    """The last token is never written."""

    def leave(self) -> None:
        self.running = [r for r in self.running if self.left[r] > 1]


class PromptOnly(Batcher):
    """Counts the prompt's blocks and forgets that the cache grows."""

    def needs(self, request: int) -> int:
        return -(-self.prompt[request] // self.size)


class ReservesAll(Batcher):
    """Reserves room for the whole answer on admission, so that nobody ever has to leave."""

    def needs(self, request: int) -> int:
        whole = self.prompt[request] + self.written[request] + self.left[request] - 1
        return -(-whole // self.size)


class ShortestFirst(Batcher):
    """Lets the shortest answer of the queue go first: long ones wait for ever."""

    def admit(self) -> None:
        self.waiting.sort(key=lambda request: self.left[request])
        super().admit()


class SendsAwayTheFirst(Batcher):
    """Preempts the oldest request instead of the youngest."""

    def preempt(self) -> None:
        while self.in_use() > self.blocks:
            self.send_back(self.running.pop(0))


class LosesThePreempted(Batcher):
    """A preempted request is forgotten."""

    def send_back(self, request: int) -> None:
        pass


class StartsAgain(Batcher):
    """A preempted request writes its answer from the start, and the user reads it twice."""

    def send_back(self, request: int) -> None:
        self.left[request] += self.written[request]
        self.written[request] = 0
        self.waiting.insert(0, request)
