"""What must hold of a block allocator, read from what its methods return (exercise 5.7).

The watcher keeps books of its own: who holds which block, by the tables that came back. It never
asks which free block was taken, so every right allocator passes.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from labkit.contract.codes import Code
from labkit.exercises.kinds import Breach, Watcher, expect


class AllocatorWatcher(Watcher):
    """Books of one run: each sequence's tokens and table, each block's owners."""

    def __init__(self, blocks: int, block_tokens: int) -> None:
        self.blocks, self.size = blocks, block_tokens
        self.tokens: dict[int, int] = {}
        self.tables: dict[int, list[int]] = {}
        self.owners: Counter[int] = Counter()
        self.came_back = False  # whether anything was freed so far
        self.refused = False  # whether a request was refused so far
        self.survived: set[int] = set()  # blocks that outlived one of their owners
        self.twice: set[int] = set()  # blocks whose last life ended with a second owner

    @property
    def unused(self) -> int:
        """Blocks that nobody holds."""
        return self.blocks - len(self.owners)

    def alloc(self, result: Any, seq: int, tokens: int) -> None:
        """New blocks for all tokens, or None where there are too few."""
        needed = -(-tokens // self.size)
        if self._refused(result, needed):
            return
        table = self._table(result, needed)
        self._hand_out(table)
        self.tables[seq], self.tokens[seq] = table, tokens

    def append(self, result: Any, seq: int) -> None:
        """The table, with a new block at its end, or a copy of its last one, or as it was."""
        before, tokens = self.tables[seq], self.tokens[seq]
        full = tokens % self.size == 0
        shared = not full and self.owners[before[-1]] > 1
        if self._refused(result, int(full or shared)):
            return
        table = self._table(result, len(before) + full)
        kept = before if full else before[:-1]
        expect(
            table[: len(kept)] == kept,
            Code.WORK_LOST,
            "append() changed a block in which earlier tokens lie: they are lost.",
        )
        if shared:
            expect(
                table[-1] != before[-1],
                Code.NOT_COPIED,
                "append() wrote into a block that another sequence shares.",
            )
            self._release([before[-1]])
            self._hand_out(table[-1:])
        elif full:
            self._hand_out(table[-1:])
        else:
            expect(
                table[-1] == before[-1],
                Code.WORK_LOST,
                "append() moved the last block though nobody shares it: its tokens are lost. Who "
                "took a copy earlier no longer owns the block that it left.",
            )
        self.tables[seq], self.tokens[seq] = table, tokens + 1

    def fork(self, result: Any, parent: int, child: int) -> None:
        """The parent's own blocks."""
        table = self._table(result, len(self.tables[parent]))
        expect(
            table == self.tables[parent],
            Code.NOT_SHARED,
            "fork() gave the child blocks of its own. It begins in the parent's.",
        )
        self.owners.update(table)
        self.tables[child], self.tokens[child] = table, self.tokens[parent]

    def free(self, _result: Any, seq: int) -> None:
        """The blocks that nobody else holds are unused from now on."""
        self._release(self.tables.pop(seq))
        del self.tokens[seq]
        self.came_back = True

    def _refused(self, result: Any, needed: int) -> bool:
        """Whether the call was refused, as it should be; raises Breach where it should not."""
        if result is None:
            if needed <= self.unused:
                if self.refused:
                    raise Breach(Code.HALF_DONE, "Blocks are gone since a call was refused.")
                lost = Code.BLOCK_LEAKED if self.came_back else Code.REFUSED
                raise Breach(lost, f"It refuses, though {needed} of its blocks are unused.")
            self.refused = True
            return True
        expect(
            needed <= self.unused or not isinstance(result, list),
            Code.OVER_BUDGET,
            "It hands out more blocks than there are. Return None where too few are unused.",
        )
        return False

    def _table(self, result: Any, length: int) -> list[int]:
        expect(
            isinstance(result, list) and all(type(block) is int for block in result),
            Code.TYPE,
            "Return the sequence's table: a list of block numbers, or None.",
        )
        expect(
            len(result) == length,
            Code.BLOCK_COUNT,
            f"The table has {len(result)} blocks where {length} are needed.",
        )
        expect(
            all(0 <= block < self.blocks for block in result),
            Code.OVER_BUDGET,
            f"There are only the blocks 0 to {self.blocks - 1}.",
        )
        return list(result)

    def _hand_out(self, blocks: list[int]) -> None:
        expect(
            len(set(blocks)) == len(blocks),
            Code.DOUBLE_FREE,
            "One block stands twice in one table.",
        )
        for block in blocks:
            if self.owners[block]:
                raise Breach(self._why_shared(block), f"Block {block} is still in use.")
            del self.owners[block]
        self.owners.update(blocks)
        self.survived.difference_update(blocks)

    def _why_shared(self, block: int) -> Code:
        if block in self.survived:
            return Code.FREED_IN_USE
        return Code.DOUBLE_FREE if block in self.twice else Code.BLOCK_SHARED

    def _release(self, blocks: list[int]) -> None:
        for block in blocks:
            self.owners[block] -= 1
            if self.owners[block]:
                self.survived.add(block)
            else:
                del self.owners[block]
                if block in self.survived:
                    self.twice.add(block)
                    self.survived.discard(block)
