"""The cheapest commitment, against trying every one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.sizing.checks import SizingError
from labkit.sizing.commitment import best_commitment, commitment

DEMANDS = st.lists(st.integers(0, 12), min_size=1, max_size=48)
PRICES = st.floats(1e-3, 1e6)
SHARES = st.floats(1e-3, 1)


def test_a_day_by_hand():
    """8 hours at 6, 16 hours at 2; a plan at 66 %: only the two that never stop are worth it."""
    day = [6] * 8 + [2] * 16
    best = best_commitment(day, 1.0, 0.66)
    assert best.instances == 2
    assert best.cost == pytest.approx(2 * 24 * 0.66 + 4 * 8 * 1.0)
    assert (best.covered_hours, best.lost_hours, best.on_demand_hours) == (48, 0, 32)
    assert best.cost_without == 80


def test_committing_to_the_peak_or_the_mean_costs_more():
    day = [6] * 8 + [2] * 16
    best = best_commitment(day, 1.0, 0.66).cost
    mean = round(sum(day) / len(day))
    assert commitment(day, 1.0, 0.66, 6).cost > best
    assert commitment(day, 1.0, 0.66, mean).cost > best


@given(DEMANDS, PRICES, SHARES)
def test_no_other_commitment_is_cheaper(demand, price, share):
    best = best_commitment(demand, price, price * share)
    every = [commitment(demand, price, price * share, n).cost for n in range(max(demand) + 2)]
    assert best.cost <= min(every) * (1 + 1e-9)


@given(DEMANDS, PRICES, SHARES, st.integers(0, 20))
def test_the_cost_never_falls_below_the_commitment(demand, price, share, instances):
    plan = commitment(demand, price, price * share, instances)
    assert plan.cost >= plan.usd_per_hour * len(demand) * (1 - 1e-12)
    assert plan.covered_hours + plan.on_demand_hours == sum(demand)
    assert plan.covered_hours + plan.lost_hours == instances * len(demand)


@given(DEMANDS, PRICES, SHARES, st.floats(1e-2, 1e2))
def test_cost_is_linear_in_the_prices(demand, price, share, factor):
    one = commitment(demand, price, price * share, 3)
    other = commitment(demand, price * factor, price * share * factor, 3)
    assert other.cost == pytest.approx(one.cost * factor)


def test_the_terms_add_up():
    plan = commitment([6] * 8 + [2] * 16, 1.0, 0.66, 3)
    terms = {term.name: term.value for term in plan.terms()}
    assert terms["cost"] == pytest.approx(terms["commitment"] * 24 + terms["on demand"] * 1.0)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: best_commitment([], 1.0, 0.5), "The demand needs at least one hour."),
        (lambda: best_commitment([1, -2], 1.0, 0.5), "An hour's demand must be a whole number of "
         "at least 0, not -2."),
        (lambda: best_commitment([1], 1.0, 1.5), "A plan rate of 1.5 USD/h above the on-demand "
         "price of 1.0 USD/h never pays."),
        (lambda: commitment([1], 1.0, 0.5, -1), "instances must be a whole number of at least 0, "
         "not -1."),
    ],
)  # fmt: skip
def test_bad_input_is_named_in_one_sentence(wrong, sentence):
    with pytest.raises(SizingError) as raised:
        wrong()
    assert str(raised.value) == sentence
