"""How much memory one call takes: counted by Python's own allocation tracing, as NumPy reports it.

The same on every machine, and no limit is put on the notebook's process. In the sandbox the
operating system limits the address space instead, which no learner's code can undo.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def peak_of(call: Callable[[], T], limit: int | None) -> tuple[T, int]:
    """What `call` returns, and its peak in bytes above what was held before; 0 without a limit.

    An exception of the call goes to the caller.
    """
    if limit is None:
        return call(), 0
    running = tracemalloc.is_tracing()
    if not running:
        tracemalloc.start(1)
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        made = call()
        return made, tracemalloc.get_traced_memory()[1] - before
    finally:
        if not running:
            tracemalloc.stop()
