"""Answers as people write them: units, texts, wrong types, wrong magnitudes, wrong functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given as given_values
from hypothesis import strategies as st

from labkit.contract import Code, LabkitError, Outcome, Q, Status
from labkit.contract.answer import encode
from labkit.contract.probe import run_probe
from labkit.exercises import Facts, judge, load, practice_seeds, probe_for
from labkit.exercises.kinds.quantity import remark
from labkit.exercises.units import DimensionError, UnitError, convert, parse

LAB = load("1")


def check(number: str, answer: Any, facts: Facts) -> Outcome:
    exercise = LAB[number]
    probe = probe_for(exercise, facts, practice_seeds(exercise, "a"))
    results = run_probe(answer, probe) if probe and callable(answer) else None
    return judge(exercise, facts, encode(answer), learner="a", probe=probe, results=results)


@pytest.mark.parametrize(
    "answer",
    [
        39.97,
        Q(39.97, "tok/s"),
        "39.97 tok/s",
        "39.97",
        "0.03997 ktok/s",
        Q(39.97, "tokens/s"),
        Q(39.97, "1/s"),
        Q(2398.4, "tok/min"),
        np.float32(39.97),
        np.array(39.97),
    ],
)
def test_many_ways_to_write_the_same_answer(answer: Any, facts: Facts) -> None:
    assert check("1.4", answer, facts).passed


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("39.97 GB/s", Code.DIMENSION),
        ("39.97 furlongs", Code.UNIT_UNKNOWN),
        ("about forty", Code.NOT_A_NUMBER),
        ("9**9**9**9 tok/s", Code.NOT_A_NUMBER),
        ("600e9/(2*7.5e9)", Code.NOT_A_NUMBER),
        (math.nan, Code.NOT_FINITE),
        (math.inf, Code.NOT_FINITE),
        (10**400, Code.NOT_FINITE),
        (-39.97, Code.SIGN),
        (0, Code.MAGNITUDE),
        (39970.0, Code.PREFIX),
        (40.8, Code.CLOSE),
        (45.0, Code.MAGNITUDE),
        (400.0, Code.MAGNITUDE),
        (0.025017, Code.INVERTED),
        (None, Code.RETURNS_NONE),
        ([39.97], Code.TYPE),
        (np.array([39.97, 1.0]), Code.TYPE),
        (True, Code.TYPE),
        (object(), Code.TYPE),
        ({"a": 1}, Code.TYPE),
        (print, Code.TYPE),
    ],
)
def test_unusable_answers_get_the_most_useful_remark(answer: Any, code: Code, facts: Facts) -> None:
    result = check("1.4", answer, facts)
    assert result.status is Status.FAILED
    assert result.code is code
    assert result.points == 0
    assert "39.97" not in result.message  # never the right number


def test_what_was_read_is_shown_with_its_conversion(facts: Facts) -> None:
    assert check("1.4", "0.04 ktok/s", facts).shown == "0.04 ktok/s = 40 tok/s"


@given_values(st.text(max_size=60))
def test_any_text_is_judged_without_raising(text: str) -> None:
    facts = Facts.load()
    assert check("1.2", text, facts).status in (Status.PASSED, Status.FAILED)


@given_values(st.floats(min_value=1e-6, max_value=1e15), st.sampled_from(["GB", "GiB", "MB", "B"]))
def test_conversion_there_and_back(value: float, unit: str) -> None:
    assert convert(convert(value, unit, "B"), "B", unit) == pytest.approx(value, rel=1e-12)


def test_gb_is_not_gib_and_flops_is_a_rate() -> None:
    assert convert(12.55, "GiB", "GB") == pytest.approx(13.4755, rel=1e-4)
    assert convert(70, "TFLOPS", "FLOP/s") == 70e12
    assert convert(70, "TFLOPs", "FLOP") == 70e12
    assert convert(295, "FLOPS/byte", "FLOP/B") == 295
    assert convert(3.64, "times", "x") == 3.64
    assert convert(30.3, "users", "sequences") == 30.3
    with pytest.raises(DimensionError):
        convert(1, "GB/s", "GB")
    with pytest.raises(UnitError, match="GiB"):
        parse("Gib")


# --- functions --------------------------------------------------------------------------------


def test_a_list_of_results_counts_like_an_array(facts: Facts) -> None:
    def roofline(ai: Any, peak: float, bw: float) -> Any:
        return [min(peak, x * bw) for x in ai] if hasattr(ai, "__len__") else min(peak, ai * bw)

    assert check("1.7", roofline, facts).passed


@pytest.mark.parametrize(
    ("function", "code", "word"),
    [
        (lambda ai, peak, bw: min(peak, ai * bw), Code.SCALAR_ONLY, "np.minimum"),
        (lambda ai, peak, bw: None, Code.RETURNS_NONE, "return"),
        (lambda ai, peak, bw: 1 / 0, Code.RAISES, "ZeroDivisionError"),
        (lambda ai, peak: peak, Code.RAISES, "TypeError"),
        (lambda ai, peak, bw: 7.0e13, Code.TYPED_CONSTANT, "arguments"),
        (lambda ai, peak, bw: 0.5 * np.minimum(peak, np.asarray(ai) * bw), Code.OTHER, "2 times"),
        (lambda ai, peak, bw: "fast", Code.TYPE, "text"),
        # What an array or a zero breaks must not hide the mistake behind it.
        (lambda ai, peak, bw: max(peak, ai * bw), Code.WRONG_ROOF, "higher"),
        (lambda ai, peak, bw: min(peak, bw / ai), Code.INVERTED, "divided"),
        (lambda ai, peak, bw: [] if not min(peak, ai * bw) else None, Code.RETURNS_NONE, "return"),
        (lambda ai, peak, bw: peak if ai * bw > peak else ai * bw, Code.SCALAR_ONLY, "np.minimum"),
    ],
)
def test_wrong_functions(function: Any, code: Code, word: str, facts: Facts) -> None:
    result = check("1.7", function, facts)
    assert result.status is Status.FAILED
    assert (result.code, word in result.message) == (code, True), result


def test_calling_the_function_instead_of_handing_it_in(facts: Facts) -> None:
    result = check("1.7", 4.2e13, facts)
    assert result.code is Code.TYPE
    assert "without brackets" in result.message


def test_a_rounded_result_is_a_right_result(facts: Facts) -> None:
    def rounded(p: float, w: float, b: float, g: float, t: float) -> float:
        return round(b / max(p * w / (g * 1e9), 2 * p * b / (t * 1e12)), 1)

    def cut(*numbers: float) -> float:
        return int(rounded(*numbers) / 3) * 3

    assert check("1.11", rounded, facts).passed
    assert "rounded" in check("1.11", cut, facts).message


def test_q_does_not_calculate_and_says_so() -> None:
    for wrong in (lambda: Q(1, "GB") / Q(2, "s"), lambda: 2 * Q(1, "GB"), lambda: float(Q(1, "B"))):
        with pytest.raises(LabkitError, match="plain numbers"):
            wrong()


@pytest.mark.parametrize(
    ("text", "word"), [("70e12/600e9", "quotes"), ("about 117", "12.5 FLOP/B")]
)
def test_text_that_cannot_be_read_is_told_how_to_write_it(
    text: str, word: str, facts: Facts
) -> None:
    assert word in check("1.1", text, facts).message


def test_half_right_says_which_kind_of_call_is_wrong(facts: Facts) -> None:
    def at_zero(ai: Any, peak: float, bw: float) -> Any:
        return np.where(np.asarray(ai) == 0, peak, np.minimum(peak, np.asarray(ai) * bw))

    result = check("1.7", at_zero, facts)
    assert "intensity 0" in result.message


def test_feedback_on_functions_holds_no_number_of_a_draw(facts: Facts) -> None:
    exercise = LAB["1.11"]
    probe = probe_for(exercise, facts, [b"hidden-1", b"hidden-2"])
    assert probe is not None
    wrong = [lambda *a: 1.0, lambda *a: a[0], lambda p, w, b, g, t: b / (p * w / g)]
    for function in wrong:
        results = run_probe(function, probe)
        result = judge(exercise, facts, encode(function), learner="a", probe=probe, results=results)
        for _, args in probe.calls:
            for arg in args:
                if arg > 100:
                    assert f"{arg:g}" not in result.message
                    assert str(arg) not in result.message


def test_results_that_did_not_come_back_are_an_error_not_a_pass(facts: Facts) -> None:
    exercise = LAB["1.7"]
    probe = probe_for(exercise, facts, [b"x"])
    for results in (None, [], [{"kind": "quantity", "number": 1.0}]):
        result = judge(
            exercise, facts, {"kind": "function"}, learner="a", probe=probe, results=results
        )
        assert result.status is Status.ERROR


@given_values(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
        max_leaves=8,
    ),
    st.sampled_from(["quantity", "text", "figure", "record", "function", "array", "list", "?"]),
)
def test_forged_messages_are_judged_without_raising(value: Any, kind: str) -> None:
    facts = Facts.load()
    wire = {"kind": kind, "number": value, "text": value, "axes": value, "record": value}
    for number in ("1.4", "1.7", "1.8", "1.12", "1.14"):
        result = judge(LAB[number], facts, wire, learner="a", records={})
        assert not result.passed


@pytest.mark.parametrize("unit", ["", "x", "%", "GB", "tok/s"])
@pytest.mark.parametrize("binary", [2**30 / 1e9, 2**20 / 1e6, 1024 / 1000])
def test_only_where_bytes_may_be_miscounted_is_gb_taken_for_gib(unit: str, binary: float) -> None:
    told = {remark(2.0 * binary, 2.0, unit)[0], remark(2.0 / binary, 2.0, unit)[0]}
    assert (told == {Code.GB_AS_GIB}) is (unit in ("GB", "tok/s"))
    assert told == {Code.GB_AS_GIB} or Code.GB_AS_GIB not in told


@pytest.mark.parametrize(
    ("value", "small"), [(2.08, True), (1.85, True), (2.3, False), (2.7, False), (1.4, False)]
)
def test_a_third_too_much_is_nothing_small(value: float, small: bool) -> None:
    assert ("Something small" in remark(value, 2.0, "x")[1]) is small
