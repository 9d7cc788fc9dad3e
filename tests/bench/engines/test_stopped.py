"""A measurement that is stopped amid its servers leaves no process: with the real small server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from labkit.bench.engine import small_server, warden
from tests.bench.engines.fakes import wait_until_gone

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX signals")
CODE = "from labkit import bench; bench.load(quick=True, servers=['plain'])"


def server_of(process: psutil.Process) -> psutil.Process:
    """The small server below this process, once it is there."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        for child in process.children(recursive=True):
            words = child.cmdline()
            if small_server.__name__ in words and warden.__name__ not in words:
                return child
        time.sleep(0.1)
    raise AssertionError("no server came")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left(number: int, tmp_path: Path) -> None:
    (tmp_path / ".labkit").mkdir()
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LABKIT_R")}
    kernel = subprocess.Popen(
        [sys.executable, "-c", CODE],
        env={**clean, "LABKIT_WORKSPACE": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
    )
    server_of(psutil.Process(kernel.pid))
    family = [p.pid for p in psutil.Process(kernel.pid).children(recursive=True)]
    assert len(family) >= 3  # worker, warden, server
    kernel.send_signal(number)
    said = kernel.communicate(timeout=60)[1]
    wait_until_gone(family)
    if number == signal.SIGINT:
        assert "Interrupted: the measurement has ended and nothing of it was kept." in said
    assert not list((tmp_path / ".labkit").rglob("*.json"))
