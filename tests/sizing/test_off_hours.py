"""Scaling by the hour: four ways to pay for a fleet that changes its size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.sizing.checks import SizingError
from labkit.sizing.commitment import commitment
from labkit.sizing.off_hours import (
    ALL_COMMITTED,
    ALWAYS_ON,
    FLOOR_COMMITTED,
    SCALED,
    Schedule,
    monthly_costs,
    peak_hours_break_even,
)
from tests.sizing.pricing_inputs import HOURS, USD, all_finite

SCHEDULES = st.tuples(st.integers(1, 10**6), st.floats(0, 1), HOURS).map(
    lambda parts: Schedule(parts[0], int(parts[0] * parts[1]), parts[2])
)


def test_office_hours_by_hand():
    # 6 replicas for 220 hours a month, 2 otherwise, at $1; a plan at 66 %.
    costs = monthly_costs(Schedule(6, 2, 220), 1.0, 0.66)
    assert costs.by_way[ALWAYS_ON] == pytest.approx(4380)
    assert costs.by_way[SCALED] == pytest.approx(2 * 730 + 4 * 220)
    assert costs.by_way[FLOOR_COMMITTED] == pytest.approx(2 * 730 * 0.66 + 4 * 220)
    assert costs.by_way[ALL_COMMITTED] == pytest.approx(6 * 730 * 0.66)
    assert costs.cheapest == FLOOR_COMMITTED
    assert costs.saving == pytest.approx(1 - (963.6 + 880) / 4380)


def test_the_ways_agree_with_the_hourly_bill():
    demand = [6] * 220 + [2] * 510
    costs = monthly_costs(Schedule(6, 2, 220), 1.0, 0.66).by_way
    assert costs[SCALED] == pytest.approx(commitment(demand, 1.0, 0.66, 0).cost)
    assert costs[FLOOR_COMMITTED] == pytest.approx(commitment(demand, 1.0, 0.66, 2).cost)
    assert costs[ALL_COMMITTED] == pytest.approx(commitment(demand, 1.0, 0.66, 6).cost)


def test_without_a_plans_rate_its_ways_are_not_there():
    costs = monthly_costs(Schedule(6, 0, 220), 1.0)
    assert set(costs.by_way) == {ALWAYS_ON, SCALED}
    assert next(term.source for term in costs.terms()) == "peak x 730 h x on-demand price"


@given(SCHEDULES, USD, st.floats(0.01, 1))
def test_scaling_and_committing_never_cost_more_than_always_on(schedule, price, share):
    costs = monthly_costs(schedule, price, max(price * share, 1e-9))
    always = costs.by_way[ALWAYS_ON] * (1 + 1e-9)
    assert all(cost <= always for cost in costs.by_way.values())
    assert all_finite(*costs.by_way.values(), costs.saving)
    assert costs.by_way[FLOOR_COMMITTED] <= costs.by_way[SCALED] * (1 + 1e-9)


def test_the_break_even_separates_the_ways():
    point = peak_hours_break_even(6, 2, 1.0, 0.66)
    assert point.at == pytest.approx((6 * 730 * 0.66 - 2 * 730) / 4)
    below = monthly_costs(Schedule(6, 2, point.at - 1), 1.0, 0.66).by_way
    above = monthly_costs(Schedule(6, 2, point.at + 1), 1.0, 0.66).by_way
    assert below[SCALED] < below[ALL_COMMITTED]
    assert above[SCALED] > above[ALL_COMMITTED]


def test_a_large_quiet_fleet_leaves_nothing_to_scale():
    point = peak_hours_break_even(6, 5, 1.0, 0.5)
    assert point.at is None
    assert (
        point.meaning == "The quiet fleet alone costs more on demand than the whole one committed."
    )


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: Schedule(2, 6, 220), "The quiet fleet (6) must not be larger than the peak one "
         "(2)."),
        (lambda: Schedule(2, 0, 0), "peak_hours must lie between 0.000000001 and 730 hours a "
         "month, not 0."),
        (lambda: Schedule(0, 0, 1), "peak must be a whole number of at least 1, not 0."),
        (lambda: peak_hours_break_even(3, 3, 1.0, 0.5), "A fleet that never changes its size has "
         "no off-hours to scale in."),
    ],
)  # fmt: skip
def test_bad_input_is_named_in_one_sentence(wrong, sentence):
    with pytest.raises(SizingError) as raised:
        wrong()
    assert str(raised.value) == sentence
