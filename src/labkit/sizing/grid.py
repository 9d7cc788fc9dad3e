"""The answers of `estimate` for many loads of many lanes at once, as arrays.

The same sums as `estimate`, term by term, over arrays of shape (lanes, batches, loads): a load is
a prompt length, an output length and a prefix hit rate. What does not depend on the batch is worked
out once for all of them. Not a number: not estimated. Seconds inside, milliseconds in `Answers`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labkit.sizing.lanes import Stack
from labkit.sizing.overlap import hidden_seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

BOUNDS = ("memory", "compute", "communication", "overhead")


@dataclass(frozen=True, slots=True)
class Range:
    """A band of arrays: low <= mid <= high."""

    low: Floats
    mid: Floats
    high: Floats

    @property
    def ends(self) -> tuple[Floats, Floats, Floats]:
        """low, mid, high."""
        return self.low, self.mid, self.high


@dataclass(frozen=True, slots=True)
class Loads:
    """Lengths in tokens, each of shape (1, 1, loads); see `Workload`.

    cached: prompt tokens that the prefix cache holds; context: mean cached tokens in decode.
    """

    prompt: Floats
    output: Floats
    cached: Floats
    context: Floats


@dataclass(frozen=True, slots=True)
class Answers:
    """What `estimate` answers, of shape (lanes, batches, loads) or broadcast to it.

    max_sequences, running: counts. too_long, short, crowded: where the context, the weights and
    the KV cache refuse (`ENGINE_UNSUPPORTED`, `WEIGHTS`, `KV_CACHE`). bound: index into `BOUNDS`,
    -1 where nothing was timed.
    """

    max_sequences: Floats
    running: Floats
    too_long: Flags
    short: Flags
    crowded: Flags
    ttft_ms: Range
    tpot_ms: Range
    tokens_per_s: Range
    bound: NDArray[np.int8]


def loads(
    prompt: Floats, output: Floats, prefix_hit_rate: Floats, context: Floats | None = None
) -> Loads:
    """Loads of whole tokens; `context` None: answers all as long, so prompt + output / 2."""
    prompt, output = prompt.reshape(1, 1, -1), output.reshape(1, 1, -1)
    hit = np.floor(prompt * prefix_hit_rate.reshape(1, 1, -1))
    mean = prompt + output / 2 if context is None else context.reshape(1, 1, -1)
    return Loads(prompt, output, np.minimum(hit, prompt - 1), mean)


def evaluate(stack: Stack, batch: Floats, load: Loads) -> Answers:
    """The answers at `batch` sequences, of shape (lanes or 1, batches, 1)."""
    column = stack.columns
    pool, short = stack.memory(batch)
    room = _room(stack, pool, batch, load.prompt + load.output)
    too_long = load.prompt + load.output > column["longest"]
    running = np.minimum(batch, room)
    running = np.where(too_long | (short > 0) | (column["stopped"] > 0), 0.0, running)
    timed = (running > 0) & (column["timed"] > 0)
    sequences = np.where(timed, running, np.nan)

    step, bound = _decode(stack, sequences, load)
    ttft = _prefill(stack, load)
    computes = column["computes"] > 0
    ttft = Range(*(np.where(timed & computes, end, np.nan) for end in ttft.ends))
    made = sequences * np.where(computes, load.output, 1.0)
    more = np.where(computes, load.output - 1, 1.0)
    cycles = (
        np.where(computes, sequences * first, 0.0) + more * then
        for first, then in zip(ttft.ends, step.ends, strict=True)
    )
    high, mid, low = (made / cycle for cycle in cycles)
    return Answers(
        max_sequences=room,
        running=running,
        too_long=too_long,
        short=short > 0,
        crowded=(pool > 0) & (room < batch),
        ttft_ms=Range(*(end * 1e3 for end in ttft.ends)),
        tpot_ms=Range(*(end * 1e3 for end in step.ends)),
        tokens_per_s=Range(low, mid, high),
        bound=bound,
    )


def _room(stack: Stack, pool: Floats, batch: Floats, tokens: Floats) -> Floats:
    """Sequences of `tokens` that the pool holds, as `memory.max_sequences` counts them."""
    block = stack.columns["block_tokens"]
    held = np.ceil(tokens / block) * block
    each = np.zeros(())
    for size, constant, window in zip(
        *(stack.parts[name] for name in ("pool_per_token", "pool_constant", "window")), strict=True
    ):
        each = each + (size * np.minimum(held, window) + constant)
    fits = np.floor(pool / np.where(each > 0, each, 1.0))
    return np.where(pool <= 0, 0.0, np.where(each > 0, fits, batch))


def _windowed(stack: Stack, name: str, context: Floats) -> Floats:
    """The sum over kinds of layers of a per-token number x min(context, window)."""
    total = np.zeros(())
    for size, window in zip(stack.parts[name], stack.parts["window"], strict=True):
        total = total + size * np.minimum(context, window)
    return total


@dataclass(frozen=True, slots=True)
class _Terms:
    """The terms of a decode step in seconds, its roofline, and their sum."""

    memory: Floats
    compute: Floats
    wires: Floats
    host: Floats
    roof: Floats
    seconds: Floats


def _terms(stack: Stack, sequences: Floats, load: Loads) -> _Terms:
    column = stack.columns
    cache_each = column["cache_constant"] + _windowed(stack, "cache", load.context)
    work_each = column["attention_constant"] + _windowed(stack, "attention", load.context)
    work_each = (column["token"] + column["head"] + work_each) * column["decode_factor"]

    weights = column["weights"] + _experts(stack, sequences)
    cache = sequences * cache_each
    memory, compute = weights + cache, sequences * work_each
    wires = column["latency"] + column["wire"] * sequences
    busy = memory + compute + wires
    host = _shows(stack, busy) + column["sequence"] * sequences
    roof = np.maximum(
        weights * column["mbu"] + cache * column["mbu_kv"], compute * column["mfu_decode"]
    )
    return _Terms(memory, compute, wires, host, roof, np.maximum(busy + host, roof))


def _decode(stack: Stack, sequences: Floats, load: Loads) -> tuple[Range, NDArray[np.int8]]:
    """Seconds of a decode step, and which of its terms is largest."""
    column, terms = stack.columns, _terms(stack, sequences, load)
    mid, many = terms.seconds, sequences > 1
    low = np.maximum(mid * np.where(many, column["many_low"], column["one_low"]), terms.roof)
    high = mid * np.where(many, column["many_high"], column["one_high"])

    bound = np.where(np.isnan(sequences), -1, 0).astype(np.int8)
    most = terms.memory
    for index, term in enumerate((terms.compute, terms.wires, terms.host), start=1):
        bound = np.where(term > most, np.int8(index), bound)
        most = np.maximum(most, term)
    return Range(low, mid, high), bound


def middle_seconds(stack: Stack, load: Loads) -> tuple[Floats, Callable[[Floats], Floats]]:
    """(prefill, step): central seconds of one prefill, and of a decode step of n sequences.

    Nothing is refused here: for lanes that run and are timed, as a search asks them often.
    """

    def step(sequences: Floats) -> Floats:
        return _terms(stack, sequences, load).seconds

    return _prefill(stack, load).mid, step


def _prefill(stack: Stack, load: Loads) -> Range:
    """Seconds of one prompt's prefill: (lanes, 1, loads), whatever the batch."""
    column = stack.columns
    tokens, cached = load.prompt - load.cached, load.cached
    pairs = np.zeros(())
    for size, window in zip(stack.parts["pair"], stack.parts["window"], strict=True):
        # Beyond its window a token looks at `window` others; until then at all before it.
        ramp = np.clip(window - cached, 0.0, tokens)
        over = np.where(tokens > ramp, (tokens - ramp) * np.minimum(window, 1e18), 0.0)
        pairs = pairs + size * (cached * ramp + ramp * ramp / 2 + over)
    cache = column["cache_constant"] + _windowed(stack, "cache", cached)
    cache = np.where(cached > 0, cache, 0.0)
    weights = column["weights"] + _experts(stack, tokens)
    compute = (column["token"] + column["linear_token"]) * tokens + column["head"] + pairs
    hidden = hidden_seconds(weights, compute)
    busy = weights + cache + (compute - hidden) + column["latency"] + column["wire"] * tokens
    roof = np.maximum(weights * column["mbu"] + cache * column["mbu_kv"], compute * column["mfu"])
    mid = np.maximum(busy + _shows(stack, busy) + column["prompt"], roof)
    return Range(np.maximum(mid * column["prefill_low"], roof), mid, mid * column["prefill_high"])


def _experts(stack: Stack, tokens: Floats) -> Floats:
    """Seconds of reading the experts that so many tokens touch."""
    column = stack.columns
    return column["experts"] * np.minimum(1.0, tokens * column["experts_share"])


def _shows(stack: Stack, busy: Floats) -> Floats:
    """Host time that shows: what exceeds the device's where kernels are launched one by one."""
    host = stack.columns["host"]
    if not bool(stack.columns["hides_host"].any()):
        return host
    return np.where(stack.columns["hides_host"] > 0, np.maximum(0.0, host - busy), host)
