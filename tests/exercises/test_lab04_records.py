"""Lab 04: what its record may say, and what follows from it: grid, interval, budget, figure."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from labkit import bench
from labkit.contract import Code, LabkitError, Record, Status
from labkit.exercises import Facts, givens_for, judge, load
from labkit.exercises.lab04_quantization import figure, reading
from tests.exercises.answering import answer_of, outcome
from tests.exercises.quantized import FORMATS, TORCH_MS, names_for, quantization_record

mpl.use("Agg")
LAB = load("04")
LEARNERS = [f"learner-{n}" for n in range(12)]
RECORDS = {"quantization": quantization_record()}
ROOT = Path(__file__).parents[2]


# --- the record ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"original": True},
        {"without": ("bnb_int8", "bnb_nf4")},
        {"without": ("llama",)},
        {"windows": 6},
    ],
)
def test_records_of_other_machines_pass(change: dict[str, Any], facts: Facts) -> None:
    assert outcome(LAB["4.11"], facts, quantization_record(**change), "a", {}).passed


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"extra": {"q8_0": 0.1}}, "Q8_0"),
        ({"extra": {"q4_0": 0.001}}, "Four bits"),
        ({"extra": {"q4_1": 0.1}}, "Q4_1 again"),
        ({"torch_ms": {"fp32": 5.0}}, "faster than memory"),
        ({"windows": 3}, "losses"),
    ],
)
def test_impossible_records_are_refused(change: dict[str, Any], word: str, facts: Facts) -> None:
    result = outcome(LAB["4.11"], facts, quantization_record(**change), "a", {})
    assert result.status is Status.FAILED
    assert word in result.message, result


@pytest.mark.parametrize(
    "path",
    [
        ("formats",),
        ("formats", "fp32"),
        ("formats", "q8_0", "nll"),
        ("formats", "q4_0", "weight_bytes"),
        ("formats", "fp32", "perplexity"),
        ("kv",),
        ("kv", "fp32"),
        ("kv", "int8", "perplexity"),
    ],
)
@pytest.mark.parametrize("value", [None, "x", [1], {"a": 1}, True, -1.0])
def test_forged_facts_are_told_and_never_raise(
    path: tuple[str, ...], value: Any, facts: Facts
) -> None:
    data = json.loads(json.dumps(RECORDS["quantization"].to_json()))
    place = data["facts"]
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    record = Record.from_json(data)
    assert outcome(LAB["4.11"], facts, record, "a", {}).status is Status.FAILED
    for number in ("4.12", "4.13", "4.8", "4.14", "4.15"):
        answer = answer_of(LAB[number], LAB[number].stub, {})
        judged = judge(
            LAB[number],
            facts,
            {"kind": "text", "text": "x"},
            learner="a",
            records={"quantization": record},
        )
        assert answer is not None
        assert not judged.passed


def test_a_record_of_something_else_is_refused(facts: Facts, make_decode: Any) -> None:
    assert outcome(LAB["4.11"], facts, make_decode(), "a", {}).code is Code.NOT_YOUR_RECORD


# --- what the record says -------------------------------------------------------------------------


def test_with_the_published_weights_the_trap_is_none(facts: Facts) -> None:
    records = {"quantization": quantization_record(original=True)}
    for option in ("lossless", "minimum", "grid", "noise", "differs"):
        result = outcome(LAB["4.12"], facts, option, "a", records)
        assert result.passed == (option == "differs"), result
    names = names_for(LAB["4.12"], facts, "a", records)
    assert answer_of(LAB["4.12"], LAB["4.12"].solution, names) == "differs"


@pytest.mark.parametrize(
    ("torch_ms", "llama_ms", "right"),
    [
        ({}, {}, "llama"),
        (dict.fromkeys(TORCH_MS, 20.0) | {"fp32": 40.0}, {}, "both"),
        (dict.fromkeys(TORCH_MS, 20.0) | {"fp32": 40.0}, {"q8_0": 43.0}, "torch"),
        ({}, {"q4_0": 44.0}, "neither"),
        ({"bnb_nf4": 20.0, "fp16": 20.0}, {"q8_0": 35.0}, "llama"),
    ],
)
def test_who_gains_follows_from_the_record(
    torch_ms: dict[str, float], llama_ms: dict[str, float], right: str, facts: Facts
) -> None:
    records = {"quantization": quantization_record(torch_ms=torch_ms, llama_ms=llama_ms)}
    for option in ("both", "llama", "torch", "neither"):
        result = outcome(LAB["4.14"], facts, option, "a", records)
        assert result.passed == (option == right), (option, result)
    names = names_for(LAB["4.14"], facts, "a", records)
    assert answer_of(LAB["4.14"], LAB["4.14"].solution, names) == right


@pytest.mark.parametrize("number", ["4.14", "4.15"])
def test_without_llama_the_remedy_is_named(number: str, facts: Facts) -> None:
    records = {"quantization": quantization_record(without=("llama",))}
    with pytest.raises(LabkitError, match="replay=True"):
        givens_for(LAB[number], facts, learner="a", records=records)


def test_without_a_record_the_cell_is_named(facts: Facts) -> None:
    result = judge(LAB["4.8"], facts, {"kind": "object", "fields": {}}, learner="a", records={})
    assert result.status is Status.ERROR
    assert "bench.quantization()" in result.message


def test_the_budget_decides_and_the_upper_end_counts(facts: Facts) -> None:
    g = givens_for(LAB["4.8"], facts, learner="a", records=RECORDS)
    assert "q4_1" not in g
    sizes = [g[key][0] for key in g]
    assert sizes == sorted(sizes, reverse=True)

    def choose(budget: float, key: str) -> Any:
        answer = {"budget_percent": budget, "format": key}
        return outcome(LAB["4.8"], facts, answer, "a", RECORDS)

    _, rise, high = g.q4_0
    assert rise < high
    assert choose(high + 0.01, "Q4_0").passed
    assert choose((rise + high) / 2, "q4_0").code is Code.INTERVAL_IGNORED
    assert choose(rise / 2, "q4_0").code is Code.OVER_THE_BUDGET
    assert choose(0.5, "q8_0").passed == (g.q8_0[2] <= 0.5)
    assert choose(50, "q8_0").code is Code.NOT_SMALLEST
    assert choose(60, "q8_0").code is Code.MAGNITUDE
    assert choose(5, "q4_1").code is Code.OPTION_UNKNOWN


def test_an_original_reference_lets_q4_1_compete(facts: Facts) -> None:
    records = {"quantization": quantization_record(original=True)}
    assert "q4_1" in givens_for(LAB["4.8"], facts, learner="a", records=records)


def test_the_rise_is_that_of_perplexity() -> None:
    record = RECORDS["quantization"]
    pair = reading.losses(record, "fp32"), reading.losses(record, "q4_0")
    ratio = reading.number(record, "q4_0", "perplexity") / reading.number(
        record, "fp32", "perplexity"
    )
    assert reading.rise(*pair) == pytest.approx(100 * (ratio - 1), rel=1e-9)
    low, high = reading.rise_interval(*pair)
    assert low < reading.rise(*pair) < high


def test_another_seed_and_students_t_pass(facts: Facts) -> None:
    for learner in LEARNERS[:4]:
        g = givens_for(LAB["4.13"], facts, learner=learner, records=RECORDS)
        d = np.array(g.format_nll) - np.array(g.reference_nll)
        for seed in range(3):
            drawn = np.random.default_rng(seed).integers(0, len(d), (2000, len(d)))
            ends = np.percentile(d[drawn].mean(axis=1), [2.5, 97.5])
            answer = 100 * np.expm1(ends)
            assert outcome(LAB["4.13"], facts, answer, learner, RECORDS).passed
        t = reading.rise_interval(g.reference_nll, g.format_nll)
        assert outcome(LAB["4.13"], facts, list(t), learner, RECORDS).passed


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("turn", "code"),
    [
        (lambda ends: 100 * ends, Code.MAGNITUDE),
        (np.expm1, Code.PREFIX),
        (lambda ends: 100 * np.exp(ends), Code.FACTOR_NOT_RISE),
        (lambda ends: 100 * (2.0**ends - 1), Code.BASE_TWO),
        (lambda ends: 100 * np.expm1(-ends[::-1]), Code.SIGN),
    ],
)
def test_a_wrong_last_step_is_named_after_a_bootstrap(
    seed: int, turn: Any, code: Code, facts: Facts
) -> None:
    """The statement asks for a bootstrap, so its wrong turns must be known, not Student's alone."""
    for learner in LEARNERS[:4]:
        g = givens_for(LAB["4.13"], facts, learner=learner, records=RECORDS)
        d = np.array(g.format_nll) - np.array(g.reference_nll)
        drawn = np.random.default_rng(seed).integers(0, len(d), (4000, len(d)))
        ends = np.percentile(d[drawn].mean(axis=1), [2.5, 97.5])
        result = outcome(LAB["4.13"], facts, turn(ends), learner, RECORDS)
        assert result.code is code, (learner, result)


def test_what_was_resampled_wrongly_is_named(facts: Facts) -> None:
    for learner in LEARNERS[:4]:
        g = givens_for(LAB["4.13"], facts, learner=learner, records=RECORDS)
        a, b = np.array(g.reference_nll), np.array(g.format_nll)
        rng, n = np.random.default_rng(1), len(a)

        def told(means: Any, who: str = learner) -> Any:
            answer = 100 * np.expm1(np.percentile(means, [2.5, 97.5]))
            return outcome(LAB["4.13"], facts, answer, who, RECORDS)

        apart = b[rng.integers(0, n, (4000, n))].mean(axis=1)
        apart = apart - a[rng.integers(0, n, (4000, n))].mean(axis=1)
        assert told(apart).code is Code.UNPAIRED
        assert told(b - a).code is Code.SPREAD_NOT_ERROR
        means = (b - a)[rng.integers(0, n, (8000, n))].mean(axis=1)
        for ends in ([5, 95], [0.5, 99.5]):
            answer = 100 * np.expm1(np.percentile(means, ends))
            result = outcome(LAB["4.13"], facts, answer, learner, RECORDS)
            assert result.code is Code.OTHER_LEVEL, (learner, ends, result)
        same = told([(b - a).mean()] * 50 + [(b - a).mean() + 1e-15])
        assert "with replacement" in same.message


def test_a_right_width_in_the_wrong_place_is_not_called_too_wide(facts: Facts) -> None:
    g = givens_for(LAB["4.13"], facts, learner="a", records=RECORDS)
    low, high = reading.rise_interval(g.reference_nll, g.format_nll)
    shift = 0.08 * (high - low)
    result = outcome(LAB["4.13"], facts, (low + shift, high + shift), "a", RECORDS)
    assert (result.status, result.code) == (Status.FAILED, Code.CLOSE)
    assert "times" not in result.message
    wide = outcome(LAB["4.13"], facts, (low - 9 * (high - low), high), "a", RECORDS)
    assert "10 times too wide" in wide.message


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (("21 %", "27 %"), "without a unit or quotes"),
        ((21.0,), "holds 1 number."),
        ((1.0, 2.0, 3.0), "holds 3 numbers."),
        (21.0, "a number"),
    ],
)
def test_what_is_no_pair_is_told(answer: Any, word: str, facts: Facts) -> None:
    result = outcome(LAB["4.13"], facts, answer, "a", RECORDS)
    assert (result.code, word in result.message) == (Code.TYPE, True), result


# --- the figure ---------------------------------------------------------------------------------


def test_the_figure_needs_two_panels_and_every_point(facts: Facts) -> None:
    exercise = LAB["4.15"]
    g = givens_for(exercise, facts, learner="a", records=RECORDS)
    drawn = figure.plot(g)
    assert outcome(exercise, facts, drawn, "a", RECORDS).passed
    assert outcome(exercise, facts, drawn.axes[0], "a", RECORDS).code is Code.SERIES_MISSING
    nameless = outcome(exercise, facts, figure.plot(g, names=False), "a", RECORDS)
    assert "'FP16'" in nameless.message
    assert "annotate" in nameless.message
    swapped = outcome(exercise, facts, _swapped(g), "a", RECORDS)
    assert swapped.code is Code.MAGNITUDE
    assert swapped.shown == "Axes with 1 line and 3 error bars | Axes with 1 line and 3 error bars"
    drawn.axes[1].set_ylabel("time")
    timeless = outcome(exercise, facts, drawn, "a", RECORDS)
    assert (timeless.code, timeless.message[:12]) == (Code.AXIS_LABEL, "Right panel.")


def _swapped(g: Any) -> Any:
    """yerr=[above, below]: the bar's length is right, its ends are not."""
    drawn = figure.plot(g, bars=False)
    for ax, what in zip(drawn.axes, ("rise", "ms"), strict=True):
        point, low, high = (np.array(g[name]) for name in (what, f"{what}_low", f"{what}_high"))
        ax.lines[0].remove()
        ax.errorbar(g.mb, point, yerr=[high - point, point - low], fmt="o")
    return drawn


def test_a_forged_figure_is_told_and_never_raises(facts: Facts) -> None:
    for axes in ([{}], [{}, {}], [{"x": 1}, {"x": 2}], ["x", "y"]):
        wire = {"kind": "figure", "axes": axes}
        result = judge(LAB["4.15"], facts, wire, learner="a", records=RECORDS)
        assert result.status is Status.FAILED


# --- the published table ------------------------------------------------------------------------


def test_the_published_rows_are_the_sources() -> None:
    with (ROOT / "benchmarks" / "data" / "measurements.csv").open(encoding="utf-8") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    points = bench.int4_under_load()
    assert {point.users for point in points} == {1, 5, 10, 20}
    for point in points:
        row = rows[point.row]
        assert row["metric"] == "tpot_ms"
        assert point.tpot_ms == pytest.approx(float(row["value"]), rel=1e-9)
        assert (point.model, point.accelerator) == (row["model"], row["gpu"])
        assert (point.instance, point.users) == (
            row["instance_type"],
            int(row["batch_or_concurrency"]),
        )
        assert (row["weights_dtype"] == "gptq4") == point.weights.startswith("INT4")
        assert point.source_ref == row["source_ref"]


def test_what_the_prose_says_of_them_is_so() -> None:
    by = {(point.weights[:4], point.users): point.tpot_ms for point in bench.int4_under_load()}
    assert by["FP16", 1] / by["INT4", 1] == pytest.approx(1.5, abs=0.05)
    assert by["FP16", 5] > by["INT4", 5]
    assert by["FP16", 10] < by["INT4", 10]
    assert by["FP16", 20] < by["INT4", 20]


def test_a_missing_table_is_said(tmp_path: Path) -> None:
    from labkit.bench.published import int4_under_load

    with pytest.raises(LabkitError, match="install labkit afresh"):
        int4_under_load(tmp_path / "none.csv")


def test_every_format_of_the_invented_record_is_one_of_the_bench() -> None:
    from labkit.bench.quant.formats import FORMATS as REAL

    assert set(FORMATS) == set(REAL)
    record = dataclasses.replace(RECORDS["quantization"])
    assert [point.key for point in bench.format_points(record)] == list(FORMATS)
