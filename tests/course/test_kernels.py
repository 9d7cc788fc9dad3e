"""Real kernels: what a learner did is still there after the kernel died."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError

from labkit.course import workspace
from labkit.exercises import load

CHECKED = """
from labkit import Lab
lab = Lab("01")
g = lab.given("1.1")
lab.predict("1.1", 100, confidence=90)
lab.check("1.1", g.peak_tflops * 1e12 / (g.bandwidth_gbps * 1e9))
"""

REMEDY = (
    "Python has forgotten your variables: select the cell of 1.2 and choose "
    "Run ▸ Run All Above Selected Cell."
)
POWER_CUT = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
RAISING = "try:\n    {}\nexcept Exception:\n    get_ipython().showtraceback()"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    workspace.init(tmp_path / "ws", "ada")
    return tmp_path / "ws"


def run(root: Path, *cells: str) -> list[list[Any]]:
    """Run cells in a fresh kernel; their outputs, as far as it lives."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(root)}})
    try:
        client.execute(env={k: v for k, v in os.environ.items() if not k.startswith("LABKIT_")})
    except DeadKernelError:
        assert POWER_CUT in cells
    return [cell.outputs for cell in notebook.cells]


def plain(outputs: list[Any]) -> str:
    return "\n".join(o["data"]["text/plain"] for o in outputs if "data" in o)


def test_progress_survives_a_killed_kernel(root: Path) -> None:
    first, _ = run(root, CHECKED, POWER_CUT)
    assert "learner ada" in plain(first)
    assert "✓ Passed · 1.1" in plain(first)
    assert all("text/html" in o["data"] for o in first)
    welcome, table, carried = run(
        root,
        'from labkit import Lab\nlab = Lab("01")',
        "lab.progress()",
        'round(lab.carry("1.1"))',
    )
    assert "Welcome back: 1 of 12 passed, next 1.2." in plain(welcome)
    assert REMEDY in " ".join(plain(welcome).split())
    assert "✓ Passed" in plain(table)
    assert plain(carried) == "117"


def test_only_a_new_kernel_with_progress_is_told_that_variables_are_gone(root: Path) -> None:
    first, again = run(root, CHECKED, CHECKED)
    assert "The first is " in plain(first)
    assert "Welcome back: 1 of 12 passed" in plain(again)  # the same kernel, run once more
    assert "forgotten" not in plain(first) + plain(again)


ENDLESS = """
import os, signal
def endless(*args):
    os.kill(os.getpid(), signal.SIGINT)  # the learner presses the square
    while True:
        pass
try:
    lab.check("1.7", endless)
except BaseException as stopped:
    kind = type(stopped)
    get_ipython().showtraceback()
issubclass(kind, KeyboardInterrupt)
"""


def test_an_interrupted_check_is_one_sentence_and_no_frames(root: Path) -> None:
    _, stopped, after = run(
        root,
        'from labkit import Lab\nlab = Lab("01")',
        ENDLESS,
        "lab.progress()",
    )
    [error] = [o for o in stopped if o["output_type"] == "error"]
    assert error["traceback"] == ["Stopped. Does your function come to an end?"]
    assert plain(stopped) == "True"  # still an interrupt, so that "Run all" ends here
    assert "0 of 12 passed" in plain(after)


def test_a_slip_shows_one_sentence_and_no_traceback(root: Path) -> None:
    slip, wrong_lab, computed = run(
        root,
        'from labkit import Lab\nlab = Lab("01")\nlab.check("1.77", 3)',
        RAISING.format("Lab('77')"),
        RAISING.format("lab.carry('1.4') * 2"),
    )
    assert "Unknown exercise of Lab 01 '1.77'" in plain(slip)
    for outputs, words in ((wrong_lab, "Unknown lab '77'"), (computed, "no answer yet")):
        [error] = [o for o in outputs if o["output_type"] == "error"]
        shown = "\n".join(error["traceback"])
        assert words in shown
        assert "Traceback" not in shown


def test_a_replay_is_as_good_as_a_measurement_with_and_without_a_workspace(
    root: Path, tmp_path: Path
) -> None:
    cells = (
        'from labkit import Lab, bench\nlab = Lab("01")',
        "machine, decode = bench.machine(replay=True), bench.decode(replay=True)",
        'g = lab.given("1.13")\ng',
        f'{load("01")["1.13"].solution}\nlab.check("1.13", share)',
    )
    (tmp_path / "elsewhere").mkdir()
    for folder in (root, tmp_path / "elsewhere"):
        _, _, given, checked = run(folder, *cells)
        assert "replayed recording" in plain(given)
        assert "1 of 1 points" in plain(checked)
