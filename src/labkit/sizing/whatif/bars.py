"""What binds, as bars: a step cut into its terms, a device's memory cut into what fills it.

Pure data from an `Estimate`; `text` and `markup` draw them. Every segment carries a letter, so
that a bar can be read without colour.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.contract.view import number
from labkit.sizing.estimate import Estimate
from labkit.sizing.kv import kv_bytes_per_sequence
from labkit.sizing.step import StepTime
from labkit.sizing.units import gib


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a bar, in the bar's unit; `shown` is the value with its unit."""

    letter: str
    name: str
    value: float
    shown: str
    largest: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A whole cut into segments. `limit`: where the bar should have ended, None: it does."""

    kind: str  # "time" or "memory"
    title: str
    segments: tuple[Segment, ...]
    limit: float | None = None

    @property
    def total(self) -> float:
        """The sum of the segments."""
        return sum(segment.value for segment in self.segments)


def bars(estimate: Estimate) -> tuple[Bar, ...]:
    """The decode step, the prefill and the memory of one device, as far as each is known."""
    found = [memory_bar(estimate)] if estimate.model.kind == "decoder" else []
    # A prefill without FLOP/s is not a prefill's time: it is left out, as in the estimate.
    if estimate.prefill is not None and estimate.prefill.compute is not None:
        prompt = number(estimate.workload.prompt_tokens)
        found.insert(0, step_bar(f"Prefill of one prompt of {prompt} tokens", estimate.prefill))
    if estimate.decode is not None:
        running = estimate.running_sequences
        many = "1 sequence" if running == 1 else f"{running:,} sequences"
        found.insert(0, step_bar(f"One decode step of {many}", estimate.decode))
    return tuple(found)


def step_bar(title: str, step: StepTime) -> Bar:
    """A step's terms in ms, the largest marked; they add up to the step.

    What a prefill reads while it computes is a segment of its own, counted once; so is a rest up
    to the roofline.
    """
    terms = [
        ("W", "reading weights", step.weights - step.hidden),
        ("K", "reading the KV cache", step.cache),
        ("O", "reading and computing at once", step.hidden),
        ("C", "computing", (step.compute or 0.0) - step.hidden),
        ("A", "all-reduces between devices", step.communication),
        ("H", "host overhead", step.overhead),
    ]
    known = sum(seconds for _, _, seconds in terms)
    terms.append(("R", "up to the roofline", max(0.0, step.seconds - known)))
    most = max(seconds for _, _, seconds in terms)
    band = step.total.times(1e3)
    return Bar(
        "time",
        f"{title}: {number(band.mid, 3)} ms ({number(band.low, 3)} to {number(band.high, 3)})",
        tuple(
            Segment(letter, name, seconds * 1e3, f"{number(seconds * 1e3, 3)} ms", seconds == most)
            for letter, name, seconds in terms
            if seconds > 0
        ),
    )


def memory_bar(estimate: Estimate) -> Bar:
    """One device's bytes: weights, engine, cache of the running sequences, free cache, kept back.

    The cache of a running sequence is counted at its full length. Where weights and engine alone
    are too much, the bar runs past its `limit`: what the engine may use.
    """
    budget, n = estimate.memory, estimate.tensor_parallel_size
    pool = budget.kv_pool_bytes
    each = kv_bytes_per_sequence(
        estimate.model,
        estimate.config.kv_format,
        estimate.workload.full_length,
        tensor_parallel_size=n,
        block_tokens=estimate.config.block_tokens if estimate.engine.paged else 1,
    )
    used = min(pool, estimate.running_sequences * each)
    taken = budget.weights_bytes + budget.overhead.mid
    fits = pool > 0
    parts = (
        ("W", "weights", budget.weights_bytes),
        ("E", "engine overhead", budget.overhead.mid),
        ("K", "KV cache of the running sequences at full length", used),
        ("F", "KV cache, free", pool - used),
        ("B", "kept back", max(0.0, budget.usable_bytes - taken - pool) if fits else 0.0),
    )
    most = max(size for _, _, size in parts)
    return Bar(
        "memory",
        f"Memory of one {estimate.device.noun}: {gib(budget.usable_bytes)}, "
        f"of which {gib(budget.limit_bytes)} may be used",
        tuple(
            Segment(letter, name, size, gib(size), size == most)
            for letter, name, size in parts
            if size > 0
        ),
        limit=None if fits else budget.limit_bytes,
    )
