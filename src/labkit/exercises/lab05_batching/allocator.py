"""Lab 05, exercise 5.7: the learner's own paged allocator, run through 10,000 random operations."""

from __future__ import annotations

from random import Random

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.contract.probe import Call
from labkit.exercises.kinds import MachineKind
from labkit.exercises.lab05_batching import allocator_class as answers
from labkit.exercises.lab05_batching.allocator_rules import AllocatorWatcher
from labkit.exercises.lab05_batching.queue import ENGINE, PAGING
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

OPERATIONS = 2_000  # of one run; five runs are one probe
_MOST_SEQUENCES = 12

STUB = '''\
class BlockAllocator:
    """Hands out the KV blocks 0 … blocks - 1, each with room for block_tokens tokens."""

    def __init__(self, blocks, block_tokens):
        ...

    def alloc(self, seq, tokens):
        """A new sequence of `tokens` tokens: its table (list of block numbers), or None."""
        return ...

    def append(self, seq):
        """One more token: the sequence's table as it is then, or None."""
        return ...

    def fork(self, parent, child):
        """`child` begins with all of the parent's tokens, in the same blocks: its table."""
        return ...

    def free(self, seq):
        """The sequence is over. Returns nothing."""
        return ...'''


def _draw(draw: Draw) -> tuple[Given, ...]:
    rng = draw.rng
    return (
        Given("blocks", rng.randint(20, 60), "", "blocks"),
        Given("block_tokens", rng.choice((4, 8, 16)), "tokens", "tokens in one block"),
        Given("seed", rng.randrange(2**31), "", "seed of the run"),
    )


def script(g: Givens) -> tuple[Call, ...]:
    """A run of random calls that a right allocator could be asked, refusals included."""
    rng = Random(int(g.seed))  # noqa: S311  # operations for an exercise, not secrets
    right = answers.BlockAllocator(g.blocks, g.block_tokens)
    calls: list[Call] = [("new", (g.blocks, g.block_tokens))]
    name = 0
    while len(calls) <= OPERATIONS:
        there = list(right.tables)
        kind = rng.choices(("alloc", "append", "fork", "free"), (3, 14, 2, 2))[0]
        if not there or (kind in ("alloc", "fork") and len(there) < _MOST_SEQUENCES):
            name += 1
            if not there or kind == "alloc":
                call: Call = ("alloc", (name, rng.randint(1, 6 * g.block_tokens)))
            else:
                call = ("fork", (rng.choice(there), name))
        elif kind == "free" or len(there) >= _MOST_SEQUENCES:
            call = ("free", (rng.choice(there),))
        else:
            call = ("append", (rng.choice(there),))
        getattr(right, call[0])(*call[1])
        calls.append(call)
    return tuple(calls)


def edges(_g: Givens) -> tuple[tuple[Call, ...], ...]:
    """Short runs, each made for one mistake; blocks of 4 tokens."""
    new: Call = ("new", (4, 4))
    return (
        # as many blocks as the tokens need: rounded up, and none in reserve
        (new, ("alloc", (1, 5)), ("alloc", (2, 8))),
        (new, ("alloc", (1, 8)), ("alloc", (2, 8)), ("free", (1,)), ("free", (2,))),
        # a token goes into the last block, and into a new one when that is full
        (new, ("alloc", (1, 3)), ("append", (1,)), ("append", (1,)), ("append", (1,))),
        # the last block may be used, and no more than there are
        (new, ("alloc", (1, 16)), ("free", (1,)), ("alloc", (2, 16))),
        (new, ("alloc", (1, 13)), ("alloc", (2, 1)), ("append", (1,))),
        # a refused call takes nothing
        (new, ("alloc", (1, 9)), ("alloc", (2, 8)), ("alloc", (3, 4))),
        # what is freed comes back, again and again
        (new, *(c for n in range(1, 4) for c in (("alloc", (n, 16)), ("free", (n,))))),
        # when both owners are gone the block is free once, and not before
        (
            new, ("alloc", (1, 4)), ("fork", (1, 2)), ("free", (1,)), ("free", (2,)),
            *(("alloc", (n, 4)) for n in range(3, 8)),
        ),
        (
            new, ("alloc", (1, 8)), ("fork", (1, 2)), ("free", (1,)),
            *(("alloc", (n, 4)) for n in range(3, 6)), ("append", (2,)), ("free", (2,)),
        ),
        # a fork costs nothing; writing to a shared block costs a copy
        (new, ("alloc", (1, 12)), ("fork", (1, 2)), ("append", (2,)), ("free", (1,))),
        (new, ("alloc", (1, 6)), ("fork", (1, 2)), ("append", (2,)), ("append", (1,))),
    )  # fmt: skip


ALLOCATOR = Exercise(
    id="5.7",
    title="Your own block allocator",
    objective=PAGING,
    points=3,
    tier=Tier.TRANSFER,
    kind=MachineKind(source=STUB, script=script, watcher=AllocatorWatcher, edges=edges),
    statement=(
        "Write the class that hands out the blocks. A sequence's *table* is the list of its block "
        "numbers, in order; token *i* lies in block `table[i // block_tokens]`.\n\n"
        "- `alloc(seq, tokens)`: a new sequence. Take as many blocks as its tokens need, no more.\n"
        "- `append(seq)`: one more token. It goes into the last block. If that is full, take a new "
        "one. If another sequence shares it, take a new one in its place and leave the old one to "
        "the other: *copy-on-write*. (The engine would copy the numbers; you only keep the "
        "books.)\n"
        "- `fork(parent, child)`: two answers to one prompt, say. The child gets the parent's "
        "blocks, all of them, and nothing is taken.\n"
        "- `free(seq)`: the sequence is over. A block comes back once **nobody** holds it any "
        "more.\n\n"
        "`alloc`, `append` and `fork` return the table of the sequence that they were called for. "
        "Where too few blocks are unused, `alloc` and `append` return `None` and leave everything "
        "as it was. `seq` is a whole number that the caller chooses.\n\n"
        "It is tried on short cases and then in five random runs, 10,000 operations in all. Which "
        "of the unused blocks you take is up to you."
    ),
    answer_name="BlockAllocator",
    draw=_draw,
    reference=lambda _g: answers.BlockAllocator,
    mistakes=(
        Mistake(
            Code.BLOCK_COUNT,
            "A table has too few or too many blocks. A sequence needs its tokens divided by "
            "block_tokens, rounded up: 5 tokens need two blocks of 4, and 8 tokens need two as "
            "well.",
            lambda _g: answers.RoundsDown,
        ),
        Mistake(
            Code.REFUSED,
            "A call returns None although enough blocks are unused. Is a return missing? The last "
            "unused block may be used as well.",
            lambda _g: answers.RefusesEarly,
        ),
        Mistake(
            Code.OVER_BUDGET,
            "It hands out more blocks than there are. With too few unused, return None.",
            lambda _g: answers.IgnoresLimit,
        ),
        Mistake(
            Code.HALF_DONE,
            "A call that returned None has taken blocks all the same. Count first, then take.",
            lambda _g: answers.TakesBeforeItLooks,
        ),
        Mistake(
            Code.BLOCK_LEAKED,
            "A block has leaked: its last owner is gone, and still nobody gets it. After hours of "
            "service none would be left.",
            lambda _g: answers.Leaks,
        ),
        Mistake(
            Code.NOT_SHARED,
            "fork() gave the child blocks of its own. It shares the parent's; that is what makes a "
            "common prompt cheap.",
            lambda _g: answers.CopiesAll,
        ),
        Mistake(
            Code.NOT_COPIED,
            "append() wrote into a block that another sequence shares, so the other one reads a "
            "token that is not its own. Take a new block in its place first.",
            lambda _g: answers.WritesShared,
        ),
        Mistake(
            Code.DOUBLE_FREE,
            "A shared block came back twice, once from each owner, and went to two sequences. "
            "Count the owners of each block.",
            lambda _g: answers.ForgetsOwners,
        ),
        Mistake(
            Code.FREED_IN_USE,
            "A block was handed out while a sequence that shares it was still running. free() may "
            "only give back what nobody else holds.",
            lambda _g: answers.FreesOnce,
        ),
    ),
    hints=(
        "Three things to keep: the unused blocks, a table for each sequence, and how many owners "
        "each block has. append() also needs the number of tokens.",
        "fork() adds one owner to each block. free() takes one away, and a block without owners is "
        "unused again. append() looks whether the last block is full, else whether it has more "
        "than one owner.",
        "needed = −(−tokens // block_tokens); new block if tokens % block_tokens == 0; copy if "
        "owners[table[−1]] > 1; unused again if owners[block] == 0",
    ),
    solution='''\
class BlockAllocator:
    """Hands out the KV blocks 0 … blocks - 1, each with room for block_tokens tokens."""

    def __init__(self, blocks, block_tokens):
        self.block_tokens = block_tokens
        self.unused = list(range(blocks))
        self.owners = [0] * blocks
        self.tables, self.tokens = {}, {}

    def _take(self):
        block = self.unused.pop()
        self.owners[block] = 1
        return block

    def _drop(self, block):
        self.owners[block] -= 1
        if self.owners[block] == 0:
            self.unused.append(block)

    def alloc(self, seq, tokens):
        needed = -(-tokens // self.block_tokens)
        if needed > len(self.unused):
            return None
        self.tables[seq] = [self._take() for _ in range(needed)]
        self.tokens[seq] = tokens
        return list(self.tables[seq])

    def append(self, seq):
        table = self.tables[seq]
        full = self.tokens[seq] % self.block_tokens == 0
        shared = not full and self.owners[table[-1]] > 1
        if (full or shared) and not self.unused:
            return None
        if full:
            table.append(self._take())
        elif shared:
            self._drop(table[-1])
            table[-1] = self._take()
        self.tokens[seq] += 1
        return list(table)

    def fork(self, parent, child):
        self.tables[child] = list(self.tables[parent])
        self.tokens[child] = self.tokens[parent]
        for block in self.tables[child]:
            self.owners[block] += 1
        return list(self.tables[child])

    def free(self, seq):
        for block in self.tables.pop(seq):
            self._drop(block)
        del self.tokens[seq]''',
    praise=(
        "Three dicts and a list: that is the heart of PagedAttention's memory manager. The same "
        "sharing makes a common system prompt cost its blocks only once."
    ),
    claim="E114",
    forbids=ENGINE,
)
