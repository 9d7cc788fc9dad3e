"""One call under torch's profiler: its operators, and how much of the time was not in kernels.

A learner profiles before optimising, so this gives what that needs: the operators by their own
time, the number of calls, and the host's share: Python, dispatch and views around the arithmetic.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

TOP = 10

# Operators that hand on to others or change how a tensor is looked at, and compute nothing
# themselves. Their own time belongs to the host.
_HANDS_ON = frozenset(
    f"aten::{name}"
    for name in (
        *("view", "reshape", "_reshape_alias", "_unsafe_view", "as_strided", "alias", "detach"),
        *("t", "transpose", "permute", "expand", "unsqueeze", "squeeze", "slice", "select"),
        *("narrow", "split", "chunk", "unbind", "unflatten", "flatten", "movedim", "numpy_T"),
        *(
            "empty",
            "empty_like",
            "empty_strided",
            "resize_",
            "new_empty",
            "lift_fresh",
            "result_type",
        ),
        *("to", "_to_copy", "contiguous", "clone", "type_as", "resolve_conj", "resolve_neg"),
        *("linear", "matmul", "embedding", "scaled_dot_product_attention", "rsub", "item"),
        *("_local_scalar_dense", "is_nonzero", "full", "ones", "zeros", "arange"),
    )
)


@dataclass(frozen=True, slots=True)
class Operator:
    """All calls of one operator (or GPU kernel): its own time in ms, and its share of all."""

    name: str
    calls: int
    self_ms: float
    share: float
    computes: bool


@dataclass(frozen=True, slots=True)
class StepProfile:
    """What one call consisted of; `kernel_ms`, `host_share` are None where nobody tells (MPS)."""

    profiled_ms: float
    kernel_ms: float | None
    host_share: float | None
    calls: int
    kinds: int
    operators: tuple[Operator, ...]
    gpu_kernels: tuple[Operator, ...]

    def facts(self) -> dict[str, Any]:
        """As it stands in a record."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the profiler's averages, in µs."""

    name: str
    calls: int
    self_us: float
    on_gpu: bool


def profile_call(step: Callable[[], object], device: str, repeats: int = 1) -> StepProfile:
    """Profile `repeats` calls of `step`, which must wait for the device itself; means per call.

    The profiler's clock is wall time. What interrupts a call stretches every operator alike, on
    the average of many: so shares come out right on a busy machine too.
    """
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
    with profile(activities=activities) as profiler:
        begun = time.perf_counter()
        for _ in range(repeats):
            step()
        profiled_ms = 1e3 * (time.perf_counter() - begun) / repeats
    rows = [
        Row(
            name=str(average.key),
            calls=int(average.count) // repeats,
            self_us=_own_us(average, on_gpu) / repeats,
            on_gpu=on_gpu,
        )
        for average in profiler.key_averages()
        if (on_gpu := average.device_type.name == "CUDA") or str(average.key).startswith("aten::")
    ]
    return digest(rows, profiled_ms, device)


def _own_us(average: Any, on_gpu: bool) -> float:
    return float(average.self_device_time_total if on_gpu else average.self_cpu_time_total)


def digest(rows: Sequence[Row], profiled_ms: float, device: str) -> StepProfile:
    """Host's share = 1 - kernels ÷ step: kernels are operators that compute, or a GPU's own."""
    host = [row for row in rows if not row.on_gpu]
    gpu = [row for row in rows if row.on_gpu]
    kernels = {"cpu": [row for row in host if computes(row.name)], "cuda": gpu}.get(device)
    kernel_ms = None if kernels is None else sum(row.self_us for row in kernels) / 1e3
    return StepProfile(
        profiled_ms=round(profiled_ms, 3),
        kernel_ms=None if kernel_ms is None else round(kernel_ms, 3),
        host_share=None if kernel_ms is None else round(max(0.0, 1 - kernel_ms / profiled_ms), 4),
        calls=sum(row.calls for row in host),
        kinds=len(host),
        operators=_top(host),
        gpu_kernels=_top(gpu),
    )


def computes(operator: str) -> bool:
    """Whether an operator does arithmetic or moves numbers, rather than hand on or re-view."""
    return operator not in _HANDS_ON


def _top(rows: Sequence[Row]) -> tuple[Operator, ...]:
    whole = sum(row.self_us for row in rows) or 1.0
    first = sorted(rows, key=lambda row: -row.self_us)[:TOP]
    return tuple(
        Operator(
            row.name,
            row.calls,
            round(row.self_us / 1e3, 4),
            round(row.self_us / whole, 4),
            row.on_gpu or computes(row.name),
        )
        for row in first
    )
