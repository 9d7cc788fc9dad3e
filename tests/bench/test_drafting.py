"""Drafting without torch: look-up, acceptance, the loop, and what a run's record says."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.bench.drafting.acceptance import (
    Tally,
    accepted,
    expected_speedup,
    expected_tokens,
    gain,
)
from labkit.bench.drafting.drafters import Lookup, ModelDrafter
from labkit.bench.drafting.lookup import look_up
from labkit.bench.drafting.runs import PLAIN, ROUNDS, Case, Runs
from labkit.bench.drafting.speculate import speculate
from labkit.bench.progress import silent
from labkit.bench.session import Session, Steps
from tests.bench.drafting_toys import VOCABULARY, Scripted, ToyTarget, plain

TOKENS = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=30)
DRAFTS = st.lists(st.lists(st.integers(0, VOCABULARY - 1), max_size=8), min_size=1, max_size=6)


@given(TOKENS, st.integers(0, 6), st.integers(1, 4))
def test_a_draft_is_what_followed_the_same_words_before(
    tokens: list[int], most: int, longest: int
) -> None:
    draft = look_up(tokens, most, longest)
    assert len(draft) <= most
    last = len(tokens) - 1
    # By brute force: every earlier place, by length of the match, then by how late it is.
    places = [
        (size, end)
        for end in range(last)
        for size in range(1, longest + 1)
        if size <= end + 1 and tokens[end + 1 - size : end + 1] == tokens[last + 1 - size :]
    ]
    if not places or most == 0:
        assert draft == []
        return
    _, end = max(places)
    assert draft == tokens[end + 1 : end + 1 + most]


@given(st.lists(st.integers(0, 2), max_size=6), st.lists(st.integers(0, 2), min_size=7, max_size=7))
def test_acceptance_stops_at_the_first_refusal(draft: list[int], choices: list[int]) -> None:
    kept = accepted(draft, choices)
    assert draft[:kept] == choices[:kept]
    assert kept == len(draft) or draft[kept] != choices[kept]


@given(st.floats(0, 1), st.integers(0, 20))
def test_the_formula_is_a_sum_of_chances(alpha: float, gamma: int) -> None:
    """Token i of a round appears when all i drafted tokens before it were kept."""
    by_sum = math.fsum(alpha**i for i in range(gamma + 1))
    assert expected_tokens(alpha, gamma) == pytest.approx(by_sum, rel=1e-6)


@given(st.floats(0, 0.99), st.integers(1, 12), st.floats(0, 3))
def test_what_a_costly_drafter_can_give(alpha: float, gamma: int, c: float) -> None:
    speedup = expected_speedup(alpha, gamma, c)
    assert speedup <= expected_tokens(alpha, gamma)
    if c >= 1:  # a drafter as slow as its target never pays
        assert speedup <= 1
    assert expected_speedup(alpha, gamma, c, verify=2) < speedup


def test_the_textbooks_numbers() -> None:
    assert expected_tokens(0.8, 5) == pytest.approx(3.68928)
    assert expected_speedup(0.7, 5, 0.0845) == pytest.approx(2.06749, rel=1e-4)
    assert expected_speedup(0.8, 5, 1.56306) == pytest.approx(0.418509, rel=1e-4)


def test_a_tally_examines_up_to_the_first_refusal() -> None:
    tally = Tally()
    tally.add(drafted=5, kept=2)
    tally.add(drafted=3, kept=3)
    tally.add(drafted=0, kept=0)
    assert (tally.tokens, tally.target_forwards, tally.rounds_with_draft) == (8, 3, 2)
    assert (tally.drafted, tally.examined, tally.accepted) == (8, 6, 5)
    assert tally.alpha == 5 / 6
    assert tally.accepted_of_drafted == 5 / 8
    assert Tally(tokens=3, target_forwards=3).alpha is None


@given(st.floats(1, 6), st.floats(0, 1), st.floats(1, 6))
def test_a_round_without_a_draft_costs_a_step(tokens: float, share: float, verify: float) -> None:
    assert tokens / verify - 1e-9 <= gain(tokens, share, verify) <= tokens + 1e-9


@given(TOKENS, st.integers(1, 25), st.integers(1, 8), DRAFTS)
def test_whatever_is_drafted_the_text_is_the_targets(
    prompt: list[int], tokens: int, gamma: int, drafts: list[list[int]]
) -> None:
    target, drafter = ToyTarget(), Scripted(drafts)
    run = speculate(target, prompt, tokens, drafter, gamma)
    assert run.output == plain(prompt, tokens)
    assert run.tally.tokens == tokens
    assert run.tally.target_forwards == target.forwards - 1 == len(run.rows)  # and the prefill
    assert run.tally.target_forwards <= tokens
    assert target.fed == [*prompt, *run.output[:-1]]  # nothing refused is left in the cache
    assert all(0 <= most <= gamma for most in drafter.asked)
    assert sum(run.drafted) == run.tally.drafted


def test_a_cache_that_keeps_refused_tokens_is_caught() -> None:
    prompt, drafter = [1, 2, 3], Scripted([[0, 0, 0], [1], [5, 5]])
    run = speculate(ToyTarget(forgetful=True), prompt, 12, drafter, 3)
    assert run.output != plain(prompt, 12)


@given(TOKENS, st.integers(1, 20), st.integers(1, 6))
def test_a_perfect_drafter_is_always_kept(prompt: list[int], tokens: int, gamma: int) -> None:
    """The target drafts for itself: its cache, too, must follow what was kept."""
    run = speculate(ToyTarget(), prompt, tokens, ModelDrafter(ToyTarget()), gamma)
    assert run.output == plain(prompt, tokens)
    assert run.tally.accepted == run.tally.drafted
    assert run.tally.target_forwards == math.ceil(tokens / (gamma + 1))


def runs_on(device: str, *, quick: bool = False) -> Runs:
    session = Session(device, quick=quick, threads=1, report=silent, steps=Steps(10))
    cases = [
        Case(PLAIN, "no drafter", None, 0),
        Case("lookup2", "prompt lookup", Lookup(), 2),
        Case("itself", "the target", ModelDrafter(ToyTarget()), 3, 99, repeated=False),
    ]
    runs = Runs(session, ToyTarget(), {"copy": [1, 2, 3], "open": [4, 5]}, 12, cases)
    runs.take()
    return runs


@pytest.mark.parametrize("device", ["cpu", "cuda", "mps"])
def test_a_runs_facts(device: str) -> None:
    """The same on every device; a GPU's times are wall time."""
    runs = runs_on(device)
    found = runs.found()
    rows: list[dict[str, Any]] = found.facts["runs"]
    assert [(row["prompt"], row["drafter"]) for row in rows] == [
        (prompt, drafter) for prompt in ("copy", "open") for drafter in (PLAIN, "lookup2", "itself")
    ]
    for row in rows:
        assert row["identical"] is True
        assert row["tokens"] == 12
        assert row["tokens_per_forward"] == pytest.approx(12 / row["target_forwards"], abs=1e-4)
        assert row["accepted"] <= row["examined"] <= row["drafted"]
        assert row["drafted"] <= row["gamma"] * row["rounds_with_draft"]
        clock = row["cpu_s"] if device == "cpu" else row["wall_s"]
        assert row["ms_per_token"] == pytest.approx(1e3 * clock / 12, rel=0.3, abs=0.01)
    by = {(row["drafter"], row["prompt"]): row for row in rows}
    assert by[PLAIN, "copy"]["alpha"] is by[PLAIN, "copy"]["c"] is None
    assert by[PLAIN, "copy"]["speedup"] == 1.0
    assert by["itself", "copy"]["alpha"] == 1.0
    assert by["itself", "copy"]["tokens_per_forward"] == 4.0
    assert found.facts["drafters"]["itself"]["parameters"] == 99
    names = [series.name for series in found.series]
    assert names == [
        "step",
        *(f"run.{case}.{prompt}" for case in (PLAIN, "lookup2") for prompt in ("copy", "open")),
        "draft.itself",
    ]
    assert all(len(series.samples) >= 5 for series in found.series)


def test_quick_runs_say_which_rounds_they_leave_out() -> None:
    runs = runs_on("cpu", quick=True)
    assert len(runs.taken[PLAIN, "copy"]) == 3
    assert runs.session.steps.begun == ROUNDS + 1  # and one drafter that is a model


def test_a_text_that_differs_is_not_called_identical() -> None:
    runs = runs_on("cpu")
    runs.taken["lookup2", "open"][0].output[-1] += 1
    verdicts = {
        (row["drafter"], row["prompt"]): row["identical"] for row in runs.found().facts["runs"]
    }
    assert verdicts.pop(("lookup2", "open")) is False
    assert all(verdicts.values())
