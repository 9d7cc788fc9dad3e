"""JupyterLab as `make lab` starts it, seen by a browser: the kernel runs and nothing pops up."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from labkit.course.jupyter import Server
from tests.browser.harness import LabPage

pytestmark = pytest.mark.browser


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    notebook = new_notebook(
        cells=[
            new_markdown_cell("# A small notebook", id="title"),
            new_code_cell("import sys; print(sys.executable)", id="python"),
            new_code_cell("answer = ...", id="ex-1-1-answer"),
            new_code_cell("print('blank' if answer is ... else answer * 2)", id="ex-1-1-check"),
            *[new_markdown_cell("text\n\n" * 20, id=f"filler-{n}") for n in range(10)],
            new_code_cell("!labkit-is-not-a-program || echo shell works", id="far-down"),
        ],
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
        },
    )
    nbformat.write(notebook, tmp_path / "01_small.ipynb")
    return tmp_path


def test_learner_types_runs_reads_and_saves(
    open_lab: Callable[[Path, str], LabPage], workspace: Path
) -> None:
    import sys

    lab = open_lab(workspace, "01_small.ipynb")
    assert lab.executions("python") is None
    assert lab.run(1) == sys.executable  # this environment's kernel, not one of the user's own
    lab.run("ex-1-1-answer")
    assert lab.run("ex-1-1-check") == "blank"
    lab.type_into("ex-1-1-answer", "answer = (20 +\n    1)")
    assert lab.source("ex-1-1-answer") == "answer = (20 +\n    1)"
    lab.run("ex-1-1-answer")
    assert lab.run("ex-1-1-check") == "42"
    assert "shell works" in lab.run("far-down")
    lab.save()
    saved = nbformat.read(workspace / "01_small.ipynb", as_version=4)
    assert saved.cells[2].source == "answer = (20 +\n    1)"
    assert lab.toasts() == []


def test_first_page_opens_the_first_lab_and_needs_the_token(
    start_lab: Callable[[Path], Server], workspace: Path
) -> None:
    server = start_lab(workspace)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/lab/tree/01_small\.ipynb\?token=\w+", server.url)
    with urllib.request.urlopen(server.url, timeout=10) as reply:
        assert reply.status == 200
    closed = server.url.split("?")[0]
    with urllib.request.urlopen(closed, timeout=10) as reply:
        assert "/login" in reply.url
    server.stop()
    assert server.process.poll() is not None
