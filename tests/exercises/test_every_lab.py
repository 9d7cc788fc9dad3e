"""What the course asks of every lab of the curriculum, as its exercises are declared.

That each can be solved, left blank and failed in every known way, on twenty learners' numbers, is
proven in tests/course/test_shipped; from open to grade it is tests/notebooks/test_every_lab.
"""

from __future__ import annotations

import pytest

from labkit.contract import Givens
from labkit.course.manifest import load_manifest
from labkit.course.resources import resources
from labkit.exercises import Exercise, Facts, Tier, givens_for, load
from labkit.exercises.draws import collisions
from labkit.exercises.registry import LabExercises

NUMBERS = [plan.number for plan in load_manifest(resources().manifest).labs]
GRADED = [number for number in NUMBERS if load(number).max_points]
EXERCISES = [
    pytest.param(exercise, id=f"{number}-{exercise.id}")
    for number in NUMBERS
    for exercise in load(number).values()
]
LEARNERS = [f"learner-{n}" for n in range(20)]


@pytest.mark.parametrize("exercise", EXERCISES)
def test_codes_and_sentences_are_not_used_twice_in_one_exercise(exercise: Exercise) -> None:
    assert len({m.code for m in exercise.mistakes}) == len(exercise.mistakes)
    assert len({m.says for m in exercise.mistakes}) == len(exercise.mistakes)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_a_blank_holds_no_line_of_its_solution_that_answers(exercise: Exercise) -> None:
    assert "..." in exercise.stub
    compile(exercise.stub, exercise.id, "exec")
    assert exercise.answer_name in exercise.stub


@pytest.mark.parametrize("lab", [load(number) for number in GRADED], ids=GRADED)
def test_the_load_stays_within_the_course_rules(lab: LabExercises) -> None:
    graded = [exercise for exercise in lab.values() if exercise.points]
    assert len(graded) <= 12
    tiers = [exercise.tier for exercise in graded]
    assert tiers.count(Tier.PERSONAL) + tiers.count(Tier.OWN) >= 3
    beyond = {e.objective for e in graded if e.tier in (Tier.TRANSFER, Tier.OWN)}
    assert {e.objective for e in graded} == beyond


@pytest.mark.parametrize("exercise", [p for p in EXERCISES if p.values[0].tier is Tier.PERSONAL])
def test_draws_that_look_alike_are_drawn_again(exercise: Exercise, facts: Facts) -> None:
    drawn: list[Givens] = [givens_for(exercise, facts, learner=who) for who in LEARNERS]
    assert all(not collisions(exercise, givens) for givens in drawn)
    assert len({repr(givens) for givens in drawn}) >= 4
