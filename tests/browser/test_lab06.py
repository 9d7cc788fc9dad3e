"""A learner's first steps in Lab 06, in a real browser on JupyterLab as `make lab` starts it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from labkit.contract import Code
from labkit.course.workspace import init
from labkit.exercises import load
from tests.browser.harness import LabPage
from tests.notebooks.mistakes_lab06 import TYPED

pytestmark = pytest.mark.browser

NOTEBOOK = "06_attention_and_speculation.ipynb"
LAB = load("06")


def test_scores_blocks_and_a_decoder_to_repair(
    open_lab: Callable[[Path, str], LabPage], tmp_path: Path
) -> None:
    init(tmp_path / "ws", "ada")
    lab = open_lab(tmp_path / "ws", NOTEBOOK)
    assert "Attention and speculative decoding" in lab.run("setup")
    lab.run("plain-attention")
    assert lab.pictures("plain-attention") == 1  # the figure is drawn

    assert "This is one head." in lab.answer("6.1", "scores_gib = 4096**2 * 2 / 2**30")
    assert "Passed" in lab.answer("6.1", 'scores_gib = "1024 MiB"')
    assert "38.71512" in lab.run("online-softmax")

    assert "Not attempted" in lab.answer("6.6")
    for code in (Code.MEMORY_LIMIT, Code.NOT_RESCALED):
        told = lab.answer("6.6", TYPED["6.6", code])
        assert _sentence("6.6", code) in told
        assert "Not yet" in told  # in words, not by colour alone
    assert LAB["6.6"].praise in lab.answer("6.6", LAB["6.6"].solution)
    lab.run("yours-at-work")
    assert lab.pictures("yours-at-work") == 1

    lab.run("toy-models")
    assert "tokens per pass : [3, 3, 3]" in lab.run("broken-decode")
    assert "Not attempted" in lab.answer("6.7")
    assert "Then run this cell again" in lab.run("yours-decoding")
    told = lab.answer("6.7", TYPED["6.7", Code.AS_PRINTED])
    assert _sentence("6.7", Code.AS_PRINTED) in told
    assert "Passed" in lab.answer("6.7", LAB["6.7"].solution)
    assert "24 tokens in 6 passes" in lab.run("yours-decoding")
    assert lab.toasts() == []


def _sentence(number: str, code: Code) -> str:
    return next(m.says for m in LAB[number].mistakes if m.code is code)
