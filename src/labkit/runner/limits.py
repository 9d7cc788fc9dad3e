"""Resource limits that the process puts on itself before the first cell, for good.

Hard limits can be lowered by anybody and raised by nobody without privilege, so it does not
matter that the process that sets them is the one that is limited.
"""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

from labkit.runner.job import Limits


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


def _lower(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    # macOS refuses to limit the address space; there grading runs without a sandbox anyway.
    with suppress(ValueError):
        resource.setrlimit(which, (value, value))
