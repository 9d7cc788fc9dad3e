"""Break-evens: both ways cost the same at the point, and the right one wins on either side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.sizing.break_even import (
    BreakEven,
    blended_token_price,
    own_fleet,
    sagemaker_work,
    savings_plan_hours,
    small_price,
    spot_lost_hours,
    spot_replicas,
)
from labkit.sizing.checks import SizingError
from labkit.sizing.commitment import commitment
from labkit.sizing.off_hours import peak_hours_break_even
from labkit.sizing.spot_price import served_hour_price
from tests.sizing.pricing_inputs import HOURS, USD, all_finite

MONTHLY = st.floats(1e-9, 1e18)
COUNTS = st.integers(1, 10**9)


def test_a_plan_at_two_thirds_pays_from_two_thirds_of_the_hours():
    point = savings_plan_hours(1.0, 0.66)
    assert point.at == pytest.approx(481.8)
    assert point.meaning == "The commitment pays from 482 of 730 hours on (66% utilisation)."
    # The bill itself turns at that point: one instance, on for so many of 730 hours.
    below, above = [1] * 481 + [0] * 249, [1] * 483 + [0] * 247
    assert commitment(below, 1.0, 0.66, 0).cost < commitment(below, 1.0, 0.66, 1).cost
    assert commitment(above, 1.0, 0.66, 0).cost > commitment(above, 1.0, 0.66, 1).cost


def test_the_spot_point_agrees_with_the_price_per_served_hour():
    rate = 0.0003
    point = spot_lost_hours(1.006, 0.4824, rate)
    assert served_hour_price(0.4824, rate, 24) < 1.006
    assert point.at > 24
    assert 0.4824 * (1 + rate * point.at) == pytest.approx(1.006)


def test_spares_may_eat_the_whole_spot_discount():
    # 52 % off: ten replicas on demand buy 20.9 on Spot.
    assert spot_replicas(1.006, 0.4824, 10).at == pytest.approx(20.854, abs=1e-3)


def test_self_hosting_against_a_token_price():
    """$1.006/h always on against $0.60 per million: 40.24 million tokens a day."""
    price = blended_token_price(0.60, 0.60, 512, 256)
    point = own_fleet(730 * 1.006, price, capacity_per_month=5e9, unit="tokens")
    assert point.at / (730 / 24) == pytest.approx(40.24e6)
    assert point.reachable


def test_an_instance_that_cannot_serve_the_break_even_never_pays():
    point = own_fleet(730.0, 1e-6, capacity_per_month=5e8, unit="tokens")
    assert not point.reachable
    assert point.meaning == (
        "The fleet would have to serve 730,000,000 tokens a month and can serve 500,000,000: "
        "paying per use is cheaper at any load."
    )


def test_the_api_price_is_weighted_by_the_workload():
    assert blended_token_price(0.2, 1.0, 300, 100) == pytest.approx(0.4e-6)


def test_the_sagemaker_premium_buys_work():
    point = sagemaker_work(1.006, 1.4084, 4, 730)
    assert point.at == pytest.approx(4 * 730 * 0.4024)
    assert point.meaning.startswith("EC2 pays while running it yourself costs less than $1,175.01")


@given(USD, USD)
def test_savings_plan_equality(on_demand, plan):
    equal(savings_plan_hours(on_demand, plan))
    assert savings_plan_hours(on_demand, plan).reachable == (730 * plan / on_demand <= 730)


@given(USD, USD, st.floats(1e-9, 1))
def test_spot_lost_hours_equality(on_demand, spot, rate):
    point = spot_lost_hours(on_demand, spot, rate)
    equal(point)
    assert point.reachable == (spot < on_demand)


@given(USD, USD, COUNTS)
def test_spot_replicas_equality(on_demand, spot, needed):
    equal(spot_replicas(on_demand, spot, needed))


@given(MONTHLY, st.floats(1e-18, 1e9), MONTHLY)
def test_own_fleet_equality(month, unit, capacity):
    equal(own_fleet(month, unit, capacity))


@given(USD, USD, COUNTS, HOURS)
def test_sagemaker_equality(ec2, sagemaker, fleet, hours):
    point = sagemaker_work(ec2, sagemaker, fleet, hours)
    equal(point)
    assert (point.at is None) == (sagemaker < ec2)


@given(st.floats(1e-3, 1e6), st.integers(1, 1000), st.integers(1, 1000))
def test_small_price_equality(large, large_count, small_count):
    equal(small_price(large, large_count, small_count))


@given(st.integers(1, 1000), st.integers(0, 999), USD, USD)
def test_peak_hours_equality(peak, quiet, on_demand, plan):
    if quiet < peak:
        equal(peak_hours_break_even(peak, quiet, on_demand, plan))


def equal(point: BreakEven) -> None:
    """Both costs are the same at the point; without a point there are none, and it says why."""
    assert point.meaning.endswith(".")
    assert all_finite(point.at, point.left_usd, point.right_usd)
    if point.at is None:
        assert point.left_usd is point.right_usd is None
        assert not point.reachable
    else:
        # Both sums are compared at the scale of what they are made of.
        assert point.left_usd == pytest.approx(point.right_usd, rel=1e-6, abs=1e-12)
    names = [term.name for term in point.terms()]
    assert names == ["break-even", point.left, point.right]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: savings_plan_hours(0, 0.6), "on_demand must lie between 0.000000001 and "
         "1,000,000,000 USD/h, not 0."),
        (lambda: spot_lost_hours(1, 0.4, 0), "rate must lie between 0.000000001 and 1 "
         "interruptions per hour, not 0."),
        (lambda: own_fleet(730, 0.1, 0), "capacity_per_month must lie between 0.000000001 and "
         "1,000,000,000,000,000,000 requests/month, not 0."),
        (lambda: sagemaker_work(1, 1.4, 4, 731), "hours must lie between 0.000000001 and 730 "
         "hours a month, not 731."),
        (lambda: small_price(1.0, 0, 4), "large_count must lie between 1 and 1,000,000,000 "
         "instances, not 0."),
        (lambda: small_price(1e-9, 1, 10**9), "1000000000 instances for $1e-09 an hour are no "
         "real choice."),
    ],
)  # fmt: skip
def test_bad_input_is_named_in_one_sentence(wrong, sentence):
    with pytest.raises(SizingError) as raised:
        wrong()
    assert str(raised.value) == sentence
