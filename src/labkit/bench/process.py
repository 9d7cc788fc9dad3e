"""Runs a job in a process of its own and brings back its result: the parent's side.

The notebook's kernel thus never imports torch, thread counts hold from the first instruction, and
all memory is given back. The worker leads a process group: an interrupt or an error here ends the
whole group, and if this process dies the worker sees its standard input close and ends itself.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import IO, Any

from labkit.bench.guard import worker_environment
from labkit.bench.progress import Progress, Report, silent
from labkit.contract import LabkitError

_KILL_AFTER_S = 2.0
_TAIL = 12


class WorkerFailed(LabkitError):  # noqa: N818  reads as what happened
    """The worker ended without a result; the message holds its last words."""


def run_job(
    name: str,
    options: Mapping[str, Any] | None = None,
    *,
    report: Report = silent,
    threads: int = 1,
    timeout_s: float = 600,
) -> dict[str, Any]:
    """Run job `name` in a fresh process and return its JSON result.

    `name` is one of the registry's, or "module:function" for a function of (options, report).

    `report` gets each Progress. Raises LabkitError with the job's own message, WorkerFailed when
    it died or exceeded `timeout_s`; KeyboardInterrupt passes through after the worker is gone.
    """
    # -P: a file of the learner's called torch.py or random.py must not be imported instead.
    command = [sys.executable, "-P", "-m", "labkit.bench.worker", name, json.dumps(options or {})]
    worker = subprocess.Popen(
        command,
        env=worker_environment(threads),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    last_words: deque[str | None] = deque(maxlen=_TAIL)
    try:
        return _listen(worker, name, last_words, report, timeout_s)
    finally:
        _end(worker)


def _listen(
    worker: subprocess.Popen[str],
    name: str,
    last_words: deque[str | None],
    report: Report,
    timeout_s: float,
) -> dict[str, Any]:
    events: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    readers = [
        threading.Thread(target=_pump, args=(worker.stdout, events.put), daemon=True),
        threading.Thread(target=_pump, args=(worker.stderr, last_words.append), daemon=True),
    ]
    for reader in readers:
        reader.start()
    deadline = time.monotonic() + timeout_s
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise WorkerFailed(f"The measurement {name!r} took longer than {timeout_s:g} s.")
        try:
            line = events.get(timeout=min(left, 0.5))
        except queue.Empty:
            continue
        if line is None:
            break
        event = json.loads(line)
        if event["event"] == "progress":
            report(Progress(**event["progress"]))
        elif event["event"] == "error":
            raise LabkitError(event["message"])
        else:
            result: dict[str, Any] = event["result"]
            return result
    readers[1].join(timeout=_KILL_AFTER_S)
    worker.wait()
    # A Python traceback ends with the line that says what happened.
    words = [line.strip() for line in last_words if line and line.strip()]
    raise WorkerFailed(
        f"The measurement {name!r} ended early ({_cause(worker.returncode)})"
        f"{': ' + words[-1][:300] if words else ''}."
    )


def _pump(stream: IO[str] | None, put: Any) -> None:
    """Pass on line by line; None at the end, for whoever waits."""
    for line in stream or ():
        put(line)
    put(None)


def _cause(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    names = {-signal.SIGTERM: "stopped from outside"}
    if hasattr(signal, "SIGKILL"):
        names[-signal.SIGKILL] = "killed, perhaps for using too much memory"
    return names.get(code, f"signal {-code}")


def _end(worker: subprocess.Popen[str]) -> None:
    """End the worker and whatever it started; returns when it is gone."""
    if worker.stdin:
        worker.stdin.close()
    _signal_group(worker, signal.SIGTERM)
    try:
        worker.wait(timeout=_KILL_AFTER_S)
    except subprocess.TimeoutExpired:
        _signal_group(worker, getattr(signal, "SIGKILL", signal.SIGTERM))
        worker.wait()
    for stream in (worker.stdout, worker.stderr):
        if stream:
            stream.close()


def _signal_group(worker: subprocess.Popen[str], number: int) -> None:
    try:
        if hasattr(os, "killpg"):
            os.killpg(worker.pid, number)  # its session's group has the worker's own number
        else:
            worker.terminate()
    except (ProcessLookupError, PermissionError):
        return  # all gone already; of a group that has ended macOS says EPERM
