"""What Lab 05's scheduling exercises share: a queue of requests, and who holds which slot when.

Time is counted in engine steps. In one step every running request writes one token; a request of
`n` output tokens needs `n` steps, its prompt being read in the first of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.contract.givens import Given

SCHEDULING = "scheduling: who runs in which step, and what it is worth"
PAGING = "the KV cache in blocks: handed out, shared, given back"
ENGINE = ("labkit.sizing", "labkit.bench")

# The queue of the core exercises, in order of arrival; all of them are there at the start.
LENGTHS = (10, 100, 20, 80, 30, 60, 40, 50)
SLOTS = 4


@dataclass(frozen=True, slots=True)
class Span:
    """One request's stay in a slot: it writes from step `start` to just before step `end`."""

    request: int
    slot: int
    start: int
    end: int

    @property
    def name(self) -> str:
        """R1 is the first to arrive."""
        return f"R{self.request + 1}"


def static_spans(lengths: Sequence[int], slots: int) -> list[Span]:
    """Batches in order of arrival; the next one starts when the slowest of this one is done."""
    spans: list[Span] = []
    start = 0
    for first in range(0, len(lengths), slots):
        batch = lengths[first : first + slots]
        spans += [Span(first + i, i, start, start + n) for i, n in enumerate(batch)]
        start += max(batch)
    return spans


def continuous_spans(lengths: Sequence[int], slots: int) -> list[Span]:
    """A slot that becomes free takes the next request at once, first come, first served."""
    free = [(0, slot) for slot in range(slots)]
    spans = []
    for request, tokens in enumerate(lengths):
        start, slot = heapq.heappop(free)
        spans.append(Span(request, slot, start, start + tokens))
        heapq.heappush(free, (start + tokens, slot))
    return spans


def steps(spans: Sequence[Span]) -> int:
    """Engine steps until the last token."""
    return max(span.end for span in spans)


def queue_givens(lengths: Sequence[int], slots: int, source: str) -> tuple[Given, ...]:
    """The output lengths as a list, and the slots."""
    outputs = Given(
        "lengths",
        [int(n) for n in lengths],
        "tokens",
        "output lengths, in order of arrival",
        source,
    )
    return outputs, Given("slots", slots, "", "slots", "max_num_seqs")
