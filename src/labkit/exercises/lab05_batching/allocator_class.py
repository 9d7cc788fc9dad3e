"""A paged block allocator with shared prefixes, and the ways in which people get it wrong.

Pure Python and nothing of ours: the class is the reference of exercise 5.7, and its subclasses
are its known mistakes.
"""

from __future__ import annotations


class BlockAllocator:
    """Hands out the blocks 0 … `blocks` - 1, each with room for `block_tokens` tokens.

    Every method that takes room either does all of it and returns the sequence's table, or does
    nothing and returns None.
    """

    def __init__(self, blocks: int, block_tokens: int) -> None:
        self.size = block_tokens
        self.unused = list(range(blocks))
        self.owners = [0] * blocks
        self.tables: dict[int, list[int]] = {}
        self.tokens: dict[int, int] = {}

    def alloc(self, seq: int, tokens: int) -> list[int] | None:
        """A new sequence of `tokens` tokens."""
        needed = self.needed(tokens)
        if needed > len(self.unused):
            return None
        self.tables[seq] = [self.take() for _ in range(needed)]
        self.tokens[seq] = tokens
        return list(self.tables[seq])

    def append(self, seq: int) -> list[int] | None:
        """One more token: in the last block, in a new one, or in a copy of a shared last one."""
        table = self.tables[seq]
        full = self.tokens[seq] % self.size == 0
        shared = not full and self.owners[table[-1]] > 1
        if (full or shared) and not self.unused:
            return None
        if full:
            table.append(self.take())
        elif shared:
            self.drop(table[-1])
            table[-1] = self.take()
        self.tokens[seq] += 1
        return list(table)

    def fork(self, parent: int, child: int) -> list[int]:
        """`child` begins with the parent's tokens, in the parent's blocks."""
        self.tables[child] = list(self.tables[parent])
        self.tokens[child] = self.tokens[parent]
        for block in self.tables[child]:
            self.owners[block] += 1
        return list(self.tables[child])

    def free(self, seq: int) -> None:
        """The sequence is over; what nobody else holds can be handed out again."""
        for block in self.tables.pop(seq):
            self.drop(block)
        del self.tokens[seq]

    def needed(self, tokens: int) -> int:
        """Blocks for so many tokens."""
        return -(-tokens // self.size)

    def take(self) -> int:
        """An unused block, with its first owner."""
        block = self.unused.pop()
        self.owners[block] = 1
        return block

    def drop(self, block: int) -> None:
        """One owner less."""
        self.owners[block] -= 1
        if not self.owners[block]:
            self.unused.append(block)


class RoundsDown(BlockAllocator):
    """Whole blocks only: the rest of the tokens has no room."""

    def needed(self, tokens: int) -> int:
        return max(1, tokens // self.size)


class OneTooMany(BlockAllocator):
    """A block in reserve for everybody."""

    def needed(self, tokens: int) -> int:
        return tokens // self.size + 1


class Leaks(BlockAllocator):
    """Gives back all blocks but the last."""

    def free(self, seq: int) -> None:
        table = self.tables.pop(seq)
        for block in table[:-1] or table:
            self.drop(block)
        del self.tokens[seq]


class TakesBeforeItLooks(BlockAllocator):
    """Notices that there are too few blocks when it already holds some, and keeps them."""

    def alloc(self, seq: int, tokens: int) -> list[int] | None:
        table = []
        for _ in range(self.needed(tokens)):
            if not self.unused:
                return None
            table.append(self.take())
        self.tables[seq], self.tokens[seq] = table, tokens
        return list(table)


class CopiesAll(BlockAllocator):
    """A fork takes blocks of its own at once."""

    def fork(self, parent: int, child: int) -> list[int]:
        copied = self.alloc(child, self.tokens[parent])
        return copied if copied is not None else super().fork(parent, child)


class WritesShared(BlockAllocator):
    """Writes into a shared last block without a copy."""

    def append(self, seq: int) -> list[int] | None:
        table = self.tables[seq]
        if self.tokens[seq] % self.size == 0:
            if not self.unused:
                return None
            table.append(self.take())
        self.tokens[seq] += 1
        return list(table)


class ForgetsOwners(BlockAllocator):
    """Frees a block although another sequence still holds it, and again when that one ends."""

    def drop(self, block: int) -> None:
        self.owners[block] = 0
        self.unused.append(block)


class FreesOnce(BlockAllocator):
    """As above, but never puts a block into the list twice."""

    def drop(self, block: int) -> None:
        self.owners[block] = 0
        if block not in self.unused:
            self.unused.append(block)


class RefusesEarly(BlockAllocator):
    """Never hands out its last block."""

    def alloc(self, seq: int, tokens: int) -> list[int] | None:
        if self.needed(tokens) >= len(self.unused):
            return None
        return super().alloc(seq, tokens)


class IgnoresLimit(BlockAllocator):
    """Makes new numbers when it runs out."""

    def take(self) -> int:
        if not self.unused:
            self.owners.append(0)
            self.unused.append(len(self.owners) - 1)
        return super().take()

    def alloc(self, seq: int, tokens: int) -> list[int] | None:
        self.tables[seq] = [self.take() for _ in range(self.needed(tokens))]
        self.tokens[seq] = tokens
        return list(self.tables[seq])
