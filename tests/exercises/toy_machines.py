"""Toy exercises whose answers are classes: a paged block allocator and an iteration-level batcher.

Each answer is source text, as a learner types it: the right class, and one for each mistake.
"""

from __future__ import annotations

from random import Random
from typing import Any

from labkit.contract import Code, Given
from labkit.contract.givens import Givens
from labkit.exercises import Exercise, Mistake, Tier
from labkit.exercises.kinds import MachineKind, Watcher, expect
from labkit.exercises.kinds.machine import Script

# --- paged blocks -----------------------------------------------------------------------------

ALLOCATOR = """
class BlockAllocator:
    def __init__(self, blocks, block_size):
        self.free_blocks = list(range(blocks))
        self.block_size = block_size
        self.held = {}

    def alloc(self, seq, tokens):
        needed = -(-tokens // self.block_size)
        if needed > len(self.free_blocks):
            return None
        taken = [self.free_blocks.pop() for _ in range(needed)]
        self.held.setdefault(seq, []).extend(taken)
        return taken

    def free(self, seq):
        back = self.held.pop(seq, [])
        self.free_blocks.extend(back)
        return len(back)
"""
ALLOCATOR_STUB = '''\
class BlockAllocator:
    """Hands out blocks 0 … blocks - 1 of `block_size` tokens."""

    def __init__(self, blocks, block_size):
        ...

    def alloc(self, seq, tokens):
        """Blocks for `tokens` more tokens of sequence `seq`: a list, or None where too few."""
        return ...

    def free(self, seq):
        """Give back all blocks of `seq`; returns how many."""
        return ...'''
ALLOCATOR_MISTAKES = {
    Code.BLOCK_LEAKED: ALLOCATOR.replace("self.free_blocks.extend(back)", "pass"),
    Code.BLOCK_SHARED: ALLOCATOR.replace(".pop() for", "[0] for"),
    Code.BLOCK_COUNT: ALLOCATOR.replace("-(-tokens // self.block_size)", "tokens // 16 + 1"),
    Code.OVER_BUDGET: ALLOCATOR.replace("if needed > len(self.free_blocks):", "if False:").replace(
        "self.free_blocks.pop()", "(self.free_blocks or [-1, *range(9999)]).pop()"
    ),
    Code.REFUSED: ALLOCATOR.replace("needed > len", "needed >= len"),
}


class AllocatorWatcher(Watcher):
    """Knows which blocks are free. Which of them is handed out is the answer's choice."""

    def __init__(self, blocks: int, block_size: int) -> None:
        self.free_blocks = set(range(blocks))
        self.blocks, self.block_size = blocks, block_size
        self.held: dict[str, list[int]] = {}
        self.returned = False

    def alloc(self, result: Any, seq: str, tokens: int) -> None:
        needed = -(-tokens // self.block_size)
        if result is None:
            code = Code.BLOCK_LEAKED if self.returned else Code.REFUSED
            expect(needed > len(self.free_blocks), code, "There was room.")
            return
        expect(len(result) == needed, Code.BLOCK_COUNT, "Another number of blocks.")
        for block in result:
            inside = isinstance(block, int) and 0 <= block < self.blocks
            expect(inside, Code.OVER_BUDGET, "There is no such block.")
            expect(block in self.free_blocks, Code.BLOCK_SHARED, "It has an owner.")
            self.free_blocks.remove(block)
        self.held.setdefault(seq, []).extend(result)

    def free(self, result: Any, seq: str) -> None:
        back = self.held.pop(seq, [])
        expect(result == len(back), Code.DOUBLE_FREE, "Another number of blocks came back.")
        self.free_blocks.update(back)
        self.returned = self.returned or bool(back)


def allocator_script(g: Givens) -> Script:
    """Two thousand random operations that keep the pool busy, then all back and all out again."""
    rng = Random(int(g.seed))
    calls: list[Any] = [("new", (24, 16))]
    held: dict[str, int] = {}
    for i in range(2000):
        blocks = rng.randint(1, 6)
        if rng.random() < 0.6:
            calls.append(("alloc", (f"s{i}", 16 * blocks - rng.randint(0, 15))))
            if sum(held.values()) + blocks <= 24:
                held[f"s{i}"] = blocks
        elif held:
            gone = rng.choice(sorted(held))
            calls.append(("free", (gone,)))
            del held[gone]
    calls += [("free", (seq,)) for seq in held]
    return (*calls, ("alloc", ("all", 24 * 16)))


def allocator_edges(_g: Givens) -> tuple[Script, ...]:
    return (
        (("new", (4, 16)), ("alloc", ("a", 16)), ("alloc", ("b", 17))),
        (("new", (2, 16)), ("alloc", ("a", 32))),
        (("new", (2, 16)), ("alloc", ("a", 33)),),
        (
            ("new", (2, 16)), ("alloc", ("a", 20)), ("free", ("a",)), ("alloc", ("b", 16)),
            ("free", ("b",)), ("free", ("b",)), ("alloc", ("c", 16)),
        ),
    )  # fmt: skip


# --- iteration-level batching -----------------------------------------------------------------

BATCHER = """
from collections import deque


class Batcher:
    def __init__(self, slots):
        self.slots, self.waiting, self.running = slots, deque(), {}

    def submit(self, name, tokens):
        self.waiting.append((name, tokens))

    def step(self):
        while self.waiting and len(self.running) < self.slots:
            name, tokens = self.waiting.popleft()
            self.running[name] = tokens
        made = list(self.running)
        for name in made:
            self.running[name] -= 1
            if not self.running[name]:
                del self.running[name]
        return made
"""
BATCHER_STUB = '''\
class Batcher:
    """One token for each running request per step."""

    def __init__(self, slots):
        ...

    def submit(self, name, tokens):
        """Queue a request that wants `tokens` tokens."""
        return ...

    def step(self):
        """One iteration: the names of the requests that got a token."""
        return ...'''
BATCHER_MISTAKES = {
    Code.IDLE_SLOT: BATCHER.replace(
        "while self.waiting and len(self.running)",
        "idle = not self.running\n        while idle and self.waiting and len(self.running)",
    ),
    Code.SLOTS_EXCEEDED: BATCHER.replace("len(self.running) < self.slots", "True"),
    Code.FINISHED_LATE: BATCHER.replace("if not self.running[name]:", "if self.running[name] < 0:"),
    Code.STARVED: BATCHER.replace("popleft()", "pop()"),
}


class BatcherWatcher(Watcher):
    def __init__(self, slots: int) -> None:
        self.slots, self.left, self.started = slots, {}, set()  # type: ignore[var-annotated]
        self.order: list[str] = []

    def submit(self, _result: Any, name: str, tokens: int) -> None:
        self.left[name] = tokens
        self.order.append(name)

    def step(self, result: Any) -> None:
        expect(len(result) <= self.slots, Code.SLOTS_EXCEEDED, "Too many at once.")
        expect(len(set(result)) == len(result), Code.WORK_TWICE, "Twice in one step.")
        for name in result:
            expect(self.left.get(name, 0) > 0, Code.FINISHED_LATE, "It had all its tokens.")
            self.left[name] -= 1
            self.started.add(name)
        behind = [name for name in self.order if name not in self.started]
        first = len(self.order) - len(behind)
        expect(set(self.order[:first]) == self.started, Code.STARVED, "Somebody jumped the queue.")
        waiting = [n for n in self.order if self.left[n] and n not in result and n in behind]
        expect(not waiting or len(result) == self.slots, Code.IDLE_SLOT, "A slot was empty.")

    def end(self) -> None:
        expect(not any(self.left.values()), Code.STARVED, "Somebody never finished.")


def batcher_script(g: Givens) -> Script:
    rng = Random(int(g.seed))
    calls: list[Any] = [("new", (4,))]
    total = 0
    for i in range(60):
        tokens = rng.randint(1, 40)
        total += tokens
        calls.append(("submit", (f"r{i}", tokens)))
        calls += [("step", ())] * rng.randint(0, 6)
    return (*calls, *[("step", ())] * total)


def batcher_edges(_g: Givens) -> tuple[Script, ...]:
    """Each runs until a right batcher has nothing left: `end` asks for that."""
    return (
        (("new", (2,)), *[("submit", (n, 3)) for n in "abc"], *[("step", ())] * 6),
        (("new", (1,)), ("submit", ("a", 1)), ("submit", ("b", 2)), *[("step", ())] * 3),
        (("new", (2,)), ("submit", ("a", 1)), *[("submit", (n, 3)) for n in "bc"],
         *[("step", ())] * 4),
    )  # fmt: skip


# --- as exercises -----------------------------------------------------------------------------


def made(source: str, name: str) -> Any:
    """What stands under `name` once the source has run."""
    space: dict[str, Any] = {}
    exec(source, space)
    return space[name]


def machine(
    id: str, name: str, source: str, stub: str, wrong: dict[Code, str], **parts: Any
) -> Exercise:
    return Exercise(
        id=id,
        title=name,
        objective="count",
        points=1,
        tier=Tier.TRANSFER,
        kind=MachineKind(source=stub, **parts),
        statement="Write it.",
        answer_name=name,
        draw=lambda draw: (Given("seed", draw.rng.randrange(1 << 30), "", "seed"),),
        reference=lambda _g: made(source, name),
        mistakes=tuple(
            Mistake(code, f"The sentence of {code}.", lambda _g, text=text: made(text, name))
            for code, text in wrong.items()
        ),
        hints=("one", "two", "three"),
        solution=source,
    )


ALLOCATOR_EXERCISE = machine(
    "90.1", "BlockAllocator", ALLOCATOR, ALLOCATOR_STUB, ALLOCATOR_MISTAKES,
    script=allocator_script, edges=allocator_edges, watcher=AllocatorWatcher,
)  # fmt: skip
BATCHER_EXERCISE = machine(
    "90.2", "Batcher", BATCHER, BATCHER_STUB, BATCHER_MISTAKES,
    script=batcher_script, edges=batcher_edges, watcher=BatcherWatcher,
)  # fmt: skip
