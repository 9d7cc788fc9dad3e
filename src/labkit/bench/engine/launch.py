"""Starts a server on loopback, waits until it really answers, and ends it with its starter.

Two gates: ``/health``, and then a real completion, because some servers are healthy before the
model is loaded. The process belongs to a `warden`: it dies with this process, however that ends.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil  # type: ignore[import-untyped]  # it ships no types

from labkit.bench.engine import warden
from labkit.bench.engine.crowd import ask_in_turn
from labkit.bench.engine.http_server import HOST
from labkit.bench.engine.requests import Request
from labkit.bench.engine.sse import Endpoint, ServerError
from labkit.bench.guard import worker_environment
from labkit.bench.progress import Progress, Report, silent

MODEL = "smollm2"
_TAIL = 30
_POLL_S = 0.25
_WARM = Request(-1, (504, 1000, 2000), 2)


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """How to start a server: `command` and `environment` of a port and a key.

    `memory_bytes` bounds its processes together, `ready_s` the time until it answers.
    """

    label: str
    command: Callable[[int, str], Sequence[str]]
    environment: Callable[[str], Mapping[str, str]]
    memory_bytes: int
    ready_s: float = 300.0


@dataclass(slots=True)
class Server:
    """A running server. A context manager: it is gone after the block."""

    spec: ServerSpec
    report: Report = silent
    endpoint: Endpoint = field(init=False)
    ready_after_s: float = field(init=False, default=0.0)
    _process: subprocess.Popen[str] = field(init=False)
    _last_words: deque[str] = field(init=False)
    _reader: threading.Thread = field(init=False)

    def __enter__(self) -> Self:
        port, key = free_port(), secrets.token_hex(16)
        self.endpoint = Endpoint(f"http://{HOST}:{port}/v1", MODEL, key)
        self._last_words = deque(maxlen=_TAIL)
        began = time.perf_counter()
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-P", "-m", warden.__name__),
                *(str(self.spec.memory_bytes), *self.spec.command(port, key)),
            ],
            env={**worker_environment(1), **_findable(), **self.spec.environment(key)},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # an interrupt of the notebook reaches the server through us
        )
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()
        try:
            self._wait_until_ready(port, began + self.spec.ready_s)
        except BaseException:
            self.__exit__()
            raise
        self.ready_after_s = round(time.perf_counter() - began, 1)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.stdin:
            with contextlib.suppress(BrokenPipeError):  # it has ended already
                self._process.stdin.close()
        self._process.wait()
        self._reader.join(timeout=1.0)
        if self._process.stderr:
            self._process.stderr.close()

    def family(self) -> list[psutil.Process]:
        """The server's processes; the warden is not one of them."""
        return list(psutil.Process(self._process.pid).children(recursive=True))

    def cpu_s(self) -> float:
        """CPU seconds of all its processes so far."""
        total = 0.0
        for process in self.family():
            with contextlib.suppress(psutil.Error):  # it ended while we looked
                times = process.cpu_times()
                total += times.user + times.system
        return total

    def memory_bytes(self) -> int:
        """Resident bytes of all its processes now."""
        return warden.family_memory(self.family())

    def _listen(self) -> None:
        for line in self._process.stderr or ():
            self._last_words.append(line.rstrip())

    def _wait_until_ready(self, port: int, deadline: float) -> None:
        self.report(Progress(f"{self.spec.label}: starting"))
        healthy = False
        while time.perf_counter() < deadline:
            if self._process.poll() is not None:
                self._reader.join(timeout=1.0)
                raise ServerError(f"{self.spec.label} ended before it was ready: {self._why()}")
            healthy = healthy or is_healthy(port)
            if healthy:
                self.report(Progress(f"{self.spec.label}: warming up"))
                ask_in_turn(self.endpoint, [_WARM])
                return
            time.sleep(_POLL_S)
        raise ServerError(f"{self.spec.label} was not ready within {self.spec.ready_s:g} s.")

    def _why(self) -> str:
        """The most telling of its last words."""
        words = [line.strip() for line in self._last_words if line.strip()]
        telling = [line for line in words if "Error" in line or line.startswith("labkit:")]
        return (telling or words or ["it said nothing"])[-1][-300:].rstrip(".") + "."


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def is_healthy(port: int) -> bool:
    """Whether ``/health`` on loopback answers 200."""
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):  # not listening yet
        return False
    finally:
        connection.close()


def _findable() -> dict[str, str]:
    """labkit's own folder for the warden, should this process have found it by a path."""
    source = str(Path(__file__).resolve().parents[3])
    known = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": f"{source}{os.pathsep}{known}" if known else source}
