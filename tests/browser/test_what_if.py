"""The what-if panel in a real JupyterLab: it is shown, it moves, and it says what binds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.harness import LabPage

pytestmark = pytest.mark.browser

CELLS = {
    "panel": 'import labkit\npanel = labkit.what_if("llama-3-8b", "g5.xlarge", rate=10)\npanel',
    "asked": "print(panel.asked.instance, panel.asked.batch, panel.asked.weights)",
    "moved": 'panel.set(weights="int4", batch=64).estimate.fits',
}


def notebook(folder: Path) -> str:
    cells = [
        {
            "cell_type": "code",
            "id": key,
            "source": source,
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        for key, source in CELLS.items()
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "cells": cells,
    }
    (folder / "what_if.ipynb").write_text(json.dumps(content), encoding="utf-8")
    return "what_if.ipynb"


def test_the_panel_moves_and_says_what_binds(
    open_lab: Callable[[Path, str], LabPage], tmp_path: Path
) -> None:
    lab = open_lab(tmp_path, notebook(tmp_path))
    assert "Error" not in lab.run("panel")
    answer = lab.cell("panel").locator(".labkit-what-if")
    answer.wait_for()
    assert "Runs. All 8 sequences at full length" in answer.inner_text()
    assert "Memory bandwidth binds the decode step." in answer.inner_text()
    assert "10 requests/s need" in answer.inner_text()
    # Bars are pictures with words for those who do not see them.
    pictures = answer.locator('[role="img"]')
    assert pictures.count() == 3
    assert "reading weights" in (pictures.first.get_attribute("aria-label") or "")

    # By hand: another machine that has no room for the model, then one that has.
    instance = lab.cell("panel").locator("select").nth(1)
    instance.select_option("g4dn.xlarge")
    lab.page.get_by_text("Does not run as asked.").wait_for()
    assert "WEIGHTS" in answer.inner_text()
    instance.select_option("g6e.xlarge")
    lab.page.get_by_text("Memory of one L40S").wait_for()
    assert lab.run("asked") == "g6e.xlarge 8 None"

    # From code: the controls follow.
    assert lab.run("moved").endswith("True")
    lab.page.get_by_text("One decode step of 64 sequences").wait_for()
    weights = lab.cell("panel").locator("select").nth(2)
    assert weights.evaluate("e => e.selectedOptions[0].text") == "int4"
    assert lab.toasts() == []
