"""A worker's environment, and a limit on its address space: a mistake fails there, not here.

The limit is Linux only: macOS does not enforce one. With CUDA there is none either, because its
driver reserves more addresses than any machine has memory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from labkit.bench.hardware import read_memory
from labkit.contract import LabkitError


class OutOfMemory(LabkitError):  # noqa: N818  reads as what happened
    """A measurement asked for more memory than it may have."""


def limit_address_space(limit_bytes: int) -> bool:
    """Let further allocations of this process fail beyond `limit_bytes`; False where impossible.

    The limit is never raised above one that is already in force.
    """
    if sys.platform != "linux":
        return False
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    bound = limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
    return True


def require_memory(needed_bytes: int, what: str) -> None:
    """Raise OutOfMemory when less than `needed_bytes` of main memory is free (where known)."""
    free = read_memory().available_bytes
    if free is not None and free < needed_bytes:
        raise OutOfMemory(
            f"{what} needs {needed_bytes / 2**30:.1f} GiB of memory and {free / 2**30:.1f} GiB is "
            "free: close other notebooks or programs, or use replay=True."
        )


def worker_environment(threads: int, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a worker: `threads` threads for every library that starts its own.

    Also huge pages for torch's large buffers, where Linux grants them. With pages of 4 KiB it is
    chance where a buffer comes to lie, and with it the bandwidth: on one quiet machine five equal
    buffers were read at 17 to 26 GB/s, each steadily, and with pages of 2 MiB all at 29.
    """
    count = str(threads)
    return {
        **(os.environ if base is None else base),
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "NUMEXPR_NUM_THREADS": count,
        "VECLIB_MAXIMUM_THREADS": count,
        "THP_MEM_ALLOC_ENABLE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
    }
