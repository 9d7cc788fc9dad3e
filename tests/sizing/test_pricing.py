"""Cost at achieved utilisation: idle hours are paid, and the parts make the bill."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.catalog.specs import Provenance
from labkit.sizing.bands import Band
from labkit.sizing.checks import SizingError
from labkit.sizing.cost import usd_per_million_tokens, usd_per_request
from labkit.sizing.pricing import (
    FleetLoad,
    cost_report,
    output_weight_by_time,
    split_usd,
    utilisation,
)
from tests.sizing.pricing_inputs import HOURS, READ, USD, all_finite

BUSY = FleetLoad(10.0, 20.0, 512, 256)
RATES = st.floats(1e-6, 1e6)
TOKENS = st.floats(1, 1e6)
WEIGHTS = st.floats(1e-3, 1e3)


@st.composite
def loads(draw: st.DrawFn) -> FleetLoad:
    capacity = draw(RATES)
    share = draw(st.floats(1e-3, 1))
    return FleetLoad(capacity * share, capacity, draw(TOKENS), draw(TOKENS), draw(HOURS))


def test_a_fleet_by_hand():
    # 4 x g5.xlarge at $1.006, 10 of 20 requests/s for 240 of 730 hours.
    load = FleetLoad(10, 20, 512, 256, busy_hours=240)
    report = cost_report(4 * 1.006, load)
    assert report.usd_per_month.mid == pytest.approx(2937.52)
    assert report.utilisation == pytest.approx(0.5 * 240 / 730)
    assert load.requests_per_month == 8_640_000
    assert report.usd_per_request.mid == pytest.approx(2937.52 / 8.64e6)
    assert report.usd_per_million_output_tokens.mid == pytest.approx(2937.52 / 8.64 / 256)
    assert report.usd_per_million_tokens.mid == pytest.approx(2937.52 / 8.64 / 768)
    assert report.usd_idle_per_month.mid == pytest.approx(2937.52 * (1 - 120 / 730))


def test_at_full_load_it_is_the_price_over_the_rate():
    report = cost_report(1.006, FleetLoad(2.0, 2.0, 100, 530))
    tokens = usd_per_million_tokens(1.006, 2 * 530)
    assert report.usd_per_million_output_tokens.mid == pytest.approx(tokens)
    assert report.usd_per_request.mid == pytest.approx(usd_per_request(1.006, 2.0))
    assert report.usd_idle_per_month.mid == pytest.approx(0)


def test_forgetting_the_idle_hours_gives_another_number():
    """The usual mistake: price / capacity, as if the fleet were always full."""
    right = cost_report(1.006, BUSY).usd_per_request.mid
    wrong = usd_per_request(1.006, BUSY.capacity_requests_per_s)
    assert right == pytest.approx(2 * wrong)


def test_a_fleet_that_sleeps_pays_for_its_hours_only():
    load = FleetLoad(10, 20, 512, 256, busy_hours=240)
    always, asleep = cost_report(4.0, load), cost_report(4.0, load, paid_hours=240)
    assert asleep.usd_per_month.mid == pytest.approx(960)
    assert asleep.utilisation == pytest.approx(0.5)
    assert always.usd_per_request.mid == pytest.approx(asleep.usd_per_request.mid * 730 / 240)


def test_the_price_range_is_carried_through():
    report = cost_report(Band(0.4, 0.5, 0.6, "price range"), BUSY)
    assert report.usd_per_request.low == pytest.approx(report.usd_per_request.mid * 0.8)
    assert report.usd_per_request.high == pytest.approx(report.usd_per_request.mid * 1.2)


def test_the_terms_show_the_arithmetic_and_the_prices_day():
    seen = Provenance(source="a price list", as_of=READ)
    terms = {term.name: term for term in cost_report(1.0, BUSY, price=seen).terms()}
    assert terms["fleet price"].source == "a price list, as of 2026-11-01"
    month = terms["fleet price"].value * terms["paid hours"].value
    assert terms["fleet price per month"].value == pytest.approx(month)
    assert terms["per request"].value == pytest.approx(month / terms["requests"].value)
    assert all(term.unit and term.source for term in terms.values())


@given(USD, loads(), WEIGHTS)
def test_the_two_shares_make_the_whole_bill(price, load, weight):
    report = cost_report(price, load, output_weight=weight)
    requests = load.requests_per_month
    paid = (
        report.usd_per_million_input_share.mid * load.prompt_tokens * requests / 1e6
        + report.usd_per_million_output_share.mid * load.output_tokens * requests / 1e6
    )
    assert paid == pytest.approx(report.usd_per_month.mid, rel=1e-9)
    ratio = report.usd_per_million_output_share.mid / report.usd_per_million_input_share.mid
    assert ratio == pytest.approx(weight)


@given(st.floats(1e-6, 1e6), loads(), st.floats(1e-2, 1e2))
def test_cost_is_linear_in_the_price(price, load, factor):
    one, other = cost_report(price, load), cost_report(price * factor, load)
    for name in ("usd_per_month", "usd_per_request", "usd_per_million_output_tokens"):
        assert getattr(other, name).mid == pytest.approx(getattr(one, name).mid * factor)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 0.99), st.floats(1.001, 100))
def test_a_token_costs_less_the_fuller_the_fleet_is(price, share, more):
    fuller = min(1.0, share * more)
    low = cost_report(price, FleetLoad(share * 50, 50, 512, 256))
    high = cost_report(price, FleetLoad(fuller * 50, 50, 512, 256))
    assert high.usd_per_million_output_tokens.mid < low.usd_per_million_output_tokens.mid
    assert high.usd_idle_per_month.mid <= low.usd_idle_per_month.mid


@given(USD, loads(), WEIGHTS)
def test_every_valid_input_gives_finite_numbers(price, load, weight):
    report = cost_report(price, load, output_weight=weight)
    assert all_finite(*(term.value for term in report.terms()))
    assert 0 < report.utilisation <= 1 + 1e-12


def test_the_time_rule_divides_the_cost_as_the_time_is_divided():
    # 0.2 s of prefill for 512 tokens, 6 s of decode for 256.
    weight = output_weight_by_time(0.2, 6.0, 512, 256)
    price_in, price_out = split_usd(6.2, 512, 256, weight)
    assert price_in * 512 == pytest.approx(0.2)
    assert price_out * 256 == pytest.approx(6.0)


def test_blended_charges_all_tokens_alike():
    assert split_usd(768.0, 512, 256) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: utilisation(12, 10), "A load of 12 per second is above the fleet's capacity of "
         "10: add replicas."),
        (lambda: utilisation(float("nan"), 10), "load must lie between 0.000000001 and "
         "1,000,000,000 per second, not nan."),
        (lambda: cost_report(-1.0, BUSY), "usd_per_hour must lie between 0.000000001 and "
         "1,000,000,000 USD/h, not -1.0."),
        (lambda: cost_report(1.0, BUSY, paid_hours=744), "paid_hours must lie between 0.000000001 "
         "and 730 hours a month, not 744."),
        (lambda: cost_report(1.0, BUSY, paid_hours=240), "Traffic comes in 730 hours a month, and "
         "the fleet is paid for 240 only: no replica would be there."),
        (lambda: FleetLoad(1, 2, 0, 256), "prompt_tokens must lie between 0.000000001 and "
         "1,000,000,000 tokens, not 0."),
        (lambda: FleetLoad("1", 2, 512, 256), "load must lie between 0.000000001 and "
         "1,000,000,000 per second, not '1'."),
        (lambda: split_usd(1.0, 1, 1, 0), "output_weight must lie between 0.000000001 and "
         "1,000,000,000 input tokens per output token, not 0."),
        (lambda: output_weight_by_time(0, 1, 1, 1), "prefill_seconds must lie between 0.000000001 "
         "and 1,000,000,000 seconds, not 0."),
    ],
)  # fmt: skip
def test_bad_input_is_named_in_one_sentence(wrong, sentence):
    with pytest.raises(SizingError) as raised:
        wrong()
    assert str(raised.value) == sentence
