"""Kinds that judge a record, a decision or a figure: right, wrong by rule, and strange."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from labkit.contract import Code, Record, Status
from labkit.contract.answer import encode
from labkit.exercises import Facts
from labkit.exercises.kinds import intervals, plausible
from tests.exercises import toy_answers as toys
from tests.exercises.toy_exercises import RECORDS, said

# --- intervals --------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.2, 0.9, 0.975, 0.995])
@pytest.mark.parametrize("freedom", [1, 2, 4, 7.3, 30, 400])
def test_students_t_is_scipys(p: float, freedom: float) -> None:
    assert intervals.t_quantile(p, freedom) == pytest.approx(stats.t.ppf(p, freedom), rel=1e-8)


def test_intervals_are_scipys() -> None:
    a, b = np.array(toys.BASE), np.array(toys.BASE) + np.array(toys.GAIN)
    paired = stats.ttest_rel(b, a).confidence_interval(0.95)
    assert intervals.paired_t(list(a), list(b)) == pytest.approx((paired.low, paired.high))
    apart = stats.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    assert intervals.welch(list(a), list(b)) == pytest.approx((apart.low, apart.high))


def windows(seed: int, n: int = 24) -> Record:
    rng = np.random.default_rng(seed)
    return toys.pairs_record(
        tuple(rng.normal(100, 15, n)), tuple(rng.normal(3, 2, n) + rng.exponential(1, n))
    )


@pytest.mark.parametrize("seed", range(8))
def test_another_seed_passes_and_wrong_methods_do_not(seed: int, facts: Facts) -> None:
    record = windows(seed)
    records = {"speed": record}
    a, b = record["one"].samples, record["two"].samples
    gains = [y - x for x, y in zip(a, b, strict=True)]
    exercise = toys.WINDOWS_EXERCISE
    for other in (1, 2, 3):
        found = intervals.paired_bootstrap(a, b, resamples=3000, seed=other)
        assert said(exercise, facts, found, records).passed
    low, high = intervals.paired_t(a, b)
    for answer in (
        (low, high),
        [low, high],
        np.array([low, high]),
        (round(low, 2), round(high, 2)),
    ):
        assert said(exercise, facts, answer, records).passed
    wrong = {
        Code.UNPAIRED: intervals.welch(a, b),
        Code.ONE_SIDED: intervals.one_sided(gains),
    }
    for code, interval in wrong.items():
        assert said(exercise, facts, interval, records).code is code
    for interval in (intervals.mean_t(gains, 0.9), intervals.mean_t(gains, 0.99)):
        assert not said(exercise, facts, interval, records).passed


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ((3.6, 2.5), Code.ENDS_SWAPPED),
        ((-3.588, -2.525), Code.SIGN),
        ((3.0, 3.0), Code.MAGNITUDE),
        ((0.0, 100.0), Code.MAGNITUDE),
        ((math.nan, 1.0), Code.TYPE),
        (np.array([math.inf, 1.0]), Code.NOT_FINITE),
        (3.0, Code.TYPE),
        ((1, 2, 3), Code.TYPE),
        ("2.5 to 3.6", Code.TYPE),
        (None, Code.RETURNS_NONE),
    ],
)
def test_unusable_intervals_get_the_most_useful_remark(
    answer: Any, code: Code, facts: Facts
) -> None:
    result = said(toys.INTERVAL_EXERCISE, facts, answer)
    assert (result.status, result.code) == (Status.FAILED, code), result


# --- decisions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"budget_percent": 0.2, "format": "fp16"}, Code.NONE),
        ({"budget_percent": 9.5, "format": "INT4"}, Code.NONE),
        ({"budget_percent": 0.95, "format": "int8"}, Code.NONE),
        ({"budget_percent": 0.3, "format": "none"}, Code.OVER_THE_BUDGET),
        ({"budget_percent": 2, "format": "int2"}, Code.OPTION_UNKNOWN),
        ({"budget_percent": 1000, "format": "int4"}, Code.MAGNITUDE),
        ({"budget_percent": "2", "format": "int8"}, Code.MAGNITUDE),
        ({"budget_percent": 2}, Code.TYPE),
        ({"budget_percent": 2, "format": None}, Code.OPTION_UNKNOWN),
        ((2, "int8"), Code.TYPE),
        (None, Code.RETURNS_NONE),
    ],
)
def test_a_decision_must_follow_from_its_own_budget(answer: Any, code: Code, facts: Facts) -> None:
    result = said(toys.DECISION_EXERCISE, facts, answer)
    assert result.code is code, result
    assert result.passed == (code is Code.NONE)


def test_a_half_filled_decision_is_not_attempted(facts: Facts) -> None:
    for answer in ({"budget_percent": ..., "format": ...}, {"budget_percent": 2, "format": ...}):
        assert said(toys.DECISION_EXERCISE, facts, answer).status is Status.NOT_ATTEMPTED


# --- figures ----------------------------------------------------------------------------------


def test_a_timeline_may_be_drawn_with_barh_or_broken_barh(facts: Facts) -> None:
    for broken in (False, True):
        ax = toys.gantt(toys.continuous(toys.LENGTHS), broken=broken)
        assert said(toys.FIGURE_EXERCISE, facts, ax).passed


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda ax: ax.set_xlabel("x"), Code.AXIS_LABEL),
        (lambda ax: ax.containers[0].remove(), Code.SERIES_MISSING),
        (lambda ax: ax.barh([0], [2], left=0.5, label="more"), Code.SLOTS_EXCEEDED),
        (lambda ax: ax.texts[0].remove(), Code.SERIES_MISSING),
        (lambda ax: ax.containers[0].patches[0].set_width(2), Code.OTHER),
    ],
)
def test_what_is_wrong_with_a_timeline_is_told(spoil: Any, code: Code, facts: Facts) -> None:
    ax = toys.gantt(toys.continuous(toys.LENGTHS))
    spoil(ax)
    assert said(toys.FIGURE_EXERCISE, facts, ax).code is code


def test_bars_error_bars_texts_and_rows_are_read_as_data() -> None:
    from matplotlib.figure import Figure

    from labkit.exercises.kinds import axes

    ax = Figure().add_subplot()
    ax.broken_barh([(0, 3), (3, 1), (5, 2)], (0.6, 0.8), label="slot 0")
    ax.barh([2], [4], left=1, label="slot 1")
    ax.errorbar([1, 2], [3, 4], yerr=[[0.1, 0.2], [0.3, 0.4]], label="ppl", fmt="o")
    ax.bar([7], [3], yerr=0.5, label="bars")
    ax.annotate("cliff", (1, 2), xytext=(3, 4))
    ax.set_xscale("log")
    wire = encode(ax)["axes"][0]
    assert wire["points"] == []  # neither outlines nor error bars are points
    assert axes.rows(wire)[0] == [(0.0, 4.0), (5.0, 7.0)]
    assert [(e["label"], e["y"]) for e in wire["errors"]] == [
        ("ppl", pytest.approx([2.9, 3.3])),
        ("ppl", pytest.approx([3.8, 4.4])),
        ("bars", pytest.approx([2.5, 3.5])),
    ]
    assert wire["texts"] == [{"text": "cliff", "at": [1.0, 2.0]}]
    right = axes.error_bars(lambda _g: [(1, 2.9, 3.3), (2, 3.8, 4.4)])
    wrong = axes.error_bars(lambda _g: [(1, 2.6, 3.6)])
    none: Any = None
    assert right(wire, none) is None
    assert wrong(wire, none) is not None
    assert axes.log_scale("x")(wire, none) is None
    assert axes.log_scale("y")(wire, none) is not None
    assert axes.has_points(lambda _g: [(1, 3), (2, 4)], "formats")(wire, none) is None
    assert axes.has_points(lambda _g: [(1, 3.3)], "formats")(wire, none) is not None
    assert axes.annotated(lambda _g: ["Cliff"])(wire, none) is None
    assert max(axes.busy(wire)) == 6.0


def test_a_figure_of_panels_is_looked_at_as_a_whole(facts: Facts) -> None:
    from matplotlib.figure import Figure

    from labkit.exercises.kinds import FigureKind

    def two(panels: list[dict[str, Any]], _g: Any) -> Any:
        return None if len(panels) == 2 else (Code.SERIES_MISSING, "Two panels are asked.")

    exercise = dataclasses.replace(
        toys.FIGURE_EXERCISE, kind=FigureKind("fig", "Two panels.", panels=(two,)), mistakes=()
    )
    figure = Figure()
    figure.add_subplot(2, 1, 1)
    assert said(exercise, facts, figure).code is Code.SERIES_MISSING
    figure.add_subplot(2, 1, 2)
    assert said(exercise, facts, figure).passed
    assert "Figure" in said(exercise, facts, 3).message


# --- measurements -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"facts": {}}, "int4"),
        ({"facts": {"bytes": {"fp16": 200, "int8": 100, "int4": 150}}}, "Fewer bytes."),
        ({"facts": {"bytes": {"fp16": 200, "int8": 90, "int4": 55}}}, "Half."),
        ({"facts": {"bytes": {"fp16": "x", "int8": 90, "int4": 55}}}, "fp16"),
        ({"id": "other"}, "bench.other()"),
    ],
)
def test_records_that_cannot_have_been_measured(
    change: dict[str, Any], says: str, facts: Facts
) -> None:
    exercise = toys.MEASURE_EXERCISE
    assert said(exercise, facts, RECORDS["speed"]).passed
    result = said(exercise, facts, dataclasses.replace(RECORDS["speed"], **change))
    assert result.status is Status.FAILED
    assert says in result.message
    few = toys.pairs_record(toys.BASE[:3], toys.GAIN[:3])
    assert "Five runs" in said(exercise, facts, few).message
    slow = toys.pairs_record([900.0] * 8)
    assert said(exercise, facts, slow).code is Code.OVER_THE_ROOF
    apart = toys.pairs_record(gain=[500.0] * 8)
    assert "differ" in said(exercise, facts, apart).message


def test_samples_are_given_as_a_list_with_their_number() -> None:
    from labkit.contract import Givens
    from labkit.exercises import given

    item = given.samples(RECORDS["speed"], "one", "runs", "runs")
    g = Givens("90.6", (item,))
    assert g.runs == list(toys.BASE)
    assert "8 numbers: 101, 94, 120, … ms" in str(g._repr_html_())
    assert Givens.from_json(g.to_json()) == g


def test_plausible_values_name_what_is_missing() -> None:
    from labkit.contract import LabkitError

    with pytest.raises(LabkitError, match=r"bytes\.int2"):
        plausible.value_of(RECORDS["speed"], "bytes.int2")
