"""Lab 05's two classes: any right one passes, the simulator agrees, strange results are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from hypothesis import given as drawn_by
from hypothesis import settings
from hypothesis import strategies as st

from labkit.contract import Code, Status
from labkit.contract.probe import Call, Probe, run_probe
from labkit.exercises import Facts, givens_for, load
from labkit.exercises.kinds import Watcher
from labkit.exercises.kinds.trace import first_breach
from labkit.exercises.lab05_batching import allocator, batcher
from labkit.exercises.lab05_batching.allocator_class import BlockAllocator
from labkit.exercises.lab05_batching.allocator_rules import AllocatorWatcher
from labkit.exercises.lab05_batching.batcher_class import Batcher, SendsAwayTheFirst
from labkit.exercises.lab05_batching.batcher_rules import BatcherWatcher
from labkit.sizing.simulation import (
    AffineSteps,
    ContinuousBatching,
    KVCache,
    Recorded,
    simulate,
)
from tests.exercises.answering import outcome
from tests.exercises.batching_records import made_givens

mpl.use("Agg")
LAB = load("05")
LEARNERS = [f"learner-{n}" for n in range(20)]
ONE_TICK = AffineSteps(step=1.0)
ROOT = Path(__file__).parents[2]
QUEUES = st.lists(st.integers(1, 60), min_size=1, max_size=30)


# --- 5.7: what any right allocator does ----------------------------------------------------------


def breach(make: type[Watcher], answer: Any, script: tuple[Call, ...]) -> Any:
    return first_breach(make, script, run_probe(answer, Probe("5.7", script, plain=True)))


class LowestFirst(BlockAllocator):
    """Another right one: takes the lowest number, and gives tuples back."""

    def take(self) -> int:
        self.unused.sort(reverse=True)
        return super().take()

    def alloc(self, seq: int, tokens: int) -> Any:
        found = super().alloc(seq, tokens)
        return None if found is None else tuple(found)


@pytest.mark.parametrize("right", [BlockAllocator, LowestFirst])
def test_any_right_allocator_passes(right: type[BlockAllocator], facts: Facts) -> None:
    result = outcome(LAB["5.7"], facts, right, "a", {})
    assert result.passed, result
    operations = int(result.shown.split()[0].replace(",", ""))
    assert operations >= 10_000


@drawn_by(st.integers(0, 2**31 - 1), st.integers(4, 40), st.sampled_from((1, 4, 16)))
@settings(deadline=None, max_examples=20)
def test_no_block_is_ever_lost(seed: int, blocks: int, block_tokens: int) -> None:
    g = made_givens("5.7", blocks=blocks, block_tokens=block_tokens, seed=seed)
    right = BlockAllocator(blocks, block_tokens)
    script = allocator.script(g)
    for method, args in script[1:]:
        getattr(right, method)(*args)
        in_use = {block for table in right.tables.values() for block in table}
        assert in_use.isdisjoint(right.unused)
        assert len(in_use) + len(right.unused) == blocks == len(in_use | set(right.unused))
    for seq in list(right.tables):
        right.free(seq)
    assert sorted(right.unused) == list(range(blocks))
    assert breach(AllocatorWatcher, BlockAllocator, script) is None


def test_a_run_has_refusals_copies_and_forks(facts: Facts) -> None:
    g = givens_for(LAB["5.7"], facts, learner="a")
    script = allocator.script(g)
    results = run_probe(BlockAllocator, Probe("5.7", script, plain=True))
    counted = {
        name: sum(method == name for method, _ in script)
        for name in ("alloc", "append", "fork", "free")
    }
    assert min(counted.values()) > 50
    refused = [m for (m, _), r in zip(script, results, strict=True) if r.get("value", 0) is None]
    assert {"alloc", "append"} <= set(refused)


@pytest.mark.parametrize("strange", [None, True, 7, "x", [1.5], [None], {"a": 1}, [0, 0], [-1]])
def test_strange_tables_are_told_and_never_raise(strange: Any, facts: Facts) -> None:
    class Strange(BlockAllocator):
        def alloc(self, seq: int, tokens: int) -> Any:
            super().alloc(seq, tokens)
            return strange

    result = outcome(LAB["5.7"], facts, Strange, "a", {})
    assert result.status is Status.FAILED
    assert result.message


# --- 5.6: what any right batcher does ------------------------------------------------------------


@drawn_by(
    st.integers(0, 2**31 - 1), st.integers(1, 8), st.integers(9, 24), st.sampled_from((4, 8, 16))
)
@settings(deadline=None, max_examples=40)
def test_the_batcher_is_the_simulators_to_the_step(
    seed: int, slots: int, blocks: int, block_tokens: int
) -> None:
    g = made_givens("5.6", slots=slots, blocks=blocks, block_tokens=block_tokens, seed=seed)
    script = batcher.script(g)
    assert breach(BatcherWatcher, Batcher, script) is None

    coming = batcher.requests(g)
    arrivals, prompts, outputs = zip(*coming, strict=True)
    log = Recorded(tuple(float(a) for a in arrivals), prompts, outputs)
    scheduler = ContinuousBatching(slots, max_num_batched_tokens=100_000)
    run = simulate(log, scheduler, ONE_TICK, kv=KVCache(blocks, block_tokens))
    mine, ends, now = Batcher(slots, blocks, block_tokens), {}, 0
    written = [0] * len(coming)
    while len(ends) < len(coming):
        for n, (arrival, prompt, output) in enumerate(coming):
            if arrival == now:
                mine.add(n, prompt, output)
        now += 1
        for n in mine.step():
            written[n] += 1
            if written[n] == outputs[n]:
                ends[n] = now
    assert [ends[n] for n in range(len(coming))] == run.finish.tolist()


def test_queues_preempt_wait_and_fill_their_slots(facts: Facts) -> None:
    """The drawn queues are hard enough: the sandbox's five would miss nothing."""
    sent_back = 0
    for learner in LEARNERS:
        g = givens_for(LAB["5.6"], facts, learner=learner)
        watcher = BatcherWatcher(g.slots, g.blocks, g.block_tokens)
        script = batcher.script(g)
        for (method, args), wire in zip(
            script, run_probe(Batcher, Probe("5.6", script, plain=True)), strict=True
        ):
            if method != "new":
                watcher.see(method, args, wire["value"])
        watcher.end()
        sent_back += bool(watcher.sent_back)
    assert sent_back >= 5


class Shuffled(Batcher):
    """Another right one: a set of names, in no order."""

    def step(self) -> Any:
        return set(super().step())


def test_any_right_batcher_passes(facts: Facts) -> None:
    assert outcome(LAB["5.6"], facts, Shuffled, "a", {}).passed


def test_sending_the_oldest_away_starves_it(facts: Facts) -> None:
    result = outcome(LAB["5.6"], facts, SendsAwayTheFirst, "a", {})
    assert (result.status, result.code) == (Status.FAILED, Code.STARVED)


class CountsThisToken(Batcher):
    """The token that is written in this step has a place in the cache already."""

    def needs(self, request: int) -> int:
        return -(-(self.prompt[request] + self.written[request] + 1) // self.size)


def test_who_counts_the_token_of_this_step_is_told_so(facts: Facts) -> None:
    result = outcome(LAB["5.6"], facts, CountsThisToken, "a", {})
    assert (result.status, result.code) == (Status.FAILED, Code.REFUSED)
    assert "not the one that is written now" in result.message


class StillOwnsWhatItLeft(BlockAllocator):
    """Copy-on-write without one owner fewer of the block that was left."""

    def append(self, seq: int) -> list[int] | None:
        before = self.tables[seq][-1]
        found = super().append(seq)
        if found is not None and before not in found:
            self.owners[before] += 1
        return found


def test_who_keeps_owning_a_block_after_its_copy_is_told_so(facts: Facts) -> None:
    result = outcome(LAB["5.7"], facts, StillOwnsWhatItLeft, "a", {})
    assert (result.status, result.code) == (Status.FAILED, Code.WORK_LOST)
    assert "no longer owns the block that it left" in result.message


@pytest.mark.parametrize("strange", [None, 3, "x", [99], [1, 1], [[1]], {"a": 1}, [True], [2.0]])
def test_strange_steps_are_told_and_never_raise(strange: Any, facts: Facts) -> None:
    class Strange(Batcher):
        def step(self) -> Any:
            super().step()
            return strange

    result = outcome(LAB["5.6"], facts, Strange, "a", {})
    assert result.status is Status.FAILED
    assert result.message


def test_an_endless_queue_is_told(facts: Facts) -> None:
    class Idle(Batcher):
        def step(self) -> list[int]:
            return []

    result = outcome(LAB["5.6"], facts, Idle, "a", {})
    assert (result.status, result.code) == (Status.FAILED, Code.IDLE_SLOT)
