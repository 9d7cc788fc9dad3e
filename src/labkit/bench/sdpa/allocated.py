"""The most memory one step holds at once, as torch's own allocator counts it.

Counts, not samples: the same on every run and on a busy machine. What a library takes past torch's
allocator is not in them (on a CPU the packing buffers of the matrix library, a few MB).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.bench.sdpa.trace import peak_of, traced


def peak_bytes(step: Callable[[], object], device: str) -> int | None:
    """Peak bytes of one call beyond what was allocated before; None where nobody counts (MPS)."""
    try:
        count = _COUNTERS[device]
    except KeyError:
        return None
    return count(step)


def cuda_peak(step: Callable[[], object], cuda: Any) -> int:
    """The same by the counters of `torch.cuda` (or what stands in for it)."""
    cuda.synchronize()
    before = int(cuda.memory_allocated())
    cuda.reset_peak_memory_stats()
    step()
    cuda.synchronize()
    return int(cuda.max_memory_allocated()) - before


def _on_cuda(step: Callable[[], object]) -> int:
    import torch

    return cuda_peak(step, torch.cuda)


_COUNTERS: dict[str, Callable[[Callable[[], object]], int]] = {
    "cpu": lambda step: peak_of(traced(step)),
    "cuda": _on_cuda,
}
