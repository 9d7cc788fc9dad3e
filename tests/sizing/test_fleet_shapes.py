"""One large or several small: whole instances, spares, and what a failure takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.sizing.break_even import small_price
from labkit.sizing.checks import SizingError
from labkit.sizing.fleet_shapes import Candidate, shape, shapes
from tests.sizing.pricing_inputs import USD

SMALL = Candidate("g5.xlarge", 1.006, 10)
LARGE = Candidate("g5.12xlarge", 5.672, 48)


def test_small_ones_follow_the_load_and_large_ones_do_not():
    assert [one.candidate.name for one in shapes([LARGE, SMALL], 12)] == [
        "g5.xlarge",
        "g5.12xlarge",
    ]
    assert shape(SMALL, 12).instances == 2
    assert shape(LARGE, 12).utilisation == pytest.approx(0.25)


def test_a_spare_costs_more_where_the_instances_are_large():
    small, large = shape(SMALL, 48, spares=1), shape(LARGE, 48, spares=1)
    assert (small.instances, large.instances) == (6, 2)
    assert large.usd_per_hour > 1.8 * small.usd_per_hour
    assert (small.lost_share, large.lost_share) == (pytest.approx(1 / 6), 0.5)


def test_the_break_even_price_of_a_small_one():
    small, large = shape(SMALL, 48, spares=1), shape(LARGE, 48, spares=1)
    price = small_price(LARGE.usd_per_hour, large.instances, small.instances).at
    same = shape(Candidate("any", price, 10), 48, spares=1)
    assert same.usd_per_hour == pytest.approx(large.usd_per_hour)


@given(USD, st.floats(1e-3, 1e6), st.floats(1e-3, 1e6), st.integers(0, 10))
def test_the_fleet_is_the_smallest_that_carries_the_load(price, capacity, load, spares):
    one = shape(Candidate("x", price, capacity), load, spares)
    working = one.instances - spares
    assert working * capacity >= load * (1 - 1e-12)
    assert working == 1 or (working - 1) * capacity < load
    assert one.usd_per_hour == pytest.approx(one.instances * price)
    assert 0 < one.utilisation <= 1


def test_the_terms_show_the_counting():
    terms = {term.name: term.value for term in shape(SMALL, 48, 1).terms()}
    assert terms["fleet"] == pytest.approx(terms["instances"] * 1.006)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: Candidate("x", 1.0, 0), "The capacity of x must lie between 0.000000001 and "
         "1,000,000,000 requests/s, not 0."),
        (lambda: shapes([], 1), "Comparing fleets needs at least one instance type."),
        (lambda: shape(Candidate("x", 1.0, 1e-9), 1e6), "1000000.0 requests/s need more than "
         "1,000,000,000 of x."),
    ],
)  # fmt: skip
def test_bad_input_is_named_in_one_sentence(wrong, sentence):
    with pytest.raises(SizingError) as raised:
        wrong()
    assert str(raised.value) == sentence
