"""What must hold of an iteration-level batcher, read from who wrote in each step (exercise 5.6).

The rules leave one schedule: first come, first served; in the step in which there is room, not
later; and who has to leave is the last that came. So a batcher that keeps them has the throughput
of the reference, and of `labkit.sizing.simulation`, to the step.
"""

from __future__ import annotations

from typing import Any

from labkit.contract.codes import Code
from labkit.exercises.kinds import Breach, Watcher, expect


class BatcherWatcher(Watcher):
    """Books of one run; requests are numbered in order of arrival."""

    def __init__(self, slots: int, blocks: int, block_tokens: int) -> None:
        self.slots, self.blocks, self.size = slots, blocks, block_tokens
        self.prompt: dict[int, int] = {}
        self.output: dict[int, int] = {}
        self.written: dict[int, int] = {}
        self.waiting: list[int] = []  # rising
        self.running: list[int] = []  # those of the last step that have tokens left, rising
        self.sent_back: set[int] = set()

    def add(self, _result: Any, request: int, prompt: int, output: int) -> None:
        """A request is in the queue."""
        self.prompt[request], self.output[request], self.written[request] = prompt, output, 0
        self.waiting.append(request)

    def step(self, result: Any) -> None:
        """Who wrote: nobody too many, nobody too few."""
        wrote = self._known(result)
        self._within_limits(wrote)
        stayed = [request for request in self.running if request in wrote]
        self._rightly_sent_away([r for r in self.running if r not in wrote], stayed, wrote)
        self._rightly_joined([r for r in wrote if r not in self.running], wrote)
        for request in wrote:
            self.written[request] += 1
        self.waiting = sorted((set(self.waiting) | set(self.running)) - set(wrote))
        self.running = sorted(r for r in wrote if self.written[r] < self.output[r])

    def end(self) -> None:
        """Everybody has got everything."""
        missing = [r for r in self.output if self.written[r] < self.output[r]]
        if missing:
            lost = [r for r in missing if r in self.sent_back]
            code = Code.WORK_LOST if lost else Code.STARVED
            raise Breach(code, f"Request {(lost or missing)[0]} never got all of its tokens.")

    def _known(self, result: Any) -> list[int]:
        """The requests of the step, each once, none that is unknown or done."""
        expect(
            isinstance(result, list) and all(type(request) is int for request in result),
            Code.TYPE,
            "step() returns the list of the requests that wrote a token.",
        )
        expect(
            len(set(result)) == len(result),
            Code.SLOTS_EXCEEDED,
            "One request stands twice in a step. It writes one token per step, in one slot.",
        )
        for request in result:
            expect(request in self.output, Code.TYPE, f"Nobody has added a request {request!r}.")
            if self.written[request] >= self.output[request]:
                again = request in self.sent_back
                raise Breach(
                    Code.WORK_TWICE if again else Code.FINISHED_LATE,
                    f"Request {request} writes on after its last token.",
                )
        return sorted(result)

    def _within_limits(self, wrote: list[int]) -> None:
        expect(
            len(wrote) <= self.slots,
            Code.SLOTS_EXCEEDED,
            f"{len(wrote)} requests write in one step; there are {self.slots} slots.",
        )
        used = self._blocks(wrote)
        expect(
            used <= self.blocks,
            Code.OVER_BUDGET,
            f"The caches of this step take {used} blocks; there are {self.blocks}.",
        )

    def _rightly_sent_away(self, gone: list[int], stayed: list[int], wrote: list[int]) -> None:
        """Only for want of blocks, only as many as it takes, and the last to arrive first."""
        if not gone:
            return
        expect(
            self._blocks(self.running) > self.blocks,
            Code.FINISHED_EARLY,
            f"Request {gone[0]} had tokens left and room for them, and wrote nothing.",
        )
        youngest_stays = stayed and max(stayed) > min(gone)
        expect(
            not youngest_stays,
            Code.STARVED,
            "An earlier request was sent back while a later one went on.",
        )
        expect(
            self._blocks([*stayed, min(gone)]) > self.blocks or min(gone) in wrote,
            Code.REFUSED,
            "More requests were sent back than it took.",
        )
        self.sent_back.update(gone)

    def _rightly_joined(self, joined: list[int], wrote: list[int]) -> None:
        """The head of the queue, as soon as it fits."""
        queue = sorted((set(self.waiting) | set(self.running)) - set(wrote))
        if joined and queue and max(joined) > queue[0]:
            raise Breach(
                Code.STARVED, f"Request {max(joined)} joined, and request {queue[0]} still waits."
            )
        if not queue or len(wrote) >= self.slots:
            return
        if self._blocks([*wrote, queue[0]]) <= self.blocks:
            if queue[0] in self.sent_back:
                raise Breach(Code.WORK_LOST, f"Request {queue[0]} was sent back and could return.")
            if self._whole([*wrote, queue[0]]) > self.blocks:
                raise Breach(Code.REFUSED, f"Request {queue[0]} waits though its prompt fits.")
            raise Breach(Code.IDLE_SLOT, f"Request {queue[0]} waits though a slot is free.")

    def _blocks(self, requests: list[int]) -> int:
        """Blocks of their caches in this step, before its tokens are written."""
        return sum(-(-(self.prompt[r] + self.written[r]) // self.size) for r in requests)

    def _whole(self, requests: list[int]) -> int:
        """Blocks if each had room for its whole answer."""
        return sum(-(-(self.prompt[r] + self.output[r] - 1) // self.size) for r in requests)
