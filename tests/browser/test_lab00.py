"""A newcomer's first minutes: `make lab` opens Lab 00, and its first cells do what they say."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.course.jupyter import Server
from labkit.course.workload import FILE, template
from labkit.course.workspace import init
from labkit.exercises import Facts, givens_for, load
from tests.browser.harness import LabPage

pytestmark = pytest.mark.browser

NOTEBOOK = "00_start_here.ipynb"
LAB = load("00")


def test_a_newcomer_gets_lab_00(start_lab: Callable[[Path], Server], tmp_path: Path) -> None:
    init(tmp_path / "ws", "ada")
    assert f"/lab/tree/{NOTEBOOK}?" in start_lab(tmp_path / "ws").url


def test_first_cells_a_mistake_and_a_first_price(
    open_lab: Callable[[Path, str], LabPage], tmp_path: Path
) -> None:
    root = tmp_path / "ws"
    init(root, "ada")
    lab = open_lab(root, NOTEBOOK)
    assert "Start here" in lab.run("setup")
    found = lab.run("preflight")
    for words in ("Preflight", "CPU", "torch", "Workspace"):
        assert words in found
    assert str(tmp_path) not in found  # a notebook is handed in
    lab.run("journey")
    assert lab.pictures("journey") == 1
    assert "llama-3-8b" in lab.run("sizes")

    exercise = LAB["0.3"]
    g = givens_for(exercise, Facts.load(), learner="ada")
    for mistake in exercise.mistakes:
        assert mistake.says in lab.answer("0.3", f"server_rate = {mistake.value(g)!r}")
    told = lab.answer("0.3", exercise.solution)
    assert "Passed" in told
    assert "ungraded" in told

    assert "still the example" in lab.run("my-workload")
    assert "USD per 1M output tokens" in lab.run("reprice")
    text = template().decode("utf-8")
    mine = text.replace("requests_per_second = 2.0", "requests_per_second = 9")
    (root / FILE).write_text(mine, encoding="utf-8")
    shown = lab.run("reprice")
    assert "9 requests/s" in shown
    assert "still the example" not in shown
    (root / FILE).write_text(re.sub("800 ", '"800" ', mine), encoding="utf-8")
    assert "line 9: traffic.prompt_tokens must be a whole number" in lab.run("reprice")
    assert lab.toasts() == []
