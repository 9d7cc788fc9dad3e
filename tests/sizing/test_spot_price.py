"""Spot: rates of interruption, waste, and spares that hold the load."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.sizing.checks import SizingError
from labkit.sizing.spot_price import (
    SpotPolicy,
    head_room,
    interruptions_per_hour,
    served_hour_price,
)
from tests.sizing.pricing_inputs import SHARE, USD

NEEDED = st.integers(1, 300)
POLICIES = st.builds(
    SpotPolicy,
    replacement_hours=st.floats(1e-6, 24),
    availability=st.floats(0.5, 1 - 1e-9),
    pools=st.none() | st.integers(2, 12),
    on_demand_base=st.integers(0, 20),
)


def test_a_months_share_and_its_rate_agree():
    rate = interruptions_per_hour(0.2)
    assert 1 - math.exp(-rate * 730) == pytest.approx(0.2)
    assert interruptions_per_hour(0) == 0


def test_adding_up_the_months_chances_is_the_mistake_this_is_not():
    """Eight replicas at 5 % a month: 33.7 % see an interruption, not 8 x 5 = 40 %."""
    at_least_one = 1 - math.exp(-8 * interruptions_per_hour(0.05) * 730)
    assert at_least_one == pytest.approx(0.33658, abs=1e-5)


def test_waste_is_the_hours_that_each_interruption_costs():
    # 20 % a month and half an hour lost each time: 0.015 % on the price.
    assert served_hour_price(0.4824, interruptions_per_hour(0.2), 0.5) == pytest.approx(
        0.4824 * (1 + 3.0568e-4 * 0.5), rel=1e-6
    )


@given(USD, st.floats(0, 1), st.floats(0, 24))
def test_waste_never_makes_spot_cheaper(spot, rate, lost):
    assert spot <= served_hour_price(spot, rate, lost) <= spot * 25


def test_three_pools_need_half_as_many_again():
    room = head_room(10, 0.2, SpotPolicy(pools=3))
    assert (room.spot, room.spares, room.pool_spares) == (15, 5, 5)
    assert room.replicas - math.ceil(room.spot / 3) >= 10


def test_independent_losses_alone_ask_for_almost_nothing():
    """Why the pool rule is there: independent arithmetic promises far too much."""
    room = head_room(10, 0.2, SpotPolicy(pools=None))
    assert room.spares <= 1
    assert room.pool_spares is None
    assert {t.name: t.source for t in room.terms()}["spares for one pool lost"] == "not asked"


def test_the_base_is_not_on_spot():
    room = head_room(10, 0.2, SpotPolicy(pools=2, on_demand_base=4))
    assert (room.base, room.spot) == (4, 12)
    assert head_room(3, 0.2, SpotPolicy(on_demand_base=5)).spot == 0


def test_without_a_published_band_only_the_pool_rule_speaks():
    room = head_room(4, None, SpotPolicy(pools=3))
    assert room.spot == 6
    assert room.independent_spares is None
    assert room.probability_short is None
    terms = {term.name: term for term in room.terms()}
    assert terms["interruptions"].value is None
    assert terms["interruptions"].source == "no band of this type is known"


def binomial_more_down(n: int, down: float, spares: int) -> float:
    return sum(math.comb(n, k) * down**k * (1 - down) ** (n - k) for k in range(spares + 1, n + 1))


@given(st.integers(1, 60), st.floats(1e-3, 0.99), POLICIES)
def test_spares_for_independent_losses_are_the_fewest_that_hold(needed, share, policy):
    room = head_room(needed, share, policy)
    on_spot = needed - room.base
    rate = room.interruptions_per_hour
    down = rate * policy.replacement_hours / (1 + rate * policy.replacement_hours)
    spares, allowed = room.independent_spares, 1 - policy.availability
    tolerance = 1e-12
    assert binomial_more_down(on_spot + spares, down, spares) <= allowed + tolerance
    if spares:
        fewer = binomial_more_down(on_spot + spares - 1, down, spares - 1)
        assert fewer > allowed - tolerance


@given(NEEDED, SHARE, POLICIES)
def test_the_fleet_holds_when_a_pool_goes(needed, share, policy):
    room = head_room(needed, share, policy)
    assert room.replicas >= needed
    assert 0 <= room.probability_short <= 1 - policy.availability + 1e-12
    if policy.pools is not None:
        assert room.replicas - math.ceil(room.spot / policy.pools) >= needed
        if room.pool_spares and room.pool_spares >= room.independent_spares:
            one_less = room.spot - 1
            assert room.base + one_less - math.ceil(one_less / policy.pools) < needed


@given(NEEDED, st.floats(0, 0.98), POLICIES)
def test_more_interruptions_never_need_fewer_replicas(needed, share, policy):
    assert head_room(needed, share, policy).spot <= head_room(needed, share + 0.01, policy).spot


def test_the_largest_fleet_is_still_quick():
    assert head_room(10_000, 0.99, SpotPolicy(replacement_hours=24)).spot >= 15_000


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: interruptions_per_hour(1.0), "monthly_share must lie between 0 and 0.99 (a share "
         "of a month's instances), not 1.0."),
        (lambda: SpotPolicy(pools=1), "pools must be a whole number of at least 2, not 1."),
        (lambda: SpotPolicy(availability=1.0), "availability must lie between 0.5 and 0.999999999 "
         "(a share of the time), not 1.0."),
        (lambda: SpotPolicy(replacement_hours=-1), "replacement_hours must lie between 0.000001 "
         "and 24 hours, not -1."),
        (lambda: head_room(0, 0.1, SpotPolicy()), "needed must lie between 1 and 10,000 replicas, "
         "not 0."),
        (lambda: head_room(2.5, 0.1, SpotPolicy()), "needed must be a whole number of at least 1, "
         "not 2.5."),
    ],
)  # fmt: skip
def test_bad_input_is_named_in_one_sentence(wrong, sentence):
    with pytest.raises(SizingError) as raised:
        wrong()
    assert str(raised.value) == sentence
