"""The pack as a learner gets it: unzipped elsewhere, started, worked in, started again."""

from __future__ import annotations

import json
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from labkit.course.release import release
from tests.wheel.environments import Environment, clean
from tests.wheel.filled import LAB, execute, fill, solutions_in

pytestmark = pytest.mark.heavy

START_S = 420.0
_URL = re.compile(r"http://127\.0\.0\.1:\d+/\S+")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In a folder with a space and an umlaut, as learners have them."""
    made = release(tmp_path_factory.mktemp("release"))
    home = tmp_path_factory.mktemp("Übung 1")
    with zipfile.ZipFile(made.archive) as archive:
        archive.extractall(home)
    [folder] = home.iterdir()
    return folder


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[tuple[str, list[str]]]:
    """`python3 start.py` until it prints its address; Ctrl-C at the end must stop it cleanly."""
    base = getattr(sys, "_base_executable", sys.executable)
    process = subprocess.Popen(
        [base, "start.py", "TORCH=skip", *arguments],
        cwd=folder,
        env=clean({"PYTHONUNBUFFERED": "1"}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines: list[str] = []
    try:
        yield _address(process, lines), lines
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
        assert process.returncode == 0, said
        assert "Stopping JupyterLab" in said
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)
        assert process.stdout is not None
        process.stdout.close()


def _address(process: subprocess.Popen[str], lines: list[str]) -> str:
    """The address it prints. The lines are read beside, so that a start that hangs is told."""
    seen: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        while line := process.stdout.readline() if process.stdout else "":
            lines.append(line.rstrip())
            if found := _URL.search(line):
                seen.put(found.group())
                return
        seen.put("")

    threading.Thread(target=read, daemon=True).start()
    try:
        address = seen.get(timeout=START_S)
    except queue.Empty:
        address = ""
    assert address, "JupyterLab did not start: " + " / ".join(lines[-12:])
    return address


def test_it_installs_opens_checks_and_starts_again_at_once(unpacked: Path) -> None:
    begun = time.monotonic()
    with started(unpacked, "LEARNER=grace") as (url, lines):
        first = time.monotonic() - begun
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=20) as reply:
            assert reply.status == 200
            assert b"JupyterLab" in reply.read()
    assert any("labkit itself, inference_labkit-" in line for line in lines)
    assert any("torch: left out (TORCH=skip)" in line for line in lines)

    pack = Environment(unpacked / ".venv", unpacked / "workspace")
    notebook = unpacked / "workspace" / LAB
    assert json.loads(notebook.read_bytes())["metadata"]["labkit"]["learner"] == "grace"
    fill(notebook, solutions_in(pack))
    execute(pack, notebook)
    report = json.loads(pack.says("labkit", "progress", "--json"))
    [lab] = [lab for lab in report["labs"] if lab["lab"] == "01"]
    assert lab["passed"] == len(lab["exercises"]) > 10
    home = pack.says("python", "-c", "import labkit; print(labkit.__file__)").strip()
    assert Path(home).is_relative_to(unpacked / ".venv")

    worked = notebook.read_bytes()
    begun = time.monotonic()
    with started(unpacked) as (_, lines):
        again = time.monotonic() - begun
    assert not any("locked packages" in line for line in lines)
    assert notebook.read_bytes() == worked
    print(f"first start {first:.1f} s, second {again:.1f} s")
    assert again < first
    # Without JupyterLab's torch a live measurement names this pack's own remedy.
    live = pack.run("labkit", "bench", "machine")
    assert live.returncode == 2
    assert "python3 start.py" in live.stderr


@pytest.mark.parametrize("wrong", ["nonsense", "LERNER=ada", "--help"])
def test_what_start_does_not_know_is_told_the_usage(unpacked: Path, wrong: str) -> None:
    done = subprocess.run(
        [sys.executable, "start.py", wrong],
        cwd=unpacked,
        env=clean(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("usage: python3 start.py [LEARNER=your-id]")
