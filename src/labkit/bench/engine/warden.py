"""``python -m labkit.bench.engine.warden MEMORY_BYTES COMMAND…``: runs a server, and ends it.

The server and all it started end when the warden's standard input closes (whoever held the other
end is gone, even by SIGKILL), when their memory together passes MEMORY_BYTES, or when the warden is
told to stop. On Linux the warden adopts orphans, so no grandchild slips away; and should the
warden itself be killed, the kernel kills the server (`leash`).

A folder for temporary files is made for them and taken away at the end. The exit code is the
server's own, or OVER_MEMORY.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import psutil  # type: ignore[import-untyped]  # it ships no types

OVER_MEMORY = 71
STOPPED = 72
_PR_SET_CHILD_SUBREAPER = 36
_EVERY_S = 0.25
_GRACE_S = 3.0


def main(arguments: list[str]) -> int:
    """Run the command until it ends or has to."""
    limit, command = int(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    threading.Thread(target=_wait_for_the_end_of_input, args=(stop,), daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="labkit-", ignore_cleanup_errors=True) as folder:
        leash = [sys.executable, "-P", "-m", "labkit.bench.engine.leash", str(os.getpid())]
        server = subprocess.Popen(
            [*leash, *command],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": folder},
            start_new_session=True,
        )
        try:
            return _watch(server, limit, stop)
        finally:
            end_family()
            server.wait()


def family_memory(processes: list[psutil.Process]) -> int:
    """Resident bytes of these processes; one that has ended counts nothing."""
    total = 0
    for process in processes:
        try:
            total += process.memory_info().rss
        except psutil.Error:
            continue
    return total


def _watch(server: subprocess.Popen[bytes], limit: int, stop: threading.Event) -> int:
    me = psutil.Process()
    while not stop.wait(_EVERY_S):
        code = server.poll()
        if code is not None:
            return code if code >= 0 else 128 - code
        used = family_memory(me.children(recursive=True))
        if used > limit:
            print(
                f"labkit: the server took {used / 2**30:.1f} GiB of memory, and {limit / 2**30:.1f}"
                " GiB are allowed.",
                file=sys.stderr,
                flush=True,
            )
            return OVER_MEMORY
    return STOPPED


def end_family(grace_s: float = _GRACE_S) -> None:
    """End all descendants of this process: ask, wait, then kill until none is left."""
    me = psutil.Process()
    for process in me.children(recursive=True):
        _send(process, signal.SIGTERM)
    psutil.wait_procs(me.children(recursive=True), timeout=grace_s)
    while left := me.children(recursive=True):
        for process in left:
            _send(process, signal.SIGKILL)
        psutil.wait_procs(left, timeout=1.0)
        _reap()
        if all(process.status() == psutil.STATUS_ZOMBIE for process in left if _alive(process)):
            return
        time.sleep(0.05)


def _reap() -> None:
    """Collect adopted orphans that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return


def _alive(process: psutil.Process) -> bool:
    return bool(process.is_running())


def _send(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.Error:  # it has just ended
        return


def _wait_for_the_end_of_input(stop: threading.Event) -> None:
    while os.read(0, 1):
        continue
    stop.set()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
