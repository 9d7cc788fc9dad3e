"""Lab 04: right answers pass, blanks are not attempted, every known mistake has its diagnosis."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given as drawn_by
from hypothesis import strategies as st

from labkit import bench
from labkit.contract import Code, LabkitError, Record, Status
from labkit.contract.arrays import argument
from labkit.exercises import Exercise, Facts, Tier, givens_for, judge, load
from labkit.exercises.draws import collisions
from labkit.exercises.kinds import FunctionKind
from labkit.exercises.lab04_quantization import figure, groups, reading, rounding
from labkit.exercises.lab04_quantization.bound_function import speedup_bound
from labkit.sizing import (
    critical_batch,
    kv_bytes_per_token,
    resident_weight_bytes,
    streamed_weight_bytes,
)
from labkit.sizing.roofline import decode_bytes
from tests.exercises.answering import answer_of, outcome
from tests.exercises.quantized import FORMATS, TORCH_MS, quantization_record

mpl.use("Agg")
LAB = load("04")
LEARNERS = [f"learner-{n}" for n in range(12)]
RECORDS = {"quantization": quantization_record()}
ROOT = Path(__file__).parents[2]


def names_for(exercise: Exercise, facts: Facts, learner: str, records: dict[str, Record]) -> Any:
    import matplotlib.pyplot as plt

    class Bench:
        def quantization(self) -> Record:
            return records["quantization"]

    g = givens_for(exercise, facts, learner=learner, records=records)
    return {"g": g, "bench": Bench(), "plt": plt, "np": np}


def learners_for(exercise: Exercise) -> list[str]:
    return LEARNERS if exercise.kind.name not in ("figure", "interval") else LEARNERS[:3]


@pytest.mark.parametrize("number", LAB)
def test_the_solution_passes_for_every_learner(number: str, facts: Facts) -> None:
    exercise = LAB[number]
    for learner in learners_for(exercise):
        names = names_for(exercise, facts, learner, RECORDS)
        answer = answer_of(exercise, exercise.solution, names)
        result = outcome(exercise, facts, answer, learner, RECORDS)
        assert result.passed, result
        assert result.points == exercise.points


@pytest.mark.parametrize("number", LAB)
def test_the_blank_is_not_attempted(number: str, facts: Facts) -> None:
    exercise = LAB[number]
    result = outcome(exercise, facts, answer_of(exercise, exercise.stub, {}), "a", RECORDS)
    assert result.status is Status.NOT_ATTEMPTED
    assert result.points == 0


@pytest.mark.parametrize("number", LAB)
def test_every_known_mistake_gets_its_own_diagnosis(number: str, facts: Facts) -> None:
    exercise = LAB[number]
    for learner in learners_for(exercise):
        g = givens_for(exercise, facts, learner=learner, records=RECORDS)
        for mistake in exercise.mistakes:
            wrong = mistake.value(g)
            if wrong is None:
                continue
            result = outcome(exercise, facts, wrong, learner, RECORDS)
            assert result.status is Status.FAILED
            assert (result.code, result.message) == (mistake.code, mistake.says), learner


@pytest.mark.parametrize("number", LAB)
def test_codes_and_sentences_are_not_used_twice_in_one_exercise(number: str) -> None:
    mistakes = LAB[number].mistakes
    assert len({m.code for m in mistakes}) == len(mistakes)
    assert len({m.says for m in mistakes}) == len(mistakes)


@pytest.mark.parametrize("number", [n for n in LAB if LAB[n].tier is Tier.CORE])
def test_no_two_answers_look_alike(number: str, facts: Facts) -> None:
    assert not collisions(LAB[number], givens_for(LAB[number], facts, learner="a"))


def test_the_load_stays_within_the_course_rules() -> None:
    assert len(LAB) <= 12
    tiers = [exercise.tier for exercise in LAB.values()]
    assert tiers.count(Tier.OWN) >= 3
    beyond = {e.objective for e in LAB.values() if e.tier in (Tier.TRANSFER, Tier.OWN)}
    assert {e.objective for e in LAB.values()} == beyond
    assert {e.lab for e in LAB.values()} == {"01", "04"}


def test_learners_get_formats_of_their_own(facts: Facts) -> None:
    drawn = {givens_for(LAB["4.13"], facts, learner=w, records=RECORDS).format for w in LEARNERS}
    assert len(drawn) >= 3


# --- the engine computes every reference that it can ------------------------------------------


def reference(number: str, facts: Facts) -> Any:
    return LAB[number].reference(givens_for(LAB[number], facts, learner="a"))


def test_references_equal_the_engine(facts: Facts) -> None:
    int4, bf16 = facts.format("int4"), facts.format("bf16")
    llama2, a10g = facts.model("llama-2-7b"), facts.accelerator("A10G")

    assert reference("4.1", facts) == int4.bits_per_weight == 4.15625
    bound = streamed_weight_bytes(llama2, bf16) / streamed_weight_bytes(llama2, int4)
    assert reference("4.4", facts) == pytest.approx(bound, rel=1e-12)
    assert round(bound, 2) == 3.64
    assert reference("1.3", facts) == pytest.approx(critical_batch(a10g, int4), rel=1e-12)
    assert reference("1.3", facts) == pytest.approx(30.3, abs=0.05)


@drawn_by(
    st.sampled_from(["llama-2-7b", "llama-3-8b", "qwen2.5-7b", "llama-3-70b"]),
    st.sampled_from(["int8", "int4", "int4-g32", "mxfp4"]),
    st.integers(1, 64),
    st.integers(0, 4096),
)
def test_the_bound_is_the_engines(name: str, fmt: str, batch: int, context: int) -> None:
    facts = Facts.load()
    model, small = facts.model(name), facts.format(fmt)
    fp16 = facts.format("fp16")
    before, after = (
        decode_bytes(model, form, batch=batch, context=context, kv=fp16) for form in (fp16, small)
    )
    rest = model.params.head + model.params.other
    bits, kv = small.bits_per_weight, kv_bytes_per_token(model, fp16)
    found = speedup_bound(model.params.linear, rest, bits, batch, context, kv)
    assert found == pytest.approx(before / after, rel=1e-9)


def test_the_numbers_in_words_are_the_catalogues(facts: Facts) -> None:
    """Praise and prose name a few numbers; they are held to the engine here."""
    llama2, int4 = facts.model("llama-2-7b"), facts.format("int4")
    assert f"{resident_weight_bytes(llama2, int4) / 1e9:.2f} GB" == "3.89 GB"
    assert "3.89 GB" in LAB["4.1"].praise
    knee = critical_batch(facts.accelerator("A10G"), facts.format("bf16"))
    assert f"at {knee:.0f}." in LAB["1.3"].praise
    prose = (ROOT / "solutions" / "04_quantization.py").read_text(encoding="utf-8")
    for words in ("3.89 GB", "4.16 bits", "3.64×"):
        assert words in prose


# --- the two quantizers -------------------------------------------------------------------------


@drawn_by(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 48))
def test_rows_keep_their_bound(seed: int, rows: int, columns: int) -> None:
    w = rounding.matrix(seed, rows, columns)
    q, scale = rounding.quantize_rows(w)
    assert q.dtype == np.int8
    assert np.abs(q).max(axis=1).tolist() == [127] * rows
    assert np.all(np.abs(w - rounding.restored_rows(q, scale)) <= scale[:, None] / 2 * (1 + 1e-9))


@drawn_by(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 4), st.sampled_from([4, 8, 32]))
def test_groups_keep_their_bound(seed: int, rows: int, count: int, group: int) -> None:
    w = rounding.matrix(seed, rows, count * group)
    q, scale = rounding.quantize_groups(w, group)
    assert scale.shape == (rows, count)
    assert np.abs(q).max() == 7
    error = np.abs(rounding.grouped(w - rounding.restored_groups(q, scale, group), group))
    assert np.all(error <= scale[..., None] / 2 * (1 + 1e-9))


def test_groups_beat_one_scale_on_outliers() -> None:
    w = groups.outlier_matrix()
    q, scale = rounding.per_tensor(w, rounding.INT4)
    single = rounding.rms(w - q * scale)
    small = w - rounding.restored_groups(*rounding.quantize_groups(w, 32), 32)
    assert rounding.rms(small) < single / groups.WORTH


def _kind(number: str) -> FunctionKind:
    kind = LAB[number].kind
    assert isinstance(kind, FunctionKind)
    return kind


@pytest.mark.parametrize("number", ["4.7", "4.10"])
def test_no_draw_hangs_on_the_last_bit(number: str, facts: Facts) -> None:
    """Rounding in FP32, or multiplying by the inverse scale, gives the same integers."""
    kind = _kind(number)
    right = LAB[number].reference(None)
    for learner in LEARNERS:
        g = givens_for(LAB[number], facts, learner=learner)
        probe = kind.probe(LAB[number], [g])
        for _, args in probe.calls:
            w, *rest = (argument(arg) for arg in args)
            q = right(w, *rest)[0]
            assert (right(w.astype(np.float32), *rest)[0] == q).all()
            half_up = np.trunc(np.abs(w) / _steps(w, *rest) + 0.5) * np.sign(w)
            assert (half_up == q).all()


def _steps(w: Any, group: int | None = None) -> Any:
    if group is None:
        return rounding.quantize_rows(w)[1][:, None]
    return np.repeat(rounding.quantize_groups(w, group)[1], group, axis=1)


@pytest.mark.parametrize("number", ["4.7", "4.10"])
def test_right_answers_in_other_shapes_and_types_pass(number: str, facts: Facts) -> None:
    right = LAB[number].reference(None)

    def other(w: Any, *rest: Any) -> Any:
        q, scale = right(w.astype(np.float32), *rest)
        return [q, scale[..., None]]

    assert outcome(LAB[number], facts, other, "a", {}).passed


@pytest.mark.parametrize(
    ("change", "code", "word"),
    [
        (lambda q, s: (q.astype(float), s), Code.DTYPE, "float64"),
        (lambda q, s: (q.astype(np.int16), s), Code.DTYPE, "int16"),
        (lambda q, s: q, Code.TYPE, "docstring"),
        (lambda q, s: (q, s * 2), Code.ERROR_BOUND, "half a step"),
        (lambda q, s: (q, s[:1]), Code.SHAPE, "shape"),
        (lambda q, s: None, Code.RETURNS_NONE, "return"),
    ],
)
@pytest.mark.parametrize("number", ["4.7", "4.10"])
def test_other_wrong_results_are_told(
    number: str, change: Any, code: Code, word: str, facts: Facts
) -> None:
    right = LAB[number].reference(None)
    result = outcome(LAB[number], facts, lambda *a: change(*right(*a)), "a", {})
    assert (result.code, word in result.message) == (code, True), result


def test_a_row_of_zeros_is_named(facts: Facts) -> None:
    def divides(w: Any) -> Any:
        scale = np.abs(w).max(axis=1) / 127
        with np.errstate(all="ignore"):
            return np.nan_to_num(np.round(w / scale[:, None])).astype(np.int8), scale

    result = outcome(LAB["4.7"], facts, divides, "a", {})
    assert result.status is Status.FAILED
    assert "row of zeros" in result.message


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


# --- the figure ---------------------------------------------------------------------------------


def test_the_figure_needs_two_panels_and_every_point(facts: Facts) -> None:
    exercise = LAB["4.15"]
    g = givens_for(exercise, facts, learner="a", records=RECORDS)
    drawn = figure.plot(g)
    assert outcome(exercise, facts, drawn, "a", RECORDS).passed
    assert outcome(exercise, facts, drawn.axes[0], "a", RECORDS).code is Code.SERIES_MISSING
    nameless = outcome(exercise, facts, figure.plot(g, names=False), "a", RECORDS)
    assert "'FP16'" in nameless.message
    drawn.axes[1].set_ylabel("time")
    timeless = outcome(exercise, facts, drawn, "a", RECORDS)
    assert (timeless.code, timeless.message[:12]) == (Code.AXIS_LABEL, "Right panel.")


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
