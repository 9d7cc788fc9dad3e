"""The KV cache as blocks: how many there are, what a sequence takes, and when they run out.

Paged (vLLM): a sequence holds ceil(cached / block_tokens) blocks and takes one more whenever the
last is full. Reserved (before paging): it takes the room of its final length, or of a guess at
it, on admission, and nothing later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from labkit.contract.errors import UnknownNameError
from labkit.sizing.checks import SizingError, require_count, require_fraction

_UNLIMITED = 2**62


@dataclass(frozen=True, slots=True)
class KVCache:
    """The room for cached tokens of one replica. `blocks=None` is a cache that never fills.

    reservation: "paged", or what is reserved on admission: "exact" (prompt + output, an oracle),
    "power_of_two" (prompt + output rounded up to a power of two), "max" (`max_model_len`).
    watermark: share of the blocks that admission leaves free, so that running sequences can grow
    (vLLM's V0 engine kept 0.01).
    """

    blocks: int | None = None
    block_tokens: int = 16
    reservation: str = "paged"
    max_model_len: int | None = None
    watermark: float = 0.0

    def __post_init__(self) -> None:
        if self.blocks is not None:
            require_count("blocks", self.blocks)
        require_count("block_tokens", self.block_tokens)
        require_fraction("watermark", self.watermark, zero_ok=True)
        if self.reservation not in RESERVATIONS:
            raise UnknownNameError("reservation", self.reservation, RESERVATIONS)
        if self.max_model_len is not None:
            require_count("max_model_len", self.max_model_len, minimum=2)
        elif self.reservation == "max":
            raise SizingError('reservation="max" needs max_model_len, the tokens it reserves.')

    @classmethod
    def of_tokens(
        cls,
        tokens: int,
        *,
        block_tokens: int = 16,
        reservation: str = "paged",
        max_model_len: int | None = None,
        watermark: float = 0.0,
    ) -> KVCache:
        """A cache of `tokens` tokens, rounded down to whole blocks."""
        require_count("block_tokens", block_tokens)
        if tokens < block_tokens:
            raise SizingError(f"A cache of {tokens} tokens has no block of {block_tokens} tokens.")
        return cls(tokens // block_tokens, block_tokens, reservation, max_model_len, watermark)

    @property
    def paged(self) -> bool:
        """Whether sequences take blocks as they grow."""
        return self.reservation == "paged"

    @property
    def tokens(self) -> int | None:
        """Tokens that fit in all; None without a limit."""
        return None if self.blocks is None else self.blocks * self.block_tokens

    def blocks_for(self, tokens: int) -> int:
        """Blocks that hold `tokens` cached tokens."""
        return -(-tokens // self.block_tokens)

    def blocks_on_admission(self, tokens: int, prompt: int, output: int) -> int:
        """What a sequence takes when its prefill of `tokens` tokens starts."""
        return self.blocks_for(RESERVATIONS[self.reservation](self, tokens, prompt, output))

    def most_blocks(self, prompt: int, output: int) -> int:
        """The most blocks that the sequence ever holds."""
        last = prompt + output - 1  # the last output token is never written to the cache
        return max(self.blocks_for(last), self.blocks_on_admission(last, prompt, output))


def _power_of_two(kv: KVCache, _tokens: int, prompt: int, output: int) -> int:
    wanted = prompt + (1 << (output - 1).bit_length())
    return (
        wanted if kv.max_model_len is None else max(min(wanted, kv.max_model_len), prompt + output)
    )


def _max_length(kv: KVCache, _tokens: int, prompt: int, output: int) -> int:
    if kv.max_model_len is None or prompt + output > kv.max_model_len:
        raise SizingError(
            f"A request of {prompt} + {output} tokens is longer than "
            f"max_model_len={kv.max_model_len}."
        )
    return kv.max_model_len


# reservation -> tokens to make room for on admission, from (tokens to prefill, prompt, output)
RESERVATIONS: dict[str, Callable[[KVCache, int, int, int], int]] = {
    "paged": lambda _kv, tokens, _prompt, _output: tokens,
    "exact": lambda _kv, _tokens, prompt, output: prompt + output,
    "power_of_two": _power_of_two,
    "max": _max_length,
}


class BlockPool:
    """The free blocks of a running simulation. Never negative, never more than there are."""

    __slots__ = ("free", "least_free", "total")

    def __init__(self, kv: KVCache) -> None:
        self.total = _UNLIMITED if kv.blocks is None else kv.blocks
        self.free = self.total
        self.least_free = self.total

    @property
    def peak(self) -> int:
        """The most blocks that were ever in use."""
        return self.total - self.least_free

    def take(self, blocks: int) -> None:
        """Blocks go into use. Raises RuntimeError where there are not enough: a scheduler's bug."""
        if blocks > self.free:
            raise RuntimeError(f"{blocks} blocks taken, {self.free} free")
        self.free -= blocks
        self.least_free = min(self.least_free, self.free)

    def give(self, blocks: int) -> None:
        """Blocks come back. Raises RuntimeError where more come than went: a scheduler's bug."""
        if blocks < 0 or self.free + blocks > self.total:
            raise RuntimeError(f"{blocks} blocks given back, {self.total - self.free} in use")
        self.free += blocks


class Growth:
    """When the decoding sequences of a paged cache need their next blocks.

    Let g count the decode steps so far. A sequence with `cached` tokens keeps the same
    (cached - g) mod block_tokens for as long as it decodes, and needs a block in the step where
    (that + g) mod block_tokens is 0. So a count per remainder is all there is to keep.
    """

    __slots__ = ("block_tokens", "counts", "sequences")

    def __init__(self, block_tokens: int) -> None:
        self.block_tokens = block_tokens
        self.counts = [0] * block_tokens
        self.sequences = 0

    def add(self, base: int) -> None:
        """A sequence starts to decode; base = cached tokens - g."""
        self.counts[base % self.block_tokens] += 1
        self.sequences += 1

    def remove(self, base: int) -> None:
        """The sequence decodes no longer."""
        self.counts[base % self.block_tokens] -= 1
        self.sequences -= 1

    def needed(self, step: int) -> int:
        """Blocks that the step after `step` decode steps takes."""
        return self.counts[-step % self.block_tokens]

    def needed_in(self, step: int, steps: int) -> int:
        """Blocks that `steps` steps from there take."""
        cycles, rest = divmod(steps, self.block_tokens)
        return cycles * self.sequences + sum(self.needed(step + i) for i in range(rest))

    def affordable(self, step: int, free: int, most: int) -> int:
        """How many of `most` steps `free` blocks last."""
        size = self.block_tokens
        if free >= self.sequences * (most // size + 1):
            return most
        cycles = free // self.sequences
        free -= cycles * self.sequences
        steps = cycles * size
        while steps < most and (need := self.needed(step + steps)) <= free:
            free -= need
            steps += 1
        return min(steps, most)
