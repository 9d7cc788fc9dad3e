"""A learner's first minutes in Lab 01, in a real browser on JupyterLab as `make lab` starts it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.course.workspace import init
from labkit.exercises import Facts, givens_for, load
from tests.browser.harness import LabPage

pytestmark = pytest.mark.browser

NOTEBOOK = "01_own_the_roofline.ipynb"
LAB = load("01")


def test_first_cells_a_known_mistake_and_its_mending(
    open_lab: Callable[[Path, str], LabPage], tmp_path: Path
) -> None:
    init(tmp_path / "ws", "ada")
    lab = open_lab(tmp_path / "ws", NOTEBOOK)
    assert "Own the roofline" in lab.run("setup")
    lab.run("two-limits")
    assert lab.pictures("two-limits") == 1  # the figure is drawn

    assert "Not attempted" in lab.answer("1.1")

    exercise = LAB["1.1"]
    g = givens_for(exercise, Facts.load(), learner="ada")
    for mistake in exercise.mistakes:
        told = lab.answer("1.1", f"ridge_a10g = {mistake.value(g)!r}")
        assert mistake.says in told
        assert "Not yet" in told  # in words, not by colour alone

    lab.type_into("two-limits", 'lab.hint("1.1")')
    assert exercise.hints[0] in lab.run("two-limits")
    check = lab.cell("ex-1-1-check").locator(".cm-content")
    assert check.get_attribute("aria-readonly") == "true"  # a check cell is locked

    told = lab.answer("1.1", '# with a unit\nridge_a10g = "0.1167 kFLOP/B"')
    assert "Passed" in told
    assert exercise.praise in told
    told = lab.answer("1.1", exercise.solution)
    assert "Passed" in told
    assert "1 of 1 points" in told
    assert lab.toasts() == []
    lab.save()

    # A closed laptop: a new kernel on the same workspace knows what was done.
    again = open_lab(tmp_path / "ws", NOTEBOOK)
    welcome = again.run("setup")
    assert "1 of 12" in welcome
    assert again.source("ex-1-1-answer") == exercise.solution
