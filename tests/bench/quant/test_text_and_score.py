"""The shipped text and its windows; losses and perplexity on models whose answer is known."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.bench.quant.score import perplexity, window_losses
from labkit.bench.text import HELD_OUT, read_text, windows
from labkit.contract import LabkitError


def words(text: str) -> SimpleNamespace:
    return SimpleNamespace(input_ids=[len(word) for word in text.split()])


def test_the_text_is_the_one_of_the_hash() -> None:
    assert read_text().startswith("Execution model\n")
    assert (Path(HELD_OUT.name).suffix, HELD_OUT.licence) == (".txt", "PSF-2.0")


def test_a_changed_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / HELD_OUT.name).write_text(read_text().replace("block", "clock", 1))
    with pytest.raises(LabkitError, match=r"execmodel.txt is not the text that the recordings"):
        read_text(folder=tmp_path)
    with pytest.raises(LabkitError, match="cannot be read"):
        read_text(folder=tmp_path / "none")


def test_windows_follow_one_another_without_overlap() -> None:
    found = windows(words, 20, 30)
    assert [len(window) for window in found] == [30] * 20
    assert [i for window in found for i in window] == words(read_text()).input_ids[:600]


def test_a_text_too_short_says_how_long_it_is() -> None:
    with pytest.raises(LabkitError, match=r"20 windows of 1000 need 20000"):
        windows(words, 20, 1000)


@given(st.lists(st.floats(0.1, 12), min_size=1, max_size=30))
def test_perplexity_is_the_exponential_of_the_mean_loss(losses: list[float]) -> None:
    assert perplexity(losses) == pytest.approx(math.exp(sum(losses) / len(losses)), rel=1e-4)


def test_a_model_that_knows_nothing_has_the_vocabulary_as_perplexity() -> None:
    import torch

    def guess(input_ids: torch.Tensor, use_cache: bool) -> SimpleNamespace:
        return SimpleNamespace(logits=torch.zeros(*input_ids.shape, 50))

    losses = window_losses(guess, torch.arange(60).remainder(50).reshape(6, 10))
    assert len(losses) == 6
    assert perplexity(losses) == pytest.approx(50, rel=1e-5)


def test_a_token_is_predicted_by_those_before_it() -> None:
    """A model that always expects id + 1 is right on a rising text, and on no other."""
    import torch

    def rising(input_ids: torch.Tensor, use_cache: bool) -> SimpleNamespace:
        logits = torch.full((*input_ids.shape, 50), -20.0)
        logits.scatter_(2, (input_ids + 1).remainder(50)[..., None], 20.0)
        return SimpleNamespace(logits=logits)

    text = torch.stack([torch.arange(5, 15), torch.arange(15, 5, -1)])
    right, wrong = window_losses(rising, text)
    assert right < 1e-6
    assert wrong > 30
