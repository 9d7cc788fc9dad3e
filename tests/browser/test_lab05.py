"""A learner's first steps in Lab 05, in a real browser on JupyterLab as `make lab` starts it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.contract import Code
from labkit.course.workspace import init
from labkit.exercises import load
from tests.browser.harness import LabPage
from tests.notebooks.mistakes_lab05 import TYPED

pytestmark = pytest.mark.browser

NOTEBOOK = "05_batching_and_engines.ipynb"
LAB = load("05")


def test_steps_a_timeline_and_a_class(
    open_lab: Callable[[Path, str], LabPage], tmp_path: Path
) -> None:
    init(tmp_path / "ws", "ada")
    lab = open_lab(tmp_path / "ws", NOTEBOOK)
    assert "Batching and engines" in lab.run("setup")

    assert "Not attempted" in lab.answer("5.1")
    assert "advance together" in lab.answer("5.1", "static_steps = sum(g.lengths)")
    assert "Passed" in lab.answer("5.1", LAB["5.1"].solution)

    lab.run("slot-timeline")
    assert lab.pictures("slot-timeline") == 1
    assert "static as well" in lab.answer("5.9", TYPED["5.9", Code.IDLE_SLOT])
    assert "Passed" in lab.answer("5.9", LAB["5.9"].solution)

    assert "Not attempted" in lab.answer("5.7")
    assert "in exercise 5.7 first" in lab.run("shared-prompt")
    told = lab.answer("5.7", TYPED["5.7", Code.NOT_COPIED])
    assert "another sequence shares" in told
    assert "operation 3 of 4, append()" in told
    assert "Passed" in lab.answer("5.7", LAB["5.7"].solution)
    assert "with the prompt shared" in lab.run("shared-prompt")
    assert lab.toasts() == []
