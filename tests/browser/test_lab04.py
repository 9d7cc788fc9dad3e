"""A learner's first steps in Lab 04, in a real browser on JupyterLab as `make lab` starts it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.contract import Code
from labkit.course.workspace import init
from labkit.exercises import load
from tests.browser.harness import LabPage
from tests.notebooks.mistakes_lab04 import TYPED

pytestmark = pytest.mark.browser

NOTEBOOK = "04_quantization.ipynb"
LAB = load("04")


def test_a_quantizer_wrong_and_right_and_its_figure(
    open_lab: Callable[[Path, str], LabPage], tmp_path: Path
) -> None:
    init(tmp_path / "ws", "ada")
    lab = open_lab(tmp_path / "ws", NOTEBOOK)
    assert "Quantization" in lab.run("setup")
    lab.run("ruler")
    assert lab.pictures("ruler") == 1

    assert "Not attempted" in lab.answer("4.7")
    assert "in exercise 4.7 first" in lab.run("outliers")
    told = lab.answer("4.7", TYPED["4.7", Code.PER_TENSOR])
    assert "one scale for the whole matrix" in told
    assert "Not yet" in told
    assert "Passed" in lab.answer("4.7", LAB["4.7"].solution)
    assert "one per row" in lab.run("outliers")

    assert "Passed" in lab.answer("4.10", LAB["4.10"].solution)
    lab.run("groups-figure")
    assert lab.pictures("groups-figure") == 1

    assert "the integers alone" in lab.answer("4.1", "bits_int4 = 4")
    assert "Passed" in lab.answer("4.1", 'bits_int4 = "4.15625 bits"')
    assert lab.toasts() == []
