"""Servers are gated, limited, and die with whoever started them: all with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from labkit.bench.engine.crowd import ask_all, ask_amid
from labkit.bench.engine.launch import Server, free_port, is_healthy
from labkit.bench.engine.requests import Request
from labkit.bench.engine.sse import ServerError
from labkit.bench.progress import Progress
from tests.bench.engines.fakes import FAKE, fake, gone, wait_until_gone

ROOT = Path(__file__).resolve().parents[3]
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux only")
# A notebook kernel in small: it starts a server and then only waits.
STARTER = """
import sys, time
from labkit.bench.engine.launch import Server
from tests.bench.engines.fakes import fake
with Server(fake("family", sys.argv[1])) as server:
    print(server._process.pid, flush=True)
    time.sleep(600)
"""


def start_family(tmp_path: Path) -> tuple[subprocess.Popen[str], int, list[int], Path]:
    """A starter with its server; its process, the warden's id, the server's ids, its TMPDIR."""
    note = tmp_path / "family"
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(note)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert starter.stdout
    warden = int(starter.stdout.readline())
    server, grandchild, folder = note.read_text().split()
    return starter, warden, [int(server), int(grandchild)], Path(folder)


def end(starter: subprocess.Popen[str]) -> None:
    starter.kill()
    starter.wait()
    assert starter.stdout
    starter.stdout.close()


def test_a_server_answers_on_loopback_and_ends_with_the_block() -> None:
    told: list[str] = []

    def hear(progress: Progress) -> None:
        told.append(progress.text)

    with Server(fake("good"), hear) as server:
        port = int(server.endpoint.base_url.split(":")[2].removesuffix("/v1"))
        requests = [Request(n, (10 * n + 5,), 3) for n in range(4)]
        answers = ask_all(server.endpoint, requests)
        pids = [process.pid for process in server.family()]
        listening = [
            c.laddr.ip for p in server.family() for c in p.net_connections() if c.status == "LISTEN"
        ]
        assert server.memory_bytes() > 1 << 20
        assert server.cpu_s() > 0
        assert server.ready_after_s > 0
    assert [a.token_ids for a in answers] == [[r.prompt[0] + i for i in range(3)] for r in requests]
    assert listening == ["127.0.0.1"]
    assert told == ["the fake server: starting", "the fake server: warming up"]
    wait_until_gone(pids)
    assert not is_healthy(port)


def test_health_alone_is_not_enough() -> None:
    """The trap: /health says 200, and the first completion fails."""
    with pytest.raises(ServerError, match=r"The server answered 500"), Server(fake("broken")):
        raise AssertionError("it counted as ready")


def test_a_server_that_ends_is_quoted() -> None:
    with (
        pytest.raises(ServerError, match=r"ended before it was ready: .*the model file is damaged"),
        Server(fake("dead")),
    ):
        raise AssertionError("it counted as ready")


def test_a_server_may_not_take_all_memory() -> None:
    with (
        pytest.raises(ServerError, match=r"took 0\.\d GiB of memory, and 0\.1 GiB are allowed"),
        Server(fake("fat", memory_bytes=128 << 20)),
    ):
        raise AssertionError("it counted as ready")


def test_a_server_that_never_listens_is_given_up() -> None:
    with (
        pytest.raises(ServerError, match=r"was not ready within 2 s"),
        Server(fake("fat", memory_bytes=4 << 30, ready_s=2.0)),
    ):
        raise AssertionError("it counted as ready")


def test_an_error_in_the_block_ends_the_server(tmp_path: Path) -> None:
    note = tmp_path / "family"
    with pytest.raises(ZeroDivisionError), Server(fake("family", str(note))):
        1 / 0  # noqa: B018
    server, grandchild, folder = note.read_text().split()
    assert gone(int(server))
    assert gone(int(grandchild))
    assert not Path(folder).exists()


@linux_only
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_starter_takes_its_server_along(tmp_path: Path, number: int) -> None:
    """Also the grandchild that ignores SIGTERM and has a session of its own."""
    starter, warden, pids, folder = start_family(tmp_path)
    assert folder.is_dir()
    os.kill(starter.pid, number)
    wait_until_gone([starter.pid, warden, *pids])
    assert not folder.exists()
    end(starter)


@linux_only
def test_a_killed_warden_takes_the_server_along(tmp_path: Path) -> None:
    """The last line: the kernel itself kills the server. Its stray children are its own then."""
    starter, warden, pids, _ = start_family(tmp_path)
    os.kill(warden, signal.SIGKILL)
    wait_until_gone([warden, pids[0]])
    end(starter)
    psutil.Process(pids[1]).kill()
    wait_until_gone(pids)


@linux_only
def test_a_killed_kernel_takes_worker_and_server_along(tmp_path: Path) -> None:
    """Kernel → bench worker → warden → server: SIGKILL at the top reaches the bottom."""
    note = tmp_path / "family"
    code = (
        "import sys\n"
        "from labkit.bench.process import run_job\n"
        "run_job('tests.bench.engines.worker_jobs:serve_and_wait', {'note': sys.argv[1]})\n"
    )
    kernel = subprocess.Popen(
        [sys.executable, "-c", code, str(note)], env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    end_s = time.monotonic() + 30
    while not note.exists() or len(note.read_text().split()) < 3:
        assert time.monotonic() < end_s
        time.sleep(0.05)
    family = [p.pid for p in psutil.Process(kernel.pid).children(recursive=True)]
    pids = [int(pid) for pid in note.read_text().split()[:2]]
    assert set(pids) <= set(family)
    kernel.kill()
    kernel.wait()
    wait_until_gone(family)


def test_late_requests_come_amid_a_stream() -> None:
    with Server(fake("good")) as server:
        running = [Request(0, (1,), 5), Request(1, (100,), 5)]
        streams, late, arrived_at = ask_amid(server.endpoint, running, Request(2, (7,), 2), 2)
    assert [s.token_ids[0] for s in streams] == [1, 100]
    assert late.token_ids == [7, 8]
    assert late.asked >= streams[0].arrivals[1]
    assert 1 <= arrived_at <= 4


def test_ports_are_free() -> None:
    assert not is_healthy(free_port())
    assert FAKE.is_file()
