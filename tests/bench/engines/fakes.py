"""Specs of the fake server, and waiting for processes to go."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import psutil

from labkit.bench.engine.launch import ServerSpec

FAKE = Path(__file__).with_name("fake_server.py")


def fake(
    behaviour: str, *more: str, memory_bytes: int = 1 << 30, ready_s: float = 30.0
) -> ServerSpec:
    """A spec of the fake server that behaves like this."""
    return ServerSpec(
        "the fake server",
        lambda port, key: [sys.executable, str(FAKE), str(port), key, behaviour, *more],
        lambda _key: {},
        memory_bytes,
        ready_s,
    )


def gone(pid: int) -> bool:
    """Whether the process has ended; a zombie has."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def wait_until_gone(pids: list[int], timeout_s: float = 15.0) -> None:
    """Fail unless all of them end in time."""
    end = time.monotonic() + timeout_s
    while not all(gone(pid) for pid in pids):
        assert time.monotonic() < end, f"still there: {[p for p in pids if not gone(p)]}"
        time.sleep(0.05)
