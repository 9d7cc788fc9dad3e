"""Lab 04: right answers pass, blanks are not attempted, every known mistake has its diagnosis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given as drawn_by
from hypothesis import strategies as st

from labkit.contract import Code, Status
from labkit.contract.arrays import argument
from labkit.exercises import Exercise, Facts, Tier, givens_for, load
from labkit.exercises.draws import collisions
from labkit.exercises.kinds import FunctionKind
from labkit.exercises.lab04_quantization import groups, rounding
from labkit.exercises.lab04_quantization.bound_function import speedup_bound
from labkit.sizing import (
    critical_batch,
    kv_bytes_per_token,
    resident_weight_bytes,
    streamed_weight_bytes,
)
from labkit.sizing.roofline import decode_bytes
from tests.exercises.answering import answer_of, outcome
from tests.exercises.quantized import names_for, quantization_record

mpl.use("Agg")
LAB = load("04")
LEARNERS = [f"learner-{n}" for n in range(12)]
RECORDS = {"quantization": quantization_record()}
ROOT = Path(__file__).parents[2]


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
        (lambda q, s: (q, 2.0), Code.SHAPE, "no axis"),
        (lambda q, s: (s, q), Code.SHAPE, "first result"),
        (lambda q, s: (np.full_like(q, 7), s), Code.ERROR_BOUND, "half a step"),
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


@pytest.mark.parametrize("number", ["4.7", "4.10"])
@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        (Code.ASYMMETRIC, lambda largest, w, levels: largest / (levels + 1)),
        (Code.SIGN, lambda largest, w, levels: w.max(axis=-1) / levels),
        (Code.NOT_DIVIDED, lambda largest, w, levels: largest),
    ],
)
@pytest.mark.parametrize("stored", ["clipped", "wrapped", "rescaled"])
def test_a_wrong_scale_is_named_whatever_became_of_the_integers(
    number: str, code: Code, wrong: Any, stored: str, facts: Facts
) -> None:
    """The learner who divided by 128 is not told to clip: clipping would not help."""
    levels = 127 if number == "4.7" else 7

    def quantize(w: Any, group: int | None = None) -> Any:
        parts = w if group is None else rounding.grouped(w, group)
        scale = wrong(np.abs(parts).max(axis=-1), parts, levels)
        scale = np.where(scale == 0, 1.0, scale)
        steps = np.round(parts / scale[..., None] * (levels if stored == "rescaled" else 1))
        if stored == "clipped":
            steps = steps.clip(-levels, levels)
        return steps.astype(np.int64).astype(np.int8).reshape(w.shape), scale

    result = outcome(LAB[number], facts, quantize, "a", {})
    assert (result.status, result.code) == (Status.FAILED, code), result
    assert "clip" not in result.message


@pytest.mark.parametrize("number", ["4.7", "4.10"])
def test_a_missing_axis_is_counted(number: str, facts: Facts) -> None:
    right = LAB[number].reference(None)

    def per_row(w: Any, *rest: Any) -> Any:
        q, scale = right(w, *rest)
        return q, scale.max(axis=-1)

    result = outcome(LAB[number], facts, per_row, "a", {})
    assert result.code is Code.SHAPE
    assert f"The docstring says {1 if number == '4.7' else 2}." in result.message


@pytest.mark.parametrize(
    ("number", "value", "code"),
    [
        ("4.1", 4.16, Code.ROUNDED),
        ("4.1", 4.2, Code.ROUNDED),
        ("4.1", 4.1563, Code.ROUNDED),
        ("4.1", 4.3, Code.MAGNITUDE),
        ("4.1", 4.25, Code.ZERO_AS_SCALE),
        ("1.3", 30, Code.ROUNDED),
        ("1.3", 31, Code.ROUNDED),
        ("1.3", 29, Code.SCALES_FORGOTTEN),
        ("1.3", 32, Code.MAGNITUDE),
    ],
)
def test_a_rounded_answer_is_told_so(number: str, value: float, code: Code, facts: Facts) -> None:
    assert outcome(LAB[number], facts, value, "a", {}).code is code


def test_where_every_decimal_counts_every_decimal_is_shown(facts: Facts) -> None:
    assert outcome(LAB["4.1"], facts, 4.15625, "a", {}).shown == "4.15625 bits"
