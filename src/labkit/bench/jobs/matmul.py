"""Matrix products: the peak of a big square one, and decode-shaped ones with B = 1 … 64 rows.

A decode step multiplies B rows (one per sequence) with every weight matrix. The sweep does that
with a stack of 4096 × 4096 matrices too big for the caches, through the call that a Linear layer
makes, so it shows what batching costs on this machine and in this library.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from labkit.bench.jobs.bandwidth import last_level_cache
from labkit.bench.session import Measured, Session

if TYPE_CHECKING:
    import torch

DTYPES = {"fp32": "float32", "bf16": "bfloat16"}
BATCHES = (1, 2, 4, 8, 16, 32, 64)
_SIDE = 4096
# A product this slow is the finding already: the rest of the sweep would take minutes.
_TOO_SLOW_S = 2.0
_GEMM_S = 0.25


def measure_peak(session: Session, measured: Measured) -> None:
    """Add gemm.fp32 and gemm.bf16: GFLOP/s (1e9) of an n × n × n product, 2·n³ FLOP."""
    sides: dict[str, int] = {}
    for name in DTYPES:
        session.say(f"matrix product peak: {name.upper()}")
        n = sides[name] = _side(session, name)
        left, right = _random(session, name, n, n), _random(session, name, n, n)

        def product(left: torch.Tensor = left, right: torch.Tensor = right) -> torch.Tensor:
            return left @ right

        budget = 0.5 if session.quick else 2.0
        samples = session.time(product, min_samples=5, budget_s=budget)
        label = f"{name.upper()} matrix product peak"
        measured.add_rate(f"gemm.{name}", label, "GFLOP/s", 2 * n**3 / 1e9, samples)
    measured.facts["gemm_n"] = sides


def measure_sweep(session: Session, measured: Measured, name: str) -> dict[str, Any]:
    """Add sweep.<name>.b<B>: ms for one pass of B rows through all the matrices of this dtype.

    Returns what is counted: FLOP and bytes per pass and per row.
    """
    import torch

    weights = _stack(session, name)
    done: list[int] = []
    for batch in BATCHES:
        session.say(f"{name.upper()} products, B = {batch}")
        rows = _random(session, name, batch, _SIDE)

        def one_pass(rows: torch.Tensor = rows) -> None:
            for weight in weights:
                torch.nn.functional.linear(rows, weight)

        with torch.inference_mode():
            once = _clock(session, one_pass)
            slow = once > _TOO_SLOW_S
            samples = session.time(
                one_pass,
                warmup=0 if slow else 1,
                min_samples=3 if slow else 5 if session.quick else 7,
                budget_s=0.0 if slow else 0.1 if session.quick else 1.0,
                attempts=1 if slow else 4,
            )
        label = f"{name.upper()} product, {batch} row{'s' if batch > 1 else ''}"
        measured.add_times(f"sweep.{name}.b{batch}", label, samples)
        done.append(batch)
        if slow and name != "fp32":  # every machine is asked for the whole FP32 sweep
            measured.notes.append(
                f"The {name.upper()} sweep stops at B = {batch}: one pass takes {once:.1f} s."
            )
            session.steps.leave_out(len(BATCHES) - len(done))
            break
    size = weights[0].element_size()
    return {
        "batches": done,
        "matrices": len(weights),
        "side": _SIDE,
        "weight_bytes": len(weights) * _SIDE * _SIDE * size,
        "flop_per_row": 2 * len(weights) * _SIDE * _SIDE,
        # each matrix reads one row and writes one
        "activation_bytes_per_row": len(weights) * 2 * _SIDE * size,
    }


def _stack(session: Session, name: str) -> list[torch.Tensor]:
    """Enough matrices that all of them exceed the last-level cache four times over.

    A GPU gets more, because there a pass must also outlast the waiting for it.
    """
    size = 2 if name == "bf16" else 4
    least = 4 if session.device == "cpu" else 16
    count = max(least, -(-4 * last_level_cache(session) // (_SIDE * _SIDE * size)))
    return [_random(session, name, _SIDE, _SIDE) for _ in range(count)]


def _side(session: Session, name: str) -> int:
    """The largest power of two whose product takes about a quarter of a second, 512 to 8192."""
    n = 512
    while n < 8192:
        matrix = _random(session, name, n, n)
        _clock(session, lambda matrix=matrix: matrix @ matrix)
        if 8 * _clock(session, lambda matrix=matrix: matrix @ matrix) > _GEMM_S:
            break
        n *= 2
    return n


def _clock(session: Session, step: Any) -> float:
    begun = time.perf_counter()
    step()
    session.sync()
    return time.perf_counter() - begun


def _random(session: Session, name: str, rows: int, columns: int) -> torch.Tensor:
    import torch

    dtype: torch.dtype = getattr(torch, DTYPES[name])
    shape = (rows, columns)
    return torch.rand(shape, dtype=torch.float32, device=session.device).sub_(0.5).to(dtype)
