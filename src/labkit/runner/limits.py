"""Resource limits that the process puts on itself before the first cell, for good.

Hard limits can be lowered by anybody and raised by nobody without privilege, so it does not
matter that the process that sets them is the one that is limited.
"""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

from labkit.runner.job import Limits

_M_MMAP_THRESHOLD = -3  # of glibc's malloc.h


def apply(limits: Limits) -> None:
    """Limit memory, CPU time, file size, open files and processes; allow no core dumps."""
    # Memory comes last: the calls before it may still need some.
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_CPU, int(limits.total_s) + 5)
    _lower(resource.RLIMIT_FSIZE, limits.file_size)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    _lower(resource.RLIMIT_NPROC, limits.processes)
    with suppress(OSError):  # only Linux has it, and the sandbox may have set it for good
        Path("/proc/self/oom_score_adj").write_text("1000")
    _lower(resource.RLIMIT_AS, limits.memory)


def cap_growth(size: int) -> bool:
    """From here on let the address space grow by `size` bytes at most, for good.

    For the process that makes the calls of one probe. What NumPy sets up at its first product is
    set up before, and every larger block is mapped on its own, so that freed memory is free at
    once. False where this system cannot tell or limit the address space (macOS).
    """
    _warm_up()
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + size
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (OSError, ValueError):
        return False
    return True


def _warm_up() -> None:
    import numpy as np

    for dtype in (np.float32, np.float64):
        square = np.ones((64, 64), dtype=dtype)
        np.exp(square @ square - 64)
    with suppress(AttributeError, OSError):  # only glibc has it
        import ctypes

        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 1 << 20)


def _lower(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    # macOS refuses to limit the address space; there grading runs without a sandbox anyway.
    with suppress(ValueError):
        resource.setrlimit(which, (value, value))
