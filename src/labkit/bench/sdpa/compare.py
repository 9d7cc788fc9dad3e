"""All back ends that exist here, over rising sequence lengths: time, peak memory, agreement."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from labkit.bench import clock
from labkit.bench.rounds import ROUNDS
from labkit.bench.sampling import Samples, pool
from labkit.bench.sdpa.allocated import peak_bytes
from labkit.bench.sdpa.backends import BACK_ENDS, BackEnd, Presence, Shape, find, runner
from labkit.bench.session import Measured, Session

# Largest difference to the math back end that rounding explains: outputs reach about 4, and the
# same sum in another order moves an FP32 one by a few 1e-7 and an FP16 one by a few 1e-3.
TOLERANCES = {"float32": 1e-5, "float16": 1e-2}
_NAMES = {"float32": "fp32", "float16": "fp16"}
_MATH = BACK_ENDS[0]
# One call of a few µs on a GPU would be lost in launching it and waiting for it.
_GPU_CALLS = 20
# The second call shows what the first one left in pieces.
_GROWING = 2


@dataclass(slots=True)
class Taken:
    """What was found about one back end at one length."""

    sets: list[Samples] = field(default_factory=list)
    peak_bytes: int | None = None
    max_difference: float = 0.0


def compare(
    session: Session,
    shape: Shape,
    lengths: Sequence[int],
    backends: Sequence[BackEnd] = BACK_ENDS,
) -> Measured:
    """Series sdpa.B.nN and the fact sdpa, as `bench.attention` describes them.

    Three rounds go over all of them, so that what changes slowly meets each alike.
    """
    import torch

    session.say("which back ends exist")
    presence = {backend: find(backend, shape, session.device) for backend in backends}
    here = [backend for backend in backends if presence[backend].operator]
    taken = {(backend, length): Taken() for backend in here for length in lengths}
    with torch.inference_mode():
        _grow_heap(session, shape, max(lengths), here)
        for number in range(1, ROUNDS + 1):
            session.say(f"attention by back end and length, round {number} of {ROUNDS}")
            for length in lengths:
                _take_round(session, shape, length, {b: taken[b, length] for b in here})
        for length in lengths:
            _count(session, shape, length, {b: taken[b, length] for b in here})
    measured = Measured()
    described = {}
    for backend in backends:
        along = [taken[backend, length] for length in lengths] if backend in here else []
        described[backend.name] = _describe(presence[backend], along, shape)
        for length, found in zip(lengths, along, strict=False):
            label = f"SDPA {backend.name}, {length:,} tokens"
            clock.add_readings(
                measured, f"sdpa.{backend.name}.n{length}", label, found.sets, session.device
            )
    measured.facts["sdpa"] = _asked(shape, lengths) | {"backends": described}
    return measured


def _grow_heap(session: Session, shape: Shape, length: int, backends: Sequence[BackEnd]) -> None:
    """Take all the memory that any sample will need, and give it back to the heap.

    Else the first round pays for clearing new pages at the short lengths, which come first, and
    the later rounds do not.
    """
    qkv = shape.draw(length, session.device)
    for backend in backends:
        for _ in range(_GROWING):
            runner(backend, qkv)()
    session.sync()


def _take_round(session: Session, shape: Shape, length: int, taken: dict[BackEnd, Taken]) -> None:
    qkv = shape.draw(length, session.device)
    count = 2 if length > 2048 else 4
    calls = 1 if session.device == "cpu" else _GPU_CALLS
    for backend, found in taken.items():
        step = several(runner(backend, qkv), calls)
        found.sets.append(per_call(clock.steady(session, step, count), calls))


def several(step: Callable[[], object], calls: int) -> Callable[[], None]:
    """A step that is so many calls of `step`."""

    def run() -> None:
        for _ in range(calls):
            step()

    return run


def per_call(samples: Samples, calls: int) -> Samples:
    """The time of one of so many calls."""
    return Samples(
        wall_s=tuple(seconds / calls for seconds in samples.wall_s),
        cpu_s=tuple(seconds / calls for seconds in samples.cpu_s),
        attempts=samples.attempts,
    )


def _count(session: Session, shape: Shape, length: int, taken: dict[BackEnd, Taken]) -> None:
    """What needs no samples: the peak, and the largest difference to math's output."""
    qkv = shape.draw(length, session.device)
    for backend, found in taken.items():
        found.peak_bytes = peak_bytes(runner(backend, qkv), session.device)
    reference = runner(_MATH, qkv)()
    for backend, found in taken.items():
        apart = (runner(backend, qkv)() - reference).abs().max()
        found.max_difference = float(f"{float(apart):.3g}")


def _describe(presence: Presence, along: Sequence[Taken], shape: Shape) -> dict[str, Any]:
    if presence.operator is None:
        return {"available": False, "why": presence.why}
    pooled = [pool(found.sets) for found in along]
    return {
        "available": True,
        "kernel": presence.operator,
        "cpu_ms": [_median_ms(samples.cpu_s) for samples in pooled],
        "wall_ms": [_median_ms(samples.wall_s) for samples in pooled],
        "peak_bytes": [found.peak_bytes for found in along],
        "max_difference": [found.max_difference for found in along],
        "agrees": all(found.max_difference <= TOLERANCES[shape.dtype] for found in along),
    }


def _asked(shape: Shape, lengths: Sequence[int]) -> dict[str, Any]:
    return {
        "lengths": list(lengths),
        "heads": shape.heads,
        "head_dim": shape.head_dim,
        "causal": True,
        "dtype": _NAMES[shape.dtype],
        "bytes_per_element": shape.element_bytes,
        "score_bytes": [shape.score_bytes(length) for length in lengths],
        "qkv_bytes": [shape.qkv_bytes(length) for length in lengths],
        "tolerance": TOLERANCES[shape.dtype],
    }


def _median_ms(seconds: Sequence[float]) -> float:
    return float(f"{1e3 * statistics.median(seconds):.5g}")
