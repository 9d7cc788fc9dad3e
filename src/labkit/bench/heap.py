"""The C library's heap: whether freed memory goes back to the system at once, or is kept.

A step that takes and frees a gigabyte makes the system clear its pages anew each time. That is as
much as half of the time such a step takes, varies with what else the machine does, and is no part
of the arithmetic. torch keeps freed memory on a GPU; here a CPU's heap is told to do the same.
"""

from __future__ import annotations

import ctypes
import sys

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # of glibc's malloc.h
_NEVER = 2**31 - 1


def keep_freed_memory() -> bool:
    """From now on this process keeps what it frees; False where the C library cannot (not glibc).

    Meant for a worker process, which gives everything back when it ends.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is None:
        return False
    # No block of its own for a large request, and no trimming of the heap's end.
    return bool(mallopt(_M_MMAP_MAX, 0) and mallopt(_M_TRIM_THRESHOLD, _NEVER))
