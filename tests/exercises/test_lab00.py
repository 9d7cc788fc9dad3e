"""Lab 00: five ungraded questions; right answers pass, every known mistake is told what it is."""

from __future__ import annotations

from typing import Any

import pytest

from labkit.contract import Outcome, Status
from labkit.contract.answer import encode
from labkit.exercises import Exercise, Facts, Mistake, givens_for, judge, load
from labkit.exercises.draws import collisions

LAB = load("00")
ALL = [(number, mistake) for number, exercise in LAB.items() for mistake in exercise.mistakes]


def outcome(exercise: Exercise, facts: Facts, answer: Any) -> Outcome:
    return judge(
        exercise,
        facts,
        encode(answer),
        learner="ada",
        records={},
        probe=None,
        results=None,
    )


def solved(exercise: Exercise, facts: Facts, source: str) -> Any:
    names: dict[str, Any] = {"g": givens_for(exercise, facts, learner="ada")}
    exec(source, names)
    return names[exercise.answer_name]


def test_there_are_five_and_none_is_graded() -> None:
    assert list(LAB) == ["0.1", "0.2", "0.3", "0.4", "0.5"]
    assert LAB.max_points == 0
    assert {exercise.lab for exercise in LAB.values()} == {"00"}


@pytest.mark.parametrize("number", LAB)
def test_the_solution_passes_and_the_blank_is_not_attempted(number: str, facts: Facts) -> None:
    exercise = LAB[number]
    passed = outcome(exercise, facts, solved(exercise, facts, exercise.solution))
    assert passed.passed, passed
    assert passed.points == passed.max_points == 0
    assert "[ungraded]" in str(passed)
    blank = outcome(exercise, facts, solved(exercise, facts, exercise.stub))
    assert blank.status is Status.NOT_ATTEMPTED


@pytest.mark.parametrize(("number", "mistake"), ALL, ids=lambda x: getattr(x, "code", x))
def test_every_mistake_is_told_its_own_sentence(
    number: str, mistake: Mistake, facts: Facts
) -> None:
    exercise = LAB[number]
    told = outcome(exercise, facts, mistake.value(givens_for(exercise, facts, learner="ada")))
    assert told.status is Status.FAILED
    assert told.code is mistake.code
    assert mistake.says in told.message


@pytest.mark.parametrize("number", LAB)
def test_no_two_answers_look_alike(number: str, facts: Facts) -> None:
    exercise = LAB[number]
    assert collisions(exercise, givens_for(exercise, facts, learner="ada")) == []


def test_the_function_in_the_statement_gives_the_reference(facts: Facts) -> None:
    exercise = LAB["0.1"]
    code = exercise.statement.split("```python\n")[1].split("```")[0].strip()
    *function, call = code.splitlines()
    names: dict[str, Any] = {}
    exec("\n".join(function), names)
    right = eval(call, names)
    assert right == exercise.reference(givens_for(exercise, facts, learner="ada"))


def test_the_same_memory_in_both_units_passes(facts: Facts) -> None:
    """GiB written as such are the same answer, and a bare number is read in GB."""
    exercise = LAB["0.2"]
    gib = givens_for(exercise, facts, learner="ada").memory_gib
    assert outcome(exercise, facts, f"{gib} GiB").passed
    assert not outcome(exercise, facts, gib).passed
    assert exercise.reference(givens_for(exercise, facts, learner="ada")) == pytest.approx(
        24, rel=1e-4
    )


def test_the_dot_is_half_way(facts: Facts) -> None:
    g = givens_for(LAB["0.5"], facts, learner="ada")
    right = LAB["0.5"].reference(g)
    assert float(right) == pytest.approx((g.left * g.right) ** 0.5, rel=0.01)
