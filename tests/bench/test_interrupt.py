"""A learner presses ■ while a measurement runs: one sentence, and no process left."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

SENTENCE = (
    "Interrupted: the measurement has ended and nothing of it was kept. "
    "Run the cell again to start it afresh."
)
Kernel = tuple[KernelManager, BlockingKernelClient]


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    (tmp_path / ".labkit").mkdir()
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LABKIT_")}
    manager, client = start_new_kernel(
        kernel_name="python3", cwd=str(tmp_path), env={**clean, "LABKIT_WORKSPACE": str(tmp_path)}
    )
    try:
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


def until(client: BlockingKernelClient, kind: str) -> list[dict[str, Any]]:
    """Messages of the kernel up to one of this kind (or, for "idle", up to that state)."""
    seen: list[dict[str, Any]] = []
    while True:
        message = client.get_iopub_msg(timeout=60)
        seen.append(message)
        if kind in (message["msg_type"], message["content"].get("execution_state")):
            return seen


def worker_of(manager: KernelManager) -> psutil.Process:
    """The measuring process, by its command line."""
    kernel = psutil.Process(manager.provisioner.pid)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for child in kernel.children(recursive=True):
            if "labkit.bench.worker" in child.cmdline():
                return child
        time.sleep(0.05)
    raise AssertionError("no worker came")


def shown(messages: list[dict[str, Any]]) -> list[str]:
    return [
        m["content"]["data"]["text/plain"]
        for m in messages
        if m["msg_type"] in ("display_data", "update_display_data")
    ]


def test_an_interrupted_bench_says_one_sentence_and_ends_its_process(kernel: Kernel) -> None:
    manager, client = kernel
    client.execute("from labkit import bench; record = bench.machine()")
    progress = until(client, "display_data")
    assert shown(progress) == ["[····················]  1 of 20: loading torch"]
    worker = worker_of(manager)
    manager.interrupt_kernel()
    messages = until(client, "idle")
    errors = [m["content"] for m in messages if m["msg_type"] == "error"]
    assert [error["traceback"] for error in errors] == [[SENTENCE]]
    assert not [m for m in messages if m["msg_type"] == "stream"]
    assert shown(messages)[-1] == ""  # the progress line is gone
    assert not worker.is_running()
    assert psutil.Process(manager.provisioner.pid).children() == []


def test_the_kernel_works_on_after_an_interrupt(kernel: Kernel) -> None:
    manager, client = kernel
    client.execute("from labkit import bench; record = bench.machine()")
    until(client, "display_data")
    manager.interrupt_kernel()
    until(client, "idle")
    client.execute("print(bench.machine(replay=True).live, 'record' in globals())")
    printed = [m["content"]["text"] for m in until(client, "idle") if m["msg_type"] == "stream"]
    assert printed == ["False False\n"]
