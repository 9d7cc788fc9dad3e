"""Calls on functions and classes: instances, recipes of arrays, peaks of memory, and JSON."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from labkit.contract.answer import encode, is_blank
from labkit.contract.arrays import argument, drawn
from labkit.contract.heap import peak_of
from labkit.contract.probe import Probe, results_of, run_probe

MIB = 1 << 20


class Counter:
    def __init__(self, start: int) -> None:
        self.value = 10 // start

    def add(self, amount: int) -> int:
        self.value += amount
        return self.value


def test_each_new_builds_an_instance_for_the_calls_that_follow() -> None:
    calls: Any = (("new", (1,)), ("add", (1,)), ("add", (1,)), ("new", (5,)), ("add", (1,)))
    results = run_probe(Counter, Probe("9.1", calls, plain=True))
    assert [r["kind"] for r in results] == ["new", "plain", "plain", "new", "plain"]
    assert [r.get("value") for r in results] == [None, 11, 12, None, 3]


def test_after_a_constructor_that_raised_no_older_instance_answers() -> None:
    calls: Any = (("new", (1,)), ("new", (0,)), ("add", (1,)), ("new", (2,)), ("add", (1,)))
    results = run_probe(Counter, Probe("9.1", calls))
    assert results[1]["ename"] == "ZeroDivisionError"
    assert results[2]["kind"] == "raised"
    assert results[4]["number"] == 6


def test_results_are_made_one_by_one() -> None:
    asked: list[int] = []
    results = results_of(asked.append, Probe("9.1", (("", (1,)), ("", (2,)))))
    next(results)
    assert asked == [1]


def test_what_travels_is_read_back_and_hidden_does_not_travel() -> None:
    probe = Probe("9.1", (("", (drawn(3, (2,)),)),), plain=True, memory=5, hidden=True)
    data = probe.to_json()
    assert "hidden" not in data
    assert Probe.from_json(data) == Probe("9.1", probe.calls, plain=True, memory=5)
    assert Probe.from_json({"id": "9.1", "calls": []}) == Probe("9.1", ())


def test_a_recipe_gives_the_same_array_every_time() -> None:
    recipe = drawn(7, (3, 4), dtype="float32", scale=2.0)
    one, other = argument(recipe), argument(recipe)
    assert one.dtype == np.float32
    assert one.shape == (3, 4)
    assert np.array_equal(one, other)
    assert 0.5 < float(argument(drawn(1, (10_000,), scale=2.0)).std()) / 2 < 1.5
    assert argument({"kind": "something"}) == {"kind": "something"}
    assert np.array_equal(argument(encode(np.arange(3))), np.arange(3))


def test_the_peak_is_the_calls_own_and_tracing_is_left_as_it_was() -> None:
    held = np.ones(4 * MIB)
    made, peak = peak_of(lambda: np.ones(MIB).sum(), 1)
    assert made == MIB
    assert 8 * MIB <= peak < 9 * MIB
    assert not tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        assert peak_of(lambda: np.ones(MIB).size, 1)[1] >= 8 * MIB
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()
    with pytest.raises(ZeroDivisionError):
        peak_of(lambda: 1 / 0, 1)
    assert not tracemalloc.is_tracing()
    assert peak_of(lambda: held.size, None) == (4 * MIB, 0)


def test_a_call_over_the_limit_is_told_as_that() -> None:
    def greedy(n: int) -> float:
        return float(np.ones(n).sum())

    probe = Probe("9.1", (("", (10,)), ("", (MIB,))), memory=MIB)
    assert [r["kind"] for r in run_probe(greedy, probe)] == ["quantity", "memory"]
    unmeasured = list(results_of(greedy, probe, measured=False))
    assert [r["kind"] for r in unmeasured] == ["quantity", "quantity"]


def test_memory_errors_of_any_library_have_one_name() -> None:
    def too_much() -> Any:
        return np.ones(1 << 50)

    assert run_probe(too_much, Probe("9.1", (("", ()),)))[0]["ename"] == "MemoryError"


@pytest.mark.parametrize(
    ("answer", "blank"),
    [
        (..., True),
        ({"a": ..., "b": ...}, True),
        ({"a": ..., "b": 1}, False),
        ({}, False),
        ([...], False),
        (None, False),
    ],
)
def test_a_dict_of_blanks_is_blank(answer: Any, blank: bool) -> None:
    assert is_blank(encode(answer)) is blank
