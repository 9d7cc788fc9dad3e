from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.course.calibration import BANDS, calibration, compare, tail
from labkit.course.state import Prediction, Standing


def standings(*made: tuple[int, bool | None]) -> list[Standing]:
    wire = {"kind": "quantity", "number": 1}
    return [Standing(prediction=Prediction(wire, confidence, hit)) for confidence, hit in made]


def test_six_of_ten_at_ninety_is_over_confident() -> None:
    found = calibration(standings(*[(90, True)] * 6, *[(90, False)] * 4))
    assert found.verdict == "You said 90 % and were right 6 of 10: over-confident."
    assert [(b.low, b.predictions, b.hits) for b in found.bands] == [(90, 10, 6)]


def test_nine_of_ten_at_fifty_five_is_under_confident() -> None:
    found = calibration(standings(*[(55, True)] * 9, (55, False)))
    assert "under-confident" in found.verdict


def test_a_gap_that_chance_explains_is_not_called_a_fault() -> None:
    found = calibration(standings(*[(80, True)] * 5, *[(80, False)] * 2))
    assert found.verdict == "You said 80 % on average and were right 5 of 7: that fits."


def test_too_few_are_said_to_be_too_few_and_open_ones_are_counted_apart() -> None:
    found = calibration(standings((90, False), (90, None), (60, None)))
    assert found.verdict.startswith("1 of your predictions has an outcome so far: 4 more")
    assert (found.undecided, found.missing) == (2, 4)
    assert calibration([]).bands == ()


def test_a_novice_who_is_often_right_at_twenty_is_under_confident() -> None:
    found = calibration(standings(*[(20, True)] * 4, *[(20, False)] * 2))
    assert found.verdict == "You said 20 % and were right 4 of 6: under-confident."
    assert [(b.low, b.high) for b in found.bands] == [(5, 29)]


def test_the_loudest_band_speaks() -> None:
    found = calibration(standings(*[(55, True)] * 5, *[(55, False)] * 4, *[(100, False)] * 5))
    assert found.verdict == "You said 100 % and were right 0 of 5: over-confident."


@given(st.lists(st.tuples(st.integers(5, 100), st.booleans()), max_size=60))
def test_bands_hold_every_decided_prediction_once(made: list[tuple[int, bool]]) -> None:
    found = calibration(standings(*made))
    assert sum(b.predictions for b in found.bands) == len(made)
    assert sum(b.hits for b in found.bands) == sum(hit for _, hit in made)
    for band in found.bands:
        assert (band.low, band.high) in BANDS
        assert band.low <= band.stated <= band.high


@given(st.integers(0, 30), st.integers(0, 30), st.floats(0.5, 1.0))
def test_the_tail_is_a_probability_and_symmetric(hits: int, more: int, p: float) -> None:
    n = hits + more
    value = tail(hits, n, p)
    assert 0 <= value <= 1
    assert math.isclose(value, tail(n - hits, n, 1 - p), rel_tol=1e-9, abs_tol=1e-12)


def number(value: float, unit: str = "") -> dict[str, object]:
    return {"kind": "quantity", "number": value, **({"unit": unit} if unit else {})}


@pytest.mark.parametrize(
    ("predicted", "found", "unit", "hit"),
    [
        (number(80), number(100), "GB", True),
        (number(79), number(100), "GB", False),
        (number(126), number(100), "GB", False),
        (number(0.1, "TB"), number(100), "GB", True),
        ({"kind": "text", "text": "100 GB"}, number(0.1, "TB"), "GB", True),
        ({"kind": "text", "text": "A"}, {"kind": "text", "text": "a "}, "", True),
        ({"kind": "text", "text": "a"}, {"kind": "text", "text": "b"}, "", False),
        (number(0), number(0), "", True),
        (number(-1), number(1), "", False),
        (number(3, "parsec"), number(3), "GB", None),
        (number(3, "s"), number(3), "GB", None),
        (number(3), {"kind": "function", "name": "f"}, "", None),
        (number(3), {"kind": "record", "record": {}}, "", None),
    ],
)
def test_a_prediction_against_what_was_found(
    predicted: dict[str, object], found: dict[str, object], unit: str, hit: bool | None
) -> None:
    verdict = compare(predicted, found, unit)
    assert (None if verdict is None else verdict.hit) is hit
