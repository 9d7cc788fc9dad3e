"""Lab 01: references are the engine's, and one's own record decides. See also test_every_lab."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pytest

from labkit.contract import Code, Outcome, Record, Status
from labkit.contract.answer import encode
from labkit.exercises import Exercise, Facts, givens_for, judge, load
from labkit.sizing import (
    active_parameters,
    arithmetic_intensity,
    attainable_flops,
    decode_ceiling_tokens_per_s,
    ridge_point,
)
from tests.exercises.answering import answer_of, outcome

mpl.use("Agg")
LAB = load("01")
LEARNERS = [f"learner-{n}" for n in range(20)]


def names_for(exercise: Exercise, facts: Facts, learner: str, records: dict[str, Record]) -> Any:
    import matplotlib.pyplot as plt
    import numpy as np

    from labkit.exercises.lab01_roofline.ridge import _roofline

    class Bench:
        def machine(self) -> Record:
            return records["machine"]

    g = givens_for(exercise, facts, learner=learner, records=records)
    return {"g": g, "bench": Bench(), "roofline": _roofline, "np": np, "plt": plt}


def test_personal_numbers_differ_between_learners(facts: Facts) -> None:
    chips = {givens_for(LAB["1.9"], facts, learner=who)["chip"] for who in LEARNERS}
    pools = {givens_for(LAB["1.10"], facts, learner=who)["instance"] for who in LEARNERS}
    assert len(chips) >= 4
    assert len(pools) >= 4


# --- the engine computes every reference that it can ------------------------------------------


def test_references_equal_the_engine(facts: Facts) -> None:
    bf16, fp16 = facts.format("bf16"), facts.format("fp16")
    a10g, llama = facts.accelerator("A10G"), facts.model("llama-3-8b")

    g = givens_for(LAB["1.1"], facts, learner="a")
    assert LAB["1.1"].reference(g) == pytest.approx(ridge_point(a10g, fp16), rel=1e-12)
    g = givens_for(LAB["1.4"], facts, learner="a")
    ceiling = decode_ceiling_tokens_per_s(llama, a10g, bf16)
    assert LAB["1.4"].reference(g) == pytest.approx(ceiling, rel=1e-12)
    assert round(ceiling, 2) == 39.97
    g = givens_for(LAB["1.2"], facts, learner="a")
    assert LAB["1.2"].reference(g) == pytest.approx(arithmetic_intensity(llama, bf16), rel=0.02)


@pytest.mark.parametrize("learner", LEARNERS[:8])
def test_personal_references_equal_the_engine(learner: str, facts: Facts) -> None:
    g = givens_for(LAB["1.9"], facts, learner=learner)
    chip = facts.accelerator(str(g.chip))
    assert LAB["1.9"].reference(g) == pytest.approx(ridge_point(chip, facts.format("fp16")))

    g = givens_for(LAB["1.10"], facts, learner=learner)
    mixtral, bf16 = facts.model("mixtral-8x7b"), facts.format("bf16")
    pooled = g.devices * g.bandwidth_gbps * 1e9
    engine = decode_ceiling_tokens_per_s(mixtral, pooled, bf16)
    assert LAB["1.10"].reference(g) == pytest.approx(engine, rel=1e-9)
    assert active_parameters(mixtral) < 0.3 * mixtral.params.total


def test_the_roofline_reference_is_the_engines() -> None:
    import numpy as np

    from labkit.exercises.lab01_roofline.ridge import _roofline

    ai = np.logspace(-3, 5, 50)
    np.testing.assert_allclose(_roofline(ai, 7e13, 6e11), attainable_flops(ai, 7e13, 6e11))


# --- one's own machine: the numbers decide, not the expectation -------------------------------


@pytest.mark.parametrize(
    ("read", "products", "rest", "right"),
    [
        (27.0, 0.9, 0.4, {"overhead"}),
        (27.0, 0.4, 0.9, {"kernel"}),
        (27.0, 0.6, 0.62, {"kernel", "overhead"}),
        (27.0, 0.97, 0.97, {"none"}),
        (27.0, 1.1, 1.1, {"none"}),
    ],
)
def test_the_cause_follows_from_the_record(
    read: float,
    products: float,
    rest: float,
    right: set[str],
    facts: Facts,
    make_machine: Any,
    make_decode: Any,
) -> None:
    exercise = LAB["1.14"]
    records = {"machine": make_machine(read=read), "decode": make_decode(read, products, rest)}
    for option in ("kernel", "overhead", "compute", "none"):
        result = outcome(exercise, facts, option, "a", records)
        assert result.passed == (option in right), (option, result)
    names = names_for(exercise, facts, "a", records)
    assert answer_of(exercise, exercise.solution, names) in right


@pytest.mark.parametrize(
    ("peak", "growth", "right"),
    [
        (950.0, {}, "free"),
        (950.0, {2: 2.1, 4: 2.9, 8: 3.1, 16: 4.2, 32: 5.9}, "kernel"),
        (216.0, {8: 1.4, 16: 3.0}, "free"),  # the knee is at 16, where both limits are felt
        (20.0, {}, "compute"),
    ],
)
def test_batching_follows_from_the_record(
    peak: float, growth: dict[int, float], right: str, facts: Facts, make_machine: Any
) -> None:
    exercise = LAB["1.15"]
    records = {"machine": make_machine(peak=peak, growth=growth)}
    for option in ("free", "kernel", "compute"):
        assert outcome(exercise, facts, option, "a", records).passed == (option == right)
    names = names_for(exercise, facts, "a", records)
    assert answer_of(exercise, exercise.solution, names) == right


def test_without_a_measurement_the_answer_is_an_error_that_names_the_cell(facts: Facts) -> None:
    result = outcome_without_records(LAB["1.13"], facts)
    assert result.status is Status.ERROR
    assert "bench.decode()" in result.message


def outcome_without_records(exercise: Exercise, facts: Facts) -> Outcome:
    return judge(exercise, facts, encode(40.0), learner="a", records={})


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"read": 1e6}, Code.UNPLAUSIBLE),
        ({"efficiency": 1.6}, Code.OVER_THE_ROOF),
    ],
)
def test_impossible_records_are_refused(
    change: dict[str, float], code: Code, facts: Facts, make_machine: Any
) -> None:
    record = make_machine(**change)
    assert outcome(LAB["1.12"], facts, record, "a", {}).code is code


def test_a_record_of_something_else_is_refused(facts: Facts, make_decode: Any) -> None:
    assert outcome(LAB["1.12"], facts, make_decode(), "a", {}).code is Code.NOT_YOUR_RECORD
    assert outcome(LAB["1.12"], facts, 27.0, "a", {}).code is Code.TYPE


# --- the figure -------------------------------------------------------------------------------


def test_the_figure_needs_every_roof_and_the_points(
    facts: Facts, records: dict[str, Record]
) -> None:
    from labkit.exercises.lab01_roofline.figure import plot

    exercise = LAB["1.8"]
    g = givens_for(exercise, facts, learner="a", records=records)
    for gone, says in (("L4", "'L4'"), ("my machine", "'my machine'"), ("measured", "measured")):
        ax = plot(g)
        next(line for line in ax.get_lines() if line.get_label() == gone).remove()
        result = outcome(exercise, facts, ax, "a", records)
        assert result.code is Code.SERIES_MISSING
        assert says in result.message


def test_the_figure_may_plot_in_other_units_if_its_label_says_so(
    facts: Facts, records: dict[str, Record]
) -> None:
    from labkit.exercises.lab01_roofline.figure import plot

    exercise = LAB["1.8"]
    g = givens_for(exercise, facts, learner="a", records=records)
    for label, passes in (("attainable TFLOP/s", True), ("GFLOP/s", False)):
        ax = plot(g)
        for line in ax.get_lines():
            line.set_ydata([y / 1e12 for y in line.get_ydata()])
        ax.set_ylabel(label)
        result = outcome(exercise, facts, ax, "a", records)
        assert result.passed == passes, result
        assert passes or result.code is Code.PREFIX


def test_a_forged_figure_is_told_and_never_raises(facts: Facts, records: dict[str, Record]) -> None:
    exercise = LAB["1.8"]
    for axes in ([{}], [{"x": 1}], ["x"], [{"x": {"scale": "log"}, "y": None, "lines": [3]}]):
        wire = {"kind": "figure", "axes": axes}
        result = judge(exercise, facts, wire, learner="a", records=records)
        assert result.status is Status.FAILED
