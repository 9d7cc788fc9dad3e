"""How many processes a run has and how much memory they hold together, read from /proc.

Limits per process do not stop sixty processes from taking three gigabytes each.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Usage:
    """Processes of a tree, and their anonymous and shared-memory bytes."""

    processes: int
    memory: int


def usage(root: int) -> Usage:
    """The tree below and including `root`. A process that ends meanwhile counts nothing."""
    pids = _tree(root)
    return Usage(len(pids), sum(_memory(pid) for pid in pids))


def _tree(root: int) -> list[int]:
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found.append(pid)
        with suppress(OSError):
            for task in (_PROC / str(pid) / "task").iterdir():
                with suppress(OSError):
                    todo += [int(child) for child in (task / "children").read_text().split()]
    return found


def _memory(pid: int) -> int:
    """Bytes of one process; pages shared after a fork count in parts, where the kernel tells."""
    for name, fields in (
        ("smaps_rollup", ("Pss_Anon:", "Pss_Shmem:")),
        ("status", ("RssAnon:", "RssShmem:")),
    ):
        with suppress(OSError):
            lines = (_PROC / str(pid) / name).read_text().splitlines()
            sizes = [int(line.split()[1]) << 10 for line in lines if line.startswith(fields)]
            if sizes:
                return sum(sizes)
    return 0
