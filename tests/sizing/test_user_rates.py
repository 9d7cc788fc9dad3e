"""Rates from the user: with source, day and unit, or not at all."""

from __future__ import annotations

import csv
from datetime import date

import pytest

from labkit.contract.errors import LabkitError, UnknownNameError
from labkit.sizing.checks import SizingError
from labkit.sizing.user_rates import RATE_KINDS, UserRate, matching, read_rates, unknown_price
from tests.sizing.pricing_inputs import READ, rate

TABLE = """option,subject,region,value,unit,source,as_of,label
compute-savings-plan,ml.g5.xlarge,us-east-1,0.66,USD/h,the plans' page,2026-11-01,"1 year"
token-api-input,some-model,,0.22,USD/1M tokens,the API's page,2026-11-02,
"""


def read(text: str) -> tuple[UserRate, ...]:
    return read_rates(csv.DictReader(text.splitlines()))


def test_a_table_of_rates_is_read():
    plan, api = read(TABLE)
    assert (plan.option, plan.subject, plan.value) == ("compute-savings-plan", "g5.xlarge", 0.66)
    assert (plan.region, plan.label, plan.as_of) == ("us-east-1", "1 year", READ)
    assert (api.option, api.subject, api.region) == ("token-api-input", "some-model", "")


def test_a_rate_is_a_dated_price_that_expires():
    price = rate("compute-savings-plan", 0.66).as_price()
    assert price.usd_per_hour == 0.66
    assert price.age(date(2026, 11, 30)) == "29 d"
    assert price.provenance.source == "given by the user: a price page"
    assert not price.provenance.stale(date(2027, 1, 30))
    assert price.provenance.stale(date(2027, 1, 31))


def test_rates_match_their_own_type_and_region_only():
    rates = (
        rate("compute-savings-plan", 0.66),
        rate("compute-savings-plan", 0.7, region="eu-west-1"),
        rate("compute-savings-plan", 0.5, "g6.xlarge"),
        rate("spot", 0.4),
    )
    found = matching(rates, "compute-savings-plan", "g5.xlarge", "us-east-1")
    assert [one.value for one in found] == [0.66]


def test_a_missing_rate_is_refused_by_name():
    refusal = unknown_price("compute-savings-plan", "g5.xlarge", "us-east-1")
    assert refusal.code == "UNKNOWN_PRICE"
    assert refusal.detail == (
        "No Compute Savings Plan rate of g5.xlarge in us-east-1 is known: give it as the rate "
        "compute-savings-plan in USD/h, with its source and date."
    )
    assert "in us-east-1" not in unknown_price("token-api-input", "some-model").detail


@pytest.mark.parametrize("option", RATE_KINDS)
def test_every_kind_can_be_given_and_can_be_missing(option):
    assert rate(option, 1.0).unit == RATE_KINDS[option].unit
    assert f"rate {option} in {RATE_KINDS[option].unit}" in unknown_price(option, "x", "y").detail


GOOD = {"option": "spot", "subject": "g5.xlarge", "region": "us-east-1"}


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: UserRate(1.0, "USD/month", "a page", READ, **GOOD),
            "The rate spot is in USD/h, not in 'USD/month'.",
        ),
        (
            lambda: UserRate(float("inf"), "USD/h", "a page", READ, **GOOD),
            "The rate spot must lie between 0.000000001 and 1,000,000,000 USD/h, not inf.",
        ),
        (lambda: UserRate(1.0, "USD/h", " ", READ, **GOOD), "The rate spot needs a source."),
        (
            lambda: UserRate(1.0, "USD/h", "a page", "2026-11-01", **GOOD),  # type: ignore[arg-type]
            "The rate spot needs the day it was read, as YYYY-MM-DD, not '2026-11-01'.",
        ),
        (
            lambda: UserRate(1.0, "USD/h", "a page", READ, **GOOD | {"subject": ""}),
            "The rate spot needs its instance type.",
        ),
        (
            lambda: UserRate(1.0, "USD/h", "a page", READ, **GOOD | {"region": ""}),
            "The rate spot needs its region, e.g. us-east-1.",
        ),
    ],
)
def test_a_bad_rate_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(SizingError) as raised:
        make()
    assert str(raised.value) == sentence


def test_an_unknown_kind_of_rate_names_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean compute-savings-plan"):
        UserRate(1.0, "USD/h", "a page", READ, **GOOD | {"option": "compute-saving-plan"})


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("0.66", "", "Row 1 of the rates lacks value."),
        ("0.66", "cheap", "Row 1 of the rates: value must be a number, not 'cheap'."),
        ("0.66", "nan", "Row 1 of the rates: The rate compute-savings-plan must lie between "
         "0.000000001 and 1,000,000,000 USD/h, not nan."),
        ("2026-11-02", "2 Nov 2026", "Row 2 of the rates: as_of must be a day as YYYY-MM-DD, not "
         "'2 Nov 2026'."),
        ("us-east-1", "", "Row 1 of the rates: The rate compute-savings-plan needs its region, "
         "e.g. us-east-1."),
    ],
)  # fmt: skip
def test_a_bad_row_is_named_by_its_number(old, new, sentence):
    with pytest.raises(LabkitError) as raised:
        read(TABLE.replace(old, new))
    assert str(raised.value) == sentence
