"""Every kind on a toy exercise: right passes, blank is not attempted, each mistake is told."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn_by
from hypothesis import strategies as st

from labkit.contract import Code, Status
from labkit.contract.answer import encode
from labkit.contract.plain import MAX_NODES, encode_plain
from labkit.contract.probe import Probe, run_probe
from labkit.exercises import Exercise, Facts, givens_for, judge, practice_seeds, probe_for
from labkit.exercises.kinds.arrays import clear_of_ties
from tests.exercises import toy_answers as toys
from tests.exercises.toy_exercises import EXERCISES, MISTAKES, RECORDS, said
from tests.exercises.toy_machines import (
    ALLOCATOR,
    ALLOCATOR_EXERCISE,
    BATCHER,
    BATCHER_EXERCISE,
    made,
)


@pytest.mark.parametrize("number", EXERCISES)
def test_the_right_answer_passes_and_the_stub_is_not_attempted(number: str, facts: Facts) -> None:
    exercise = EXERCISES[number]
    givens = givens_for(exercise, facts, learner="ann", records=RECORDS)
    passed = said(exercise, facts, exercise.reference(givens))
    assert passed.passed, passed
    space: dict[str, Any] = {}
    exec(exercise.stub, space)
    blank = said(exercise, facts, space[exercise.answer_name])
    assert blank.status is Status.NOT_ATTEMPTED, blank


@pytest.mark.parametrize(("number", "code"), MISTAKES)
def test_every_mistake_gets_its_own_sentence(number: str, code: Code, facts: Facts) -> None:
    exercise = EXERCISES[number]
    givens = givens_for(exercise, facts, learner="ann", records=RECORDS)
    mistake = next(m for m in exercise.mistakes if m.code is code)
    result = said(exercise, facts, mistake.value(givens))
    assert (result.status, result.code) == (Status.FAILED, code), result
    assert result.message == mistake.says


# --- classes ----------------------------------------------------------------------------------


def test_the_operation_that_breaks_a_rule_is_named_with_what_led_to_it(facts: Facts) -> None:
    lost = next(m for m in ALLOCATOR_EXERCISE.mistakes if m.code is Code.BLOCK_LEAKED).value
    result = said(ALLOCATOR_EXERCISE, facts, lost({}))  # type: ignore[arg-type]
    assert "operation 3 of 6, alloc()" in result.shown
    assert "alloc('a', 20) · free('a') · alloc('b', 16) → None" in result.shown


def test_a_leak_that_only_a_long_run_shows_is_found_at_its_shortest_prefix(facts: Facts) -> None:
    """Every fiftieth free keeps its blocks: no short script sees it, two thousand calls do."""
    rare = ALLOCATOR.replace(
        "        self.free_blocks.extend(back)\n",
        "        self.n = getattr(self, 'n', 0) + 1\n"
        "        self.free_blocks.extend(back if self.n % 50 else [])\n",
    )
    result = said(ALLOCATOR_EXERCISE, facts, made(rare, "BlockAllocator"))
    assert (result.status, result.code) == (Status.FAILED, Code.BLOCK_LEAKED), result
    found = [_breach_at(ALLOCATOR_EXERCISE, facts, rare, seed) for seed in range(5)]
    at = int(result.shown.split("operation ")[1].split(" of ")[0].replace(",", ""))
    assert at == min(found)


def _breach_at(exercise: Exercise, facts: Facts, source: str, n: int) -> int:
    from labkit.exercises.kinds.trace import first_breach

    probe = probe_for(exercise, facts, [practice_seeds(exercise, "ann")[n]])
    assert probe is not None
    results = run_probe(made(source, exercise.answer_name), probe)
    start = max(i for i, (method, _) in enumerate(probe.calls) if method == "new")
    broken = first_breach(exercise.kind.watcher, probe.calls[start:], results[start:])  # type: ignore[attr-defined]
    assert broken is not None
    return broken.at


def test_a_hidden_script_is_never_shown(facts: Facts) -> None:
    exercise = ALLOCATOR_EXERCISE
    probe = probe_for(exercise, facts, [b"hidden"])
    assert probe is not None
    hidden = dataclasses.replace(probe, hidden=True)
    wrong = exercise.mistakes[0].value({})  # type: ignore[arg-type]
    results = run_probe(wrong, hidden)
    result = judge(exercise, facts, encode(wrong), learner="a", probe=hidden, results=results)
    assert result.shown == "breaks at operation 3 of 6, alloc()"


@pytest.mark.parametrize(
    ("returned", "code", "word"),
    [
        ("1 / 0", Code.RAISES, "ZeroDivisionError"),
        ("float('nan')", Code.TYPE, "NaN"),
        ("object()", Code.TYPE, "object"),
        ("(i for i in range(3))", Code.TYPE, "generator"),
        ("range(10**9)", Code.TYPE, "more than a trace"),
        ("[[[[[[1]]]]]]", Code.TYPE, "more than a trace"),
        ("'abc'", Code.BLOCK_COUNT, ""),
        ("7", Code.TYPE, "docstring"),
        ("{'a': 1}", Code.OVER_BUDGET, ""),
        ("[None]", Code.OVER_BUDGET, ""),
        ("[[0]]", Code.OVER_BUDGET, ""),
        ("[True]", Code.OVER_BUDGET, ""),
    ],
)
def test_strange_results_are_told_and_never_raise(
    returned: str, code: Code, word: str, facts: Facts
) -> None:
    source = ALLOCATOR.replace("        return taken", f"        return {returned}")
    result = said(ALLOCATOR_EXERCISE, facts, made(source, "BlockAllocator"))
    assert result.status is Status.FAILED
    if returned != "[True]":  # True is an int to Python, and block 1
        assert result.code is code, result
    assert word in result.message


def test_a_class_that_cannot_be_built_or_lacks_a_method_is_told(facts: Facts) -> None:
    class NoStep:
        def __init__(self, slots: int) -> None:
            self.slots = slots

        def submit(self, name: str, tokens: int) -> None:
            return None

    result = said(BATCHER_EXERCISE, facts, NoStep)
    assert (result.code, "AttributeError" in result.message) == (Code.RAISES, True)
    result = said(
        BATCHER_EXERCISE, facts, made(BATCHER.replace("self, slots)", "self)"), "Batcher")
    )
    assert result.code is Code.RAISES
    assert "The constructor raises TypeError" in result.message
    result = said(BATCHER_EXERCISE, facts, made(BATCHER, "Batcher")(4))
    assert (result.code, "without brackets" in result.message) == (Code.TYPE, True)


@drawn_by(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
        max_leaves=30,
    )
)
def test_plain_entries_are_json_or_a_word(value: Any) -> None:
    import json

    wire = encode_plain(value)
    assert wire["kind"] in ("plain", "not-finite", "too-large", "other")
    assert json.loads(json.dumps(wire, allow_nan=False)) == wire


def test_plain_entries_of_learners_own_objects() -> None:
    class Liar(list[int]):
        def __iter__(self) -> Any:
            while True:
                yield 1

    assert encode_plain(Liar())["kind"] == "too-large"
    assert encode_plain({3, 1, 2})["value"] == [1, 2, 3]
    assert encode_plain((np.int64(3), np.array([1, 2])))["value"] == [3, [1, 2]]
    assert encode_plain({1: "a"})["value"] == {"1": "a"}
    assert encode_plain(np.zeros(MAX_NODES + 1))["kind"] == "too-large"
    assert encode_plain(...)["kind"] == "blank"


def test_an_endless_stream_of_long_results_is_cut(facts: Facts) -> None:
    class Flood:
        def step(self) -> list[int]:
            return list(range(4000))

    probe = Probe("90.2", (("new", ()), *[("step", ())] * 3000), plain=True)
    kinds = [result["kind"] for result in run_probe(Flood, probe)]
    assert kinds[-1] == "too-large"
    assert kinds.count("plain") < 600


# --- arrays -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ((".astype(np.int8)", ""), Code.DTYPE),
        ((".astype(np.int8)", ".astype(np.int16)"), Code.DTYPE),
        (("return q, scale", "return q"), Code.TYPE),
        (("return q, scale", "return q, scale * np.nan"), Code.NOT_FINITE),
        (("return q, scale", "return q[:-1], scale"), Code.TYPE),
        (("return q, scale", "q[0, 0] ^= 1\n    return q, scale"), Code.ERROR_BOUND),
        (("return q, scale", "return None"), Code.RETURNS_NONE),
    ],
)
def test_wrong_arrays_are_told_what_they_are(
    change: tuple[str, str], code: Code, facts: Facts
) -> None:
    result = said(toys.INT8_EXERCISE, facts, made(toys.INT8.replace(*change), "quantize"))
    assert (result.status, result.code) == (Status.FAILED, code), result


def test_integers_are_exact_and_scales_forgive_the_last_bit(facts: Facts) -> None:
    rounded = toys.INT8.replace("return q, scale", "return q, scale.astype(np.float32)[:, 0]")
    assert said(toys.INT8_EXERCISE, facts, made(rounded, "quantize")).passed
    one_off = toys.INT8.replace("return q, scale", "q[3, 3] += 1\n    return q, scale")
    assert not said(toys.INT8_EXERCISE, facts, made(one_off, "quantize")).passed


@drawn_by(st.integers(0, 1000))
def test_clear_of_ties_has_no_ties_and_moves_little(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = rng.uniform(0.01, 2, (5, 1))
    w = rng.standard_normal((5, 40)) * 3
    moved = clear_of_ties(w, scale)
    steps = np.abs(moved / scale)
    assert np.all(np.abs(steps - np.trunc(steps) - 0.5) >= 0.0099)
    assert np.max(np.abs(moved - w) / scale) <= 0.031
    assert np.array_equal(np.round(moved / scale), np.floor(moved / scale + 0.5))


def test_a_shape_may_have_axes_of_length_one_but_not_other_sizes(facts: Facts) -> None:
    wide = toys.COARSE.replace("* step\n", "* step + np.zeros((1, 1, 1))\n")
    assert said(toys.PROPERTY_EXERCISE, facts, made(wide, "snap")).passed
    flat = toys.COARSE.replace("* step\n", "* step * np.ones((2, 1, 1))\n")
    assert said(toys.PROPERTY_EXERCISE, facts, made(flat, "snap")).code is Code.SHAPE


@pytest.mark.parametrize(
    "wire",
    [
        {"kind": "array", "dtype": "<f8", "shape": [10**400], "b64": "AAAA"},
        {"kind": "array", "dtype": "<f8", "shape": [2, -1], "b64": "AAAA"},
        {"kind": "array", "dtype": "O8", "shape": [1], "b64": "AAAAAAAA"},
        {"kind": "array", "dtype": "<f8", "shape": [True], "b64": "AAAAAAAAAAA="},
        {"kind": "array", "dtype": "<f8", "shape": [0], "b64": ""},
        {"kind": "list", "items": [{"kind": "array"}, 3]},
        {"kind": "list", "items": None},
        {"kind": "object", "fields": 3},
        {"kind": "plain", "value": [1]},
    ],
)
def test_forged_results_fail_and_never_raise(wire: dict[str, Any], facts: Facts) -> None:
    for exercise in (toys.INT8_EXERCISE, toys.PROPERTY_EXERCISE, ALLOCATOR_EXERCISE):
        probe = probe_for(exercise, facts, practice_seeds(exercise, "a"))
        assert probe is not None
        results = [wire] * len(probe.calls)
        result = judge(
            exercise, facts, {"kind": "function"}, learner="a", probe=probe, results=results
        )
        assert result.status is Status.FAILED


# --- memory -----------------------------------------------------------------------------------


def test_memory_is_measured_per_call_and_far_from_the_limit(facts: Facts) -> None:
    """What the right way takes is less than half of the limit, the wrong way more than twice."""
    from labkit.contract.heap import peak_of
    from labkit.contract.probe import _call

    exercise = toys.ATTENTION_EXERCISE
    probe = probe_for(exercise, facts, practice_seeds(exercise, "ann"))
    assert probe is not None
    limit = toys.ATTENTION_EXERCISE.kind.memory  # type: ignore[attr-defined]
    args = probe.calls[-1][1]
    right = made(toys.ATTENTION, "attention")
    wrong = made(toys.ATTENTION_MISTAKES[Code.MEMORY_LIMIT], "attention")
    _, little = peak_of(lambda: _call(right, right, "", args), limit)
    _, much = peak_of(lambda: _call(wrong, wrong, "", args), limit)
    assert little < limit / 2
    assert much > 2 * limit


def test_without_a_sentence_of_its_own_the_limit_is_named(facts: Facts) -> None:
    exercise = dataclasses.replace(toys.ATTENTION_EXERCISE, mistakes=())
    wrong = made(toys.ATTENTION_MISTAKES[Code.MEMORY_LIMIT], "attention")
    result = said(exercise, facts, wrong)
    assert result.code is Code.MEMORY_LIMIT
    assert "5,120 tokens" in result.message
    assert "64 MiB" in result.message
