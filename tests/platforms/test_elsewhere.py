"""What learners use, on systems that are not Linux: faked in `elsewhere/sitecustomize.py`.

The fake takes away what those systems lack and makes the calls fail that fail there. It cannot
show what only a real machine can: docs/platforms.md says what was tried where.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAKE = Path(__file__).parent / "elsewhere"
SYSTEMS = ("macos", "plain")

pytestmark = pytest.mark.parametrize("system", SYSTEMS)


def there(system: str, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a Python command line on the faked system, in `folder`."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("LABKIT_")}
    env |= {
        "LABKIT_FAKE_SYSTEM": system,
        "PYTHONPATH": os.pathsep.join((str(FAKE), str(ROOT))),
        "LABKIT_CACHE": str(folder / "cache"),
    }
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def labkit(system: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return there(system, folder, "-m", "labkit.cli.main", *arguments)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder as people have them: a space and a letter beyond ASCII."""
    folder = tmp_path / "Übung 1"
    folder.mkdir()
    return folder


def test_the_fake_takes_away_what_is_not_there(system: str, home: Path) -> None:
    code = """
import os, platform, sys
from pathlib import Path
print(sys.platform, platform.system(), hasattr(os, "sched_getaffinity"))
for path in ("/proc/cpuinfo", "/proc/self/cgroup", "/sys/devices/system/cpu/online"):
    try:
        Path(path).read_text()
    except FileNotFoundError:
        print("gone")
"""
    said = there(system, home, "-c", code).stdout.split("\n")
    name = {"macos": "darwin Darwin", "plain": "sunos5 SunOS"}[system]
    assert said[:4] == [f"{name} False", "gone", "gone", "gone"]


def test_a_learner_s_commands_work(system: str, home: Path) -> None:
    made = labkit(system, home, "init", "my desk", "--learner", "ada")
    assert (made.returncode, made.stderr) == (0, "")
    assert "cd 'my desk' && labkit lab" in made.stdout
    desk = home / "my desk"
    for arguments, words in (
        (("progress",), "Learner ada"),
        (("reset", "1.9"), "new numbers (set 2)"),
        (("reset", "01"), "is a fresh copy"),
        (("init", ".", "--update"), "up to date."),
        (("estimate", "llama-3-8b", "g5.xlarge"), "g5.xlarge"),
        (("catalog", "show", "g5.xlarge"), "g5.xlarge"),
        (("bench", "machine", "--replay"), "REPLAYED, not your machine"),
    ):
        done = labkit(system, desk, *arguments)
        assert done.returncode == 0, (arguments, done.stderr)
        assert words in done.stdout


def test_an_answer_is_checked_and_a_hint_given(system: str, home: Path) -> None:
    labkit(system, home, "init", "desk", "--learner", "ada")
    code = """
from labkit import Lab
from labkit.exercises import load
lab = Lab("01")
g = lab.given("1.1")
exec(load("01")["1.1"].solution)
lab.check("1.1", ridge_a10g)
lab.hint("1.1")
"""
    done = there(system, home / "desk", "-c", code)
    assert done.returncode == 0, done.stderr
    report = json.loads(labkit(system, home / "desk", "progress", "--json").stdout)
    [row] = [r for lab in report["labs"] for r in lab["exercises"] if r["exercise"] == "1.1"]
    assert (row["status"], row["hints_seen"]) == ("passed", 1)


def test_grading_says_that_it_needs_linux(system: str, home: Path) -> None:
    labkit(system, home, "init", "desk", "--learner", "ada")
    done = labkit(system, home, "grade", "desk", "--out", "grades")
    assert done.returncode == 2
    assert done.stderr.strip().startswith("Grading needs Linux")
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (home / "grades" / "grades.csv").exists()


def test_the_machine_is_described_as_far_as_it_tells(system: str, home: Path) -> None:
    code = """
import json
from labkit.bench.guard import limit_address_space, require_memory
from labkit.bench.hardware import cores_available, describe, read_memory
require_memory(1 << 50, "nothing")  # what is free is not known: no refusal
print(json.dumps([describe(), cores_available(), limit_address_space(1 << 40),
                  read_memory().available_bytes]))
"""
    done = there(system, home, "-c", code)
    assert done.returncode == 0, done.stderr
    found, cores, limited, free = json.loads(done.stdout)
    assert found["os"] == {"macos": "Darwin", "plain": "SunOS"}[system]
    assert cores >= 1
    assert (limited, free) == (False, None)
    assert "arm64" in found["summary"]


def test_a_worker_brings_its_result_and_is_gone(system: str, home: Path) -> None:
    """Its group has ended when it is signalled, for which macOS has an error of its own."""
    code = """
import time
from labkit.bench import process
from labkit.contract import LabkitError
real = process._end
def late(worker):
    worker.stdin.close()
    time.sleep(0.5)  # it has ended by now, and nobody has asked for its exit code
    real(worker)
process._end = late
print(sorted(process.run_job("tests.bench.worker_jobs:echo", {"a": 1})))
for job in ("refuse", "crash"):
    try:
        process.run_job(f"tests.bench.worker_jobs:{job}")
    except LabkitError as error:
        print(type(error).__name__)
"""
    done = there(system, home, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == ["LabkitError", "WorkerFailed"]


def test_doctor_reports_without_a_traceback(system: str, home: Path) -> None:
    done = labkit(system, home, "doctor", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    findings = {f["name"]: f for f in json.loads(done.stdout)["findings"]}
    assert "Linux" in findings["Grading"]["text"]
    assert findings["System"]["status"] == "ok"


def test_the_set_up_imports_there(system: str) -> None:
    """`make lab` needs fcntl, as every POSIX Python has it; without it there is no set-up."""
    done = there(system, ROOT, "-c", "import tools.setup.lab, tools.setup.arrive; print('fine')")
    if system == "macos":
        assert done.stdout == "fine\n", done.stderr
    else:
        assert "fcntl" in done.stderr
