"""Lab 05: figures drawn in other ways, and what a learner's own record decides."""

from __future__ import annotations

import dataclasses
import math
import statistics
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from hypothesis import given as drawn_by
from hypothesis import strategies as st

from labkit.contract import Code, Outcome, Record, Status
from labkit.course.judging import judge_answer
from labkit.exercises import Facts, givens_for, load
from labkit.exercises.kinds.intervals import paired_bootstrap
from labkit.exercises.lab05_batching import queue, speedup, timeline
from labkit.sizing.simulation import (
    AffineSteps,
)
from tests.exercises.answering import outcome
from tests.exercises.batching_records import engines_record, load_record, made_givens

mpl.use("Agg")
LAB = load("05")
LEARNERS = [f"learner-{n}" for n in range(20)]
ONE_TICK = AffineSteps(step=1.0)
ROOT = Path(__file__).parents[2]
QUEUES = st.lists(st.integers(1, 60), min_size=1, max_size=30)


# --- 5.9: other ways to draw it ------------------------------------------------------------------


def drawn(g: Any, how: str) -> Any:
    from matplotlib.figure import Figure

    fig = Figure()
    for ax, make in zip(
        fig.subplots(2, 1), (queue.static_spans, queue.continuous_spans), strict=True
    ):
        for span in make(g.lengths, g.slots):
            place, length = span.start, span.end - span.start
            row = g.slots - span.slot
            if how == "step by step":
                for k in range(length):
                    ax.barh(row, 1, left=place + k, label=span.name)
            elif how == "broken":
                ax.broken_barh([(place, length)], (row - 0.4, 0.8), label=span.name)
            else:
                ax.barh(row, length, left=place, label=span.name)
        ax.barh(range(g.slots + 2), [300] * (g.slots + 2), label="idle", alpha=0.1)
        ax.set_xlabel("Steps")
    return fig


@pytest.mark.parametrize("how", ["plain", "broken", "step by step"])
def test_the_timeline_may_be_drawn_in_many_ways(how: str, facts: Facts) -> None:
    g = givens_for(LAB["5.9"], facts, learner="a")
    result = outcome(LAB["5.9"], facts, drawn(g, how), "a", {})
    assert result.passed, result


def test_one_axes_is_half_the_answer(facts: Facts) -> None:
    g = givens_for(LAB["5.9"], facts, learner="a")
    result = outcome(LAB["5.9"], facts, timeline.plot(g).axes[0], "a", {})
    assert (result.status, result.code) == (Status.FAILED, Code.SERIES_MISSING)
    assert result.message.startswith("One Axes holds bars.")
    assert "Hand in the Figure itself" in result.message
    rows = timeline.plot(g, row=lambda span: span.request)
    assert outcome(LAB["5.9"], facts, rows, "a", {}).code is Code.SLOTS_EXCEEDED


# --- what a learner's own record decides ---------------------------------------------------------


def judged(number: str, facts: Facts, answer: Any, **records: Record) -> Outcome:
    return judge_answer(LAB[number], facts, answer, draw="a", records=records)[1]


@pytest.mark.parametrize("number", ["5.8", "5.12", "5.13", "5.14"])
def test_own_exercises_on_an_invented_machine(number: str, facts: Facts) -> None:
    """The reference passes, and every mistake for which the record leaves room is told."""
    exercise = LAB[number]
    records = {"engines": engines_record(), "load": load_record()}
    g = givens_for(exercise, facts, learner="a", records=records)
    assert judged(number, facts, exercise.reference(g), **records).passed
    told = 0
    for mistake in exercise.mistakes:
        wrong = mistake.value(g)
        if wrong is None:
            continue
        found = judged(number, facts, wrong, **records)
        assert (found.status, found.code) == (Status.FAILED, mistake.code)
        assert found.message == mistake.says
        told += 1
    assert told >= 2


@pytest.mark.parametrize(
    ("alone", "right"),
    [(1.05, "crowd"), (1.3, "crowd"), (0.8, "crowd"), (1.8, "always"), (0.5, "cost")],
)
def test_the_record_says_what_one_user_gets(alone: float, right: str, facts: Facts) -> None:
    record = engines_record(alone=alone)
    for key in ("always", "crowd", "cost"):
        assert judged("5.12", facts, key, engines=record).passed == (key == right)


def test_without_vllm_the_other_engine_answers(facts: Facts) -> None:
    record = engines_record(modes=("sequential", "static", "continuous"))
    g = givens_for(LAB["5.12"], facts, learner="a", records={"engines": record})
    assert "continuous batching" in g.items_[0].label
    assert judged("5.12", facts, "crowd", engines=record).passed


@pytest.mark.parametrize(
    ("gap", "late", "right"), [(0.3, 1.4, "trade"), (0.3, 1.0, "gift"), (0.95, 1.4, "nothing")]
)
def test_the_record_says_what_chunks_do(gap: float, late: float, right: str, facts: Facts) -> None:
    record = load_record(gap=gap, late=late)
    for key in ("trade", "gift", "nothing"):
        assert judged("5.14", facts, key, load=record).passed == (key == right)


def test_an_interval_needs_five_pairs(facts: Facts) -> None:
    few = judged("5.8", facts, (3.0, 3.5), engines=engines_record(rounds=2))
    assert few.status is Status.ERROR
    assert "5" in few.message
    assert "quick" in few.message


def test_the_interval_forgives_rounding_and_nothing_wider(facts: Facts) -> None:
    record = engines_record()
    g = givens_for(LAB["5.8"], facts, learner="a", records={"engines": record})
    low, high = LAB["5.8"].reference(g)
    assert judged("5.8", facts, [round(low, 2), round(high, 2)], engines=record).passed
    narrow = paired_bootstrap(g.sequential, g.continuous, ratio=True)
    assert not judged("5.8", facts, narrow, engines=record).passed
    assert not judged("5.8", facts, (low - 0.2, high + 0.2), engines=record).passed


def test_a_middle_with_its_half_is_told_from_swapped_ends(facts: Facts) -> None:
    record = engines_record()
    g = givens_for(LAB["5.8"], facts, learner="a", records={"engines": record})
    low, high = LAB["5.8"].reference(g)
    for answer, says in (
        (((low + high) / 2, (high - low) / 2), "middle ± half"),
        ((high, low), "lower end comes first"),
    ):
        result = judged("5.8", facts, answer, engines=record)
        assert (result.status, result.code) == (Status.FAILED, Code.ENDS_SWAPPED)
        assert says in result.message


def test_a_forgotten_root_is_named(facts: Facts) -> None:
    record = engines_record()
    g = givens_for(LAB["5.8"], facts, learner="a", records={"engines": record})
    ratios = [many / one for one, many in zip(g.sequential, g.continuous, strict=True)]
    t = {5: 2.776, 6: 2.571, 7: 2.447}[len(ratios)]
    middle, half = statistics.fmean(ratios), t * statistics.stdev(ratios)
    result = judged("5.8", facts, (middle - half, middle + half), engines=record)
    assert (result.status, result.code) == (Status.FAILED, Code.SPREAD_NOT_ERROR)
    assert "by √n" in result.message


@drawn_by(st.lists(st.floats(0.5, 2.0), min_size=10, max_size=14))
def test_a_wrong_interval_is_never_the_right_one(noise: list[float]) -> None:
    half = len(noise) // 2
    one, many = noise[:half], [3 * x for x in noise[half : 2 * half]]
    if len(set(one)) == 1 and len(set(many)) == 1:
        return  # without any spread there is nothing to tell apart
    g = made_givens("5.8", sequential=one, continuous=many)
    right = LAB["5.8"].reference(g)
    for mistake in speedup.SPEEDUP.mistakes:
        wrong = mistake.value(g)
        assert wrong is None or not speedup.KIND.same(wrong, right)


def _without(record: Record, *path: str) -> Record:
    facts = _copy(record.facts)
    inner = facts
    for part in path[:-1]:
        inner = inner[part]
    del inner[path[-1]]
    return dataclasses.replace(record, facts=facts)


def _copy(value: Any) -> Any:
    return {k: _copy(v) for k, v in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(
    ("number", "path"),
    [
        ("5.8", ("modes", "continuous")),
        ("5.8", ("modes", "sequential", "cpu_rate")),
        ("5.12", ("modes",)),
        ("5.13", ("staircase", "plain", "levels", "1")),
        ("5.14", ("chunked",)),
        ("5.14", ("chunked", "vllm", "whole", "worst_ms")),
    ],
)
def test_a_record_that_lacks_something_is_told(
    number: str, path: tuple[str, ...], facts: Facts
) -> None:
    whole = {"engines": engines_record(), "load": load_record()}
    name = LAB[number].needs[0]
    broken = _without(whole[name], *path)
    result = judged(number, facts, "trade", **{name: broken})
    assert result.status is Status.ERROR
    assert f"bench.{name}" in result.message or "run the bench again" in result.message


@pytest.mark.parametrize("strange", [[], [0.0], [-1.0], ["x"], [True], [math.nan], None, 3])
def test_forged_lists_never_raise(strange: Any, facts: Facts) -> None:
    record = engines_record()
    facts_of = _copy(record.facts)
    facts_of["modes"]["continuous"]["cpu_rate"] = strange
    forged = dataclasses.replace(record, facts=facts_of)
    assert judged("5.8", facts, (1.0, 2.0), engines=forged).status is Status.ERROR


def test_the_staircase_is_what_the_invented_server_does(facts: Facts) -> None:
    record = load_record()
    g = givens_for(LAB["5.13"], facts, learner="a", records={"load": record})
    measured = record.facts["staircase"]["plain"]["levels"]["8"]["ttft_ms"][-1]
    assert LAB["5.13"].reference(g) == pytest.approx(measured)
