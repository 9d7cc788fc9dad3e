"""A learner's first minutes in Lab 02, in a real browser on JupyterLab as `make lab` starts it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.course.workspace import init
from labkit.exercises import load
from tests.browser.harness import LabPage
from tests.notebooks.mistakes import TYPED

pytestmark = pytest.mark.browser

NOTEBOOK = "02_memory_budget.ipynb"
LAB = load("02")


def test_first_cells_a_known_mistake_and_its_mending(
    open_lab: Callable[[Path, str], LabPage], tmp_path: Path
) -> None:
    init(tmp_path / "ws", "ada")
    lab = open_lab(tmp_path / "ws", NOTEBOOK)
    assert "Memory budget" in lab.run("setup")
    assert "22.35 GiB" in lab.run("gb-gib")
    assert "num_key_value_heads" in lab.run("config")

    assert "Not attempted" in lab.answer("2.11")
    for mistake in LAB["2.11"].mistakes[:2]:
        told = lab.answer("2.11", TYPED["2.11", mistake.code])
        assert mistake.says in told
        assert "Not yet" in told  # in words, not by colour alone
    told = lab.answer("2.11", LAB["2.11"].solution)
    assert "Passed" in told
    assert LAB["2.11"].praise in told

    lab.run("attention-kinds")
    assert lab.pictures("attention-kinds") == 1  # the figure is drawn
    assert "Eight times too large" in lab.answer("2.1", "kv_70b = 2621440")
    assert "Passed" in lab.answer("2.1", 'kv_70b = "320 KiB"')
    assert lab.toasts() == []
