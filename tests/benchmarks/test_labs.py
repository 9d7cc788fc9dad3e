"""The timer of labs: it runs every cell, sees the memory of all processes, and says what raised."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from benchmarks import labs

MIB = 1 << 20
HOG = f"""\
import subprocess, sys
hold = "held = bytearray({300 * MIB}); import time; time.sleep(1.5)"
done = subprocess.run([sys.executable, "-c", hold], check=True)"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Lab 00 of three cells: one says what it replays, one starts a large process, one raises."""
    sources = {
        "mode": "import os; print(os.environ.get('LABKIT_REPLAY', 'live'))",
        "hog": HOG,
        "broken": "1 / 0",
    }
    cells = [nbformat.v4.new_code_cell(text, id=name) for name, text in sources.items()]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("prose"), *cells])
    nbformat.write(notebook, tmp_path / "00_start_here.ipynb")
    monkeypatch.setattr(labs, "_SOLUTIONS", tmp_path)


@pytest.mark.usefixtures("toy")
def test_every_cell_is_timed_and_the_memory_of_its_processes_is_seen() -> None:
    mode, hog, broken = labs.run("00", replay=True)
    assert (mode.cell, hog.cell, broken.cell) == ("mode", "hog", "broken")
    assert hog.wall_s > 1.5
    assert hog.peak_bytes > 300 * MIB > mode.peak_bytes
    assert mode.raised == hog.raised == ""
    assert broken.raised == "ZeroDivisionError: division by zero"


@pytest.mark.usefixtures("toy")
def test_a_cell_that_raises_fails_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert labs.main(["00", "--replay"]) == 1
    said = capsys.readouterr().out
    assert "Lab 00, replay:" in said
    assert "hog" in said
    assert "ZeroDivisionError" in said
    assert "mode" not in said  # what takes no time is not listed
