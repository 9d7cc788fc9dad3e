"""Every way to pay for a fleet: priced, or refused by name; and the two price lists."""

from __future__ import annotations

import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.catalog import Catalog
from labkit.catalog.interruptions import interruption
from labkit.sizing.checks import SizingError
from labkit.sizing.price_lists import PricePair, price_pair
from labkit.sizing.pricing import CostReport, FleetLoad
from labkit.sizing.purchase import PurchaseOption, purchase_options, unused_rates
from labkit.sizing.purchase_kinds import PURCHASE_KINDS
from labkit.sizing.refusal import Refusal, RefusalCode
from labkit.sizing.spot_price import SpotPolicy
from labkit.sizing.user_rates import RATE_KINDS
from tests.sizing.pricing_inputs import HOURS, TODAY, USD, all_finite, priced, rate

CATALOG = Catalog.load("2026-11-30")
HOURLY = [name for name, kind in RATE_KINDS.items() if kind.unit == "USD/h"]
G5 = priced(on_demand=1.0, spot=0.4, sagemaker=1.4)


def by_name(options: tuple[PurchaseOption, ...]) -> dict[str, PurchaseOption]:
    return {option.kind.name: option for option in options}


def test_every_way_is_listed_priced_or_refused():
    options = purchase_options(G5, 4, 730, "us-east-1")
    assert [option.kind.name for option in options] == list(PURCHASE_KINDS)
    for option in options:
        assert (option.usd_per_month is None) == (option.refusal is not None)
        assert option.kind.covers
        assert option.kind.binds
        assert option.kind.source


def test_a_month_by_hand():
    ways = by_name(purchase_options(G5, 4, 240, "us-east-1", [rate("compute-savings-plan", 0.66)]))
    assert ways["on-demand"].usd_per_month.mid == pytest.approx(4 * 240)
    assert ways["sagemaker"].usd_per_month.mid == pytest.approx(4 * 240 * 1.4)
    # Six on Spot hold four when one of three pools goes.
    assert ways["spot"].instances == 6
    assert ways["spot"].usd_per_month.mid == pytest.approx(6 * 240 * 0.4)
    # A commitment and a standing reservation are paid in all 730 hours.
    assert ways["compute-savings-plan"].usd_per_month.mid == pytest.approx(4 * 730 * 0.66)
    assert ways["capacity-reservation"].usd_per_month.mid == pytest.approx(4 * 730)


def test_the_plan_that_looks_cheaper_by_the_hour_is_not_by_the_month():
    ways = by_name(purchase_options(G5, 4, 240, "us-east-1", [rate("compute-savings-plan", 0.66)]))
    plan, plain = ways["compute-savings-plan"], ways["on-demand"]
    assert plan.usd_per_hour.mid < plain.usd_per_hour.mid
    assert plan.usd_per_month.mid > plain.usd_per_month.mid


def test_a_load_costs_more_per_token_under_a_commitment_that_sleeps():
    load = FleetLoad(10, 20, 512, 256, busy_hours=240)
    ways = by_name(purchase_options(G5, 4, 240, "us-east-1", [rate("compute-savings-plan", 0.66)]))
    plain, plan = ways["on-demand"].cost(load), ways["compute-savings-plan"].cost(load)
    assert isinstance(plain, CostReport)
    assert isinstance(plan, CostReport)
    assert plain.usd_per_request.mid == pytest.approx(4 * 240 / load.requests_per_month)
    assert plan.usd_per_request.mid == pytest.approx(4 * 730 * 0.66 / load.requests_per_month)
    assert plan.price_source == "given by the user: a price page, as of 2026-11-01"
    assert ways["sagemaker-savings-plan"].cost(load) is ways["sagemaker-savings-plan"].refusal


def test_unknown_rates_are_refused_with_the_input_that_is_missing():
    ways = by_name(purchase_options(G5, 4, 730, "us-east-1"))
    for name in ("ec2-instance-savings-plan", "compute-savings-plan", "sagemaker-savings-plan"):
        assert ways[name].refusal.code is RefusalCode.UNKNOWN_PRICE
        assert f"as the rate {name} in USD/h" in ways[name].refusal.detail
        assert ways[name].age(TODAY) == "unknown"
        assert [term.value for term in ways[name].terms()] == [None]
    block = ways["capacity-block"].refusal
    assert block.code is RefusalCode.NOT_OFFERED
    assert block.detail.endswith("trn1, trn2 only, not for g5.")


def test_another_region_knows_nothing_and_says_so():
    ways = purchase_options(G5, 1, 730, "eu-north-1")
    assert {way.refusal.code for way in ways} == {"UNKNOWN_PRICE", "NOT_OFFERED"}
    assert "in eu-north-1" in ways[0].refusal.detail


def test_sagemaker_without_that_type_is_not_offered():
    ways = by_name(purchase_options(priced(hosted=False, on_demand=1.0), 1, 730, "us-east-1"))
    for name in ("sagemaker", "sagemaker-savings-plan"):
        assert ways[name].refusal.code is RefusalCode.NOT_OFFERED


def test_each_rate_of_a_plan_is_an_option_and_the_users_price_stands_first():
    rates = [
        rate("compute-savings-plan", 0.7, label="1 year"),
        rate("compute-savings-plan", 0.5, label="3 years"),
        rate("on-demand", 0.9),
    ]
    options = purchase_options(G5, 1, 730, "us-east-1", rates)
    plans = [option for option in options if option.kind.name == "compute-savings-plan"]
    assert [(p.label, p.usd_per_hour.mid) for p in plans] == [("1 year", 0.7), ("3 years", 0.5)]
    own = by_name(options)["on-demand"]
    assert own.usd_per_hour.mid == 0.9
    assert own.price.provenance.source == "given by the user: a price page"


def test_the_base_of_a_spot_fleet_pays_the_on_demand_price():
    spot = by_name(
        purchase_options(G5, 4, 730, "us-east-1", spot=SpotPolicy(pools=2, on_demand_base=2))
    )["spot"]
    assert (spot.head_room.base, spot.head_room.spot) == (2, 4)
    assert spot.usd_per_hour.mid == pytest.approx(2 * 1.0 + 4 * 0.4)
    no_base_price = purchase_options(
        priced(spot=0.4), 4, 730, "us-east-1", spot=SpotPolicy(on_demand_base=2)
    )
    refusal = by_name(no_base_price)["spot"].refusal
    assert refusal.detail.startswith("No EC2 On-Demand price of g5.xlarge in us-east-1")


def test_age_and_expiry_are_shown():
    option = purchase_options(G5, 1, 730, "us-east-1")[0]
    assert option.age(TODAY) == "29 d"
    assert option.as_dict(TODAY)["price_expired"] is False
    with pytest.raises(SizingError, match="is dated 2026-11-01, after 2026-10-01"):
        option.age(date(2026, 10, 1))


def test_the_terms_make_the_months_bill():
    for option in purchase_options(G5, 4, 240, "us-east-1"):
        if option.refusal:
            continue
        terms = {term.name: term.value for term in option.terms()}
        bill = terms["price"] * terms["instances"] * terms["paid hours"]
        assert terms["fleet per month"] == pytest.approx(bill)


def test_on_the_catalogue_the_spot_range_and_its_band_are_carried():
    g5 = CATALOG.instance("g5.xlarge")
    band = interruption(CATALOG.snapshot, "g5.xlarge", "us-east-1")
    spot = by_name(purchase_options(g5, 2, 730, "us-east-1", interruption=band))["spot"]
    assert spot.usd_per_hour.low < spot.usd_per_hour.mid < spot.usd_per_hour.high
    shown = spot.as_dict(TODAY)
    assert shown["interruptions_per_month"] == ">20%"
    assert shown["price_age"] == "≥ 0 d"
    assert shown["price_confidence"] == "low"
    term = {term.name: term for term in spot.terms()}["interrupted in a month"]
    assert term.source.endswith(">20% in 2025-06-28; open above, so at least")


def test_every_instance_of_the_catalogue_has_a_list_that_is_json():
    for instance in CATALOG.instances():
        band = interruption(CATALOG.snapshot, instance.name, "us-east-1")
        options = purchase_options(instance, 3, 730, "us-east-1", interruption=band)
        assert {option.kind.name for option in options} == set(PURCHASE_KINDS)
        assert json.loads(json.dumps([o.as_dict(TODAY) for o in options], allow_nan=False))


@given(
    st.integers(1, 10_000),
    HOURS,
    st.dictionaries(st.sampled_from(HOURLY), USD),
    st.sampled_from(["us-east-1", "eu-west-1"]),
)
def test_any_valid_input_gives_finite_money_or_a_refusal(fleet, hours, given_rates, region):
    rates = [rate(option, value) for option, value in given_rates.items()]
    for option in purchase_options(G5, fleet, hours, region, rates):
        month = option.usd_per_month
        if month is None:
            assert option.refusal.code in {"UNKNOWN_PRICE", "NOT_OFFERED"}
        else:
            assert all_finite(month.low, month.mid, month.high)
            assert 0 < month.low <= month.mid <= month.high
            hourly = option.usd_per_hour.mid
            assert month.mid == pytest.approx(hourly * option.paid_hours)
            assert month.mid >= hourly * hours * (1 - 1e-12)


@given(st.floats(1e-6, 1e6), st.floats(1e-2, 1e2))
def test_cost_is_linear_in_the_price(price, factor):
    def month(usd: float) -> float:
        return purchase_options(priced(on_demand=usd), 3, 100, "us-east-1")[0].usd_per_month.mid

    assert month(price * factor) == pytest.approx(month(price) * factor)


def test_rates_that_price_nothing_here_are_found():
    rates = [rate("spot", 0.4), rate("spot", 0.4, "g5.xlage"), rate("token-api-input", 1, "m")]
    assert unused_rates(rates, ["g5.xlarge"]) == (rates[1],)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: purchase_options(G5, 0, 730, "us-east-1"), "fleet_size must lie between 1 and "
         "10,000 replicas, not 0."),
        (lambda: purchase_options(G5, 1.5, 730, "us-east-1"), "fleet_size must be a whole number "
         "of at least 1, not 1.5."),
        (lambda: purchase_options(G5, 1, 744, "us-east-1"), "hours must lie between 0.000000001 "
         "and 730 hours a month, not 744."),
        (lambda: purchase_options(G5, 1, 730, "us-east-1", interruption=interruption(
            CATALOG.snapshot, "g6.xlarge", "us-east-1")), "The interruption band is of g6.xlarge, "
         "not of g5.xlarge."),
    ],
)  # fmt: skip
def test_bad_input_is_named_in_one_sentence(wrong, sentence):
    with pytest.raises(SizingError) as raised:
        wrong()
    assert str(raised.value) == sentence


# Observed in the two lists of the snapshot: 40 % on the .xlarge of the G families, 25 % on
# their other sizes, 15 % on p4d.
@pytest.mark.parametrize(
    ("name", "premium"),
    [("g4dn.xlarge", 0.40), ("g5.xlarge", 0.40), ("g5.2xlarge", 0.25), ("p4d.24xlarge", 0.15)],
)
def test_the_sagemaker_premium_of_the_snapshot(name, premium):
    pair = price_pair(CATALOG.instance(name), "us-east-1")
    assert isinstance(pair, PricePair)
    assert pair.premium == pytest.approx(premium, abs=0.005)
    assert pair.usd_per_hour_more == pytest.approx(pair.ec2.usd_per_hour * premium, rel=0.02)
    ec2, sagemaker, _ = pair.terms()
    assert ec2.source.endswith("as of 2026-09-24")
    assert sagemaker.source


def test_a_pair_that_lacks_a_half_is_refused():
    assert isinstance(price_pair(priced(on_demand=1.0), "us-east-1"), Refusal)
    hidden = price_pair(priced(hosted=False, on_demand=1.0), "us-east-1")
    assert isinstance(hidden, Refusal)
    assert hidden.code is RefusalCode.NOT_OFFERED
    filled = price_pair(priced(on_demand=1.0), "us-east-1", [rate("sagemaker", 1.25)])
    assert isinstance(filled, PricePair)
    assert filled.premium == pytest.approx(0.25)
