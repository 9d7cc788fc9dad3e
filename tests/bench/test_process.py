"""The worker process: what comes back, and that nothing stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.bench.guard import OutOfMemory, require_memory, worker_environment
from labkit.bench.process import WorkerFailed, run_job
from labkit.bench.progress import Progress
from labkit.contract import LabkitError

pytestmark = pytest.mark.usefixtures("worker_path")
JOBS = "tests.bench.worker_jobs"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="address-space limits are Linux only")


def gone(pid: int) -> bool:
    """Whether the process has ended (a zombie whose parent has not asked counts as ended)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return True
    return state == "Z"


def wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def test_result_progress_and_threads_come_through_prints_do_not() -> None:
    seen: list[Progress] = []
    result = run_job(f"{JOBS}:echo", {"quick": True}, report=seen.append, threads=3)
    assert result["options"] == {"quick": True}
    assert result["threads"] == {"OMP_NUM_THREADS": "3", "MKL_NUM_THREADS": "3"}
    assert seen == [Progress("half way", 1, 2)]


def test_a_file_of_the_learner_does_not_stand_in_for_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('the learner has a json.py')")
    monkeypatch.chdir(tmp_path)
    result = run_job(f"{JOBS}:echo")
    assert str(tmp_path) not in result["path"]
    assert "" not in result["path"]


def test_a_known_error_keeps_its_sentence() -> None:
    with pytest.raises(LabkitError, match=r"^The moon is not a device: did you mean cpu\?$"):
        run_job(f"{JOBS}:refuse")


def test_a_crash_brings_the_last_words() -> None:
    with pytest.raises(WorkerFailed, match=r"exit code 1.*ZeroDivisionError: division by a test"):
        run_job(f"{JOBS}:crash")


def test_a_silent_death_is_named() -> None:
    with pytest.raises(WorkerFailed, match=r"ended early \(exit code 7\)\.$"):
        run_job(f"{JOBS}:vanish")


def test_too_long_is_ended_with_its_children() -> None:
    seen: list[str] = []
    with pytest.raises(WorkerFailed, match=r"took longer than 3 s"):
        run_job(f"{JOBS}:sleep_with_child", report=lambda p: seen.append(p.text), timeout_s=3)
    pids = [int(word) for word in seen[0].split()[1:]]
    assert len(pids) == 2
    assert wait_until(lambda: all(gone(pid) for pid in pids))


SCRIPT = f"""
import sys
from labkit.bench.process import run_job
try:
    run_job("{JOBS}:sleep_with_child", report=lambda p: print(p.text, flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def start_parent() -> tuple[subprocess.Popen[str], list[int]]:
    parent = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout
    return parent, [int(word) for word in parent.stdout.readline().split()[1:]]


def test_ctrl_c_leaves_no_process() -> None:
    parent, pids = start_parent()
    assert not any(gone(pid) for pid in pids)
    parent.send_signal(signal.SIGINT)
    out, _ = parent.communicate(timeout=20)
    assert out == "interrupted\n"
    assert wait_until(lambda: all(gone(pid) for pid in pids))


def test_a_killed_kernel_takes_its_worker_along() -> None:
    parent, pids = start_parent()
    parent.kill()
    parent.communicate(timeout=20)
    assert wait_until(lambda: all(gone(pid) for pid in pids))


@LINUX
@pytest.mark.parametrize("job", ["hog", "hog_with_torch"])
def test_the_address_guard_stops_a_hog(job: str) -> None:
    with pytest.raises(LabkitError, match="ran into its memory limit"):
        run_job(f"{JOBS}:{job}")


def test_too_little_memory_is_said_before_anything_starts() -> None:
    require_memory(1, "bench.machine()")
    with pytest.raises(OutOfMemory, match=r"^bench\.machine\(\) needs 1048576\.0 GiB of memory"):
        require_memory(2**50, "bench.machine()")


def test_the_worker_environment_adds_and_keeps() -> None:
    found = worker_environment(1, {"HOME": "/h", "OMP_NUM_THREADS": "64"})
    assert found["HOME"] == "/h"
    assert found["OMP_NUM_THREADS"] == found["OPENBLAS_NUM_THREADS"] == "1"
    assert found["THP_MEM_ALLOC_ENABLE"] == "1"
    assert "HOME" in worker_environment(1) or "HOME" not in os.environ
