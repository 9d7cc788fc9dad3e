"""Predictions: what is noted, what is refused, and what the end of a lab says about them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from labkit.contract import LabkitError, Q, events
from labkit.contract.paths import EVENTS_FILE, LEARNER_FILE, STATE_DIR
from labkit.course import prediction
from labkit.course.lab import Lab
from labkit.exercises.kinds import Quantity
from tests.course.toy import TOYS, exercise, material

PERCENT = exercise("1.7", kind=Quantity("%"), reference=lambda g: 32, mistakes=())
GIGABYTES = TOYS[0]
CHOICE = TOYS[3]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / STATE_DIR).mkdir()
    (tmp_path / STATE_DIR / LEARNER_FILE).write_text('[learner]\nid = "ada"\n', "utf-8")
    return tmp_path


def open_lab(workspace: Path, *exercises: Any) -> Lab:
    return Lab("01", workspace=workspace, material=material(*exercises), show=lambda _thing: None)


def words(thing: object) -> str:
    return " ".join(str(thing).split())


def noted(workspace: Path) -> int:
    kept = events.read(workspace / STATE_DIR / EVENTS_FILE)
    return sum(event.what == "predict" for event in kept)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (60, "60 %"),
        (1, "1 %"),
        (1.5, "1.5 %"),
        (0, "0 %"),
        ("60 %", "60 %"),
        ("60", "60 %"),
        (Q(0.6, "x"), "60 %"),
        ("0.6 %", "0.6 %"),
        (Q(0.6, "%"), "0.6 %"),
    ],
)
def test_a_number_is_noted_as_it_was_understood(workspace: Path, value: Any, said: str) -> None:
    card = open_lab(workspace, PERCENT).predict("1.7", value, confidence=20)
    assert f"You say {said}, and are 20 % sure to be within a factor of 1.25." in words(card)
    assert noted(workspace) == 1


@pytest.mark.parametrize(("value", "meant"), [(0.6, "60"), ("0.57", "57"), (0.005, "0.5")])
def test_a_fraction_where_percent_are_asked_is_asked_about_and_not_noted(
    workspace: Path, value: Any, meant: str
) -> None:
    card = open_lab(workspace, PERCENT).predict("1.7", value, confidence=60)
    assert f"Did you mean {meant} %? Run the cell again with {meant}." in words(card)
    assert "Not noted" in str(card)
    assert noted(workspace) == 0


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_every_bare_fraction_of_a_percent_is_doubted_and_of_gigabytes_never(value: float) -> None:
    assert prediction.fraction(PERCENT, prediction.read(PERCENT, value)) == value
    assert prediction.fraction(GIGABYTES, prediction.read(GIGABYTES, value)) is None


@pytest.mark.parametrize(
    ("spec", "value", "says"),
    [
        (PERCENT, "about 60", "'about 60' is not one number with a unit: write it like 60,"),
        (PERCENT, "", "'' is not one number with a unit"),
        (PERCENT, "60 percent", "'percent' is not a unit that is known here"),
        (PERCENT, "9**9**9 %", "is not one number with a unit"),
        (GIGABYTES, "60 GB/s", "asked in GB; GB/s measures something else"),
        (GIGABYTES, Q(1e308, "TB"), "beyond any number in GB"),
        (GIGABYTES, float("nan"), "a number or a text, not nan"),
        (GIGABYTES, [60], "a number or a text, not list"),
        (CHOICE, "z", 'is one of "a", "b"'),
        (CHOICE, 3, 'is one of "a", "b"'),
    ],
)
def test_what_is_no_prediction_is_refused_in_one_sentence(
    workspace: Path, spec: Any, value: Any, says: str
) -> None:
    with pytest.raises(LabkitError) as raised:
        prediction.read(spec, value)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
    notice = open_lab(workspace, spec).predict(spec.id, value, confidence=60)
    assert says in words(notice)
    assert noted(workspace) == 0


@given(st.floats(5, 100))
def test_any_confidence_from_5_to_100_is_taken(value: float) -> None:
    assert abs(prediction.percent(value) - value) <= 0.5


@given(st.one_of(st.integers(), st.floats(), st.text(), st.booleans(), st.none()))
def test_any_other_confidence_is_refused_in_one_sentence(value: Any) -> None:
    assume(isinstance(value, bool) or not isinstance(value, (int, float)) or not 5 <= value <= 100)
    with pytest.raises(LabkitError, match="Confidence is a percentage from 5"):
        prediction.percent(value)


def test_a_blank_prediction_of_an_option_shows_no_number(workspace: Path) -> None:
    said = words(open_lab(workspace).predict("1.4"))
    for option in ('"a"', '"b"'):
        assert option in said
    assert "12.5" not in said
    assert "12.5" in words(open_lab(workspace, PERCENT).predict("1.7"))


def test_an_option_is_a_prediction_without_a_factor(workspace: Path) -> None:
    lab = open_lab(workspace)
    assert "You say b, and are 40 % sure." in words(lab.predict("1.4", "b", confidence=40))
    right = CHOICE.reference(None)
    assert f"You predicted b and found {right} instead." in lab.check("1.4", right).next
    assert f"1.4: you said b, 40 % sure; found {right}: no." in words(lab.progress())


def test_an_ungraded_lab_that_asks_for_no_prediction_does_not_miss_one(workspace: Path) -> None:
    ungraded = replace(PERCENT, points=0)
    lab = open_lab(workspace, ungraded)
    assert "prediction" not in words(lab.progress()).lower()
    lab.predict("1.7", 50, confidence=60)
    assert "1.7: you said 50 %" in words(lab.progress())


def test_the_end_of_a_lab_shows_each_prediction_against_what_was_found(workspace: Path) -> None:
    lab = open_lab(workspace, GIGABYTES, PERCENT)
    assert "You made none in this lab." in words(lab.progress())
    lab.predict("1.7", 50, confidence=60)
    said = "1.7: you said 50 %, 60 % sure, within a factor of 1.25"
    assert f"{said}; not found yet." in words(lab.progress())
    lab.check("1.7", 32)
    sheet = open_lab(workspace, GIGABYTES, PERCENT).progress()
    assert f"{said}; found 32 %: no." in words(sheet)
    assert "1 of your predictions has an outcome so far: 4 more," in words(sheet)
    assert "How sure you were" not in str(sheet)
    html = sheet._repr_mimebundle_()["text/html"]
    assert said in html
    assert html.count("<table") == 1


def test_from_five_outcomes_on_the_calibration_is_a_table(workspace: Path) -> None:
    five = [exercise(f"1.{n}", mistakes=()) for n in range(1, 6)]
    lab = open_lab(workspace, *five)
    for n, spec in enumerate(five):
        lab.predict(spec.id, 80 if n else 3, confidence=90)
        lab.check(spec.id, 80)
    sheet = lab.progress()
    assert "90 to 100 %" in str(sheet)
    assert "80 %" in str(sheet)
    assert "You said 90 % on average and were right 4 of 5: that fits." in words(sheet)
    assert sheet._repr_mimebundle_()["text/html"].count("<table") == 2
