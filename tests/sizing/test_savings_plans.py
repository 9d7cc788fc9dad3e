"""Savings Plans: what each covers, in which order, and what is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.contract.errors import UnknownNameError
from labkit.sizing.checks import SizingError
from labkit.sizing.savings_plans import (
    PLAN_KINDS,
    SavingsPlan,
    Usage,
    bill_hour,
    why_not_covered,
)
from tests.sizing.pricing_inputs import all_finite

G5 = Usage("g5", "ec2", 4, 1.0, "us-east-1", "g5")
G6 = Usage("g6", "ec2", 2, 0.8, "us-east-1", "g6")
FARGATE = Usage("fargate", "fargate", 10, 0.1, "eu-west-1")
ENDPOINT = Usage("ml.g5", "sagemaker", 2, 1.4, "us-east-1", "g5")
FAMILY = {"family": "g5", "region": "us-east-1"}


def compute(commitment: float, **rates: float) -> SavingsPlan:
    return SavingsPlan("compute-savings-plan", commitment, rates)


def bound(commitment: float, **rates: float) -> SavingsPlan:
    return SavingsPlan("ec2-instance-savings-plan", commitment, rates, **FAMILY)


# The usage and rates of the example in AWS's Savings Plans User Guide, where the rates are
# said to be illustrative.
AWS_USAGE = (
    Usage("linux", "ec2", 1, 4.0, "us-east-1", "c5"),
    Usage("windows", "ec2", 1, 10.0, "us-east-1", "c5"),
    Usage("vcpu", "fargate", 10, 1.5, "us-west-1"),
    Usage("gb", "fargate", 5, 2.0, "us-west-1"),
)
AWS_RATES = {"linux": 2.0, "windows": 8.0, "vcpu": 1.0, "gb": 1.0}


def test_awss_own_example_costs_what_aws_says():
    """A Compute Savings Plan of $25 an hour covers all of it, to the cent."""
    bill = bill_hour(AWS_USAGE, [SavingsPlan("compute-savings-plan", 25.0, AWS_RATES)])
    assert bill.total == 25.0
    assert bill.on_demand == 0
    assert bill.lost == pytest.approx(0)
    assert bill.without_plans == 39.0


def test_of_equal_savings_the_lowest_rate_comes_first():
    """50 % on both: gigabytes at $1 before the instance at $2, and nothing else at $6."""
    bill = bill_hour(AWS_USAGE, [SavingsPlan("compute-savings-plan", 6.0, AWS_RATES)])
    covered = [(line.usage.name, line.quantity) for line in bill.lines if line.plan is not None]
    assert covered == [("gb", 5), ("linux", 0.5)]
    assert bill.total == pytest.approx(6 + 0.5 * 4 + 10 + 15)


def test_the_highest_saving_comes_first():
    # g5 saves 34 %, g6 25 %: the commitment goes to g5 although g6 stands first.
    bill = bill_hour([G6, G5], [compute(1.32, g5=0.66, g6=0.6)])
    covered = [(line.usage.name, line.quantity) for line in bill.lines if line.plan is not None]
    assert covered == [("g5", pytest.approx(2))]
    assert bill.on_demand == pytest.approx(2 * 1.0 + 2 * 0.8)


def test_the_instance_plan_is_applied_before_the_compute_plan():
    """Even where the Compute plan would save more on the same usage."""
    bill = bill_hour([G5], [compute(0.5, g5=0.5), bound(2.8, g5=0.7)])
    assert [(line.plan, line.quantity) for line in bill.lines] == [(1, pytest.approx(4))]
    assert bill.lost == pytest.approx(0.5)
    assert bill.utilisation == pytest.approx(2.8 / 3.3)


def test_what_is_not_used_is_paid_and_lost():
    bill = bill_hour([G5], [compute(5.0, g5=0.66)])
    assert bill.total == 5.0
    assert bill.lost == pytest.approx(5 - 4 * 0.66)
    assert bill.total > bill.without_plans


@pytest.mark.parametrize(
    ("plan", "usage", "reason"),
    [
        (compute(1.0), G5, ""),
        (compute(1.0), FARGATE, ""),
        (compute(1.0), Usage("fn", "lambda", 1, 1, "us-east-1"), ""),
        (bound(1.0), G5, ""),
        (SavingsPlan("sagemaker-savings-plan", 1.0, {}), ENDPOINT, ""),
        (
            compute(1.0),
            ENDPOINT,
            "Compute Savings Plans cover ec2, fargate, lambda only; ml.g5 is sagemaker usage.",
        ),
        (
            SavingsPlan("sagemaker-savings-plan", 1.0, {}),
            G5,
            "SageMaker Savings Plans cover sagemaker only; g5 is ec2 usage.",
        ),
        (
            bound(1.0),
            G6,
            "This EC2 Instance Savings Plan covers g5 in us-east-1 only; g6 is g6 in us-east-1.",
        ),
        (
            bound(1.0),
            Usage("g5", "ec2", 4, 1.0, "eu-west-1", "g5"),
            "This EC2 Instance Savings Plan covers g5 in us-east-1 only; g5 is g5 in eu-west-1.",
        ),
        (
            bound(1.0),
            FARGATE,
            "EC2 Instance Savings Plans cover ec2 only; fargate is fargate usage.",
        ),
        (
            compute(1.0),
            Usage("cheap", "ec2", 1, 0.4, "us-east-1", "g5", spot=True),
            "cheap runs on Spot, and no Savings Plan covers Spot.",
        ),
    ],
)
def test_coverage(plan, usage, reason):
    assert why_not_covered(plan, usage) == reason
    bill = bill_hour([usage], [SavingsPlan(plan.kind, 1.0, {usage.name: usage.on_demand / 2},
                                           plan.family, plan.region)])  # fmt: skip
    assert bool(bill.used) == (reason == "")


def test_a_covered_usage_without_a_rate_is_refused_and_stays_on_demand():
    bill = bill_hour([G5], [compute(1.0)])
    assert [refusal.code for refusal in bill.refusals] == ["UNKNOWN_PRICE"]
    assert "covers g5, but its rate is not known" in bill.refusals[0].detail
    assert bill.total == pytest.approx(1.0 + 4.0)


def test_the_terms_add_up():
    bill = bill_hour([G5, G6], [compute(1.32, g5=0.66, g6=0.6)])
    terms = {term.name: term.value for term in bill.terms()}
    assert terms["commitment"] + terms["g5, on demand"] + terms["g6, on demand"] == pytest.approx(
        terms["total"]
    )


QUANTITIES, PRICES = st.floats(0, 1e6), st.floats(1e-6, 1e6)


@st.composite
def hours(draw: st.DrawFn) -> tuple[list[Usage], list[SavingsPlan]]:
    usages = [
        Usage(
            f"u{i}",
            draw(st.sampled_from(("ec2", "fargate", "lambda", "sagemaker"))),
            draw(QUANTITIES),
            draw(PRICES),
            draw(st.sampled_from(("us-east-1", "eu-west-1"))),
            draw(st.sampled_from(("g5", "g6"))),
            draw(st.booleans()),
        )
        for i in range(draw(st.integers(0, 5)))
    ]
    plans = []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(sorted(PLAN_KINDS)))
        rates = {u.name: u.on_demand * draw(st.floats(0.01, 1)) for u in usages}
        scope = FAMILY if PLAN_KINDS[kind].bound else {}
        plans.append(SavingsPlan(kind, draw(st.floats(1e-6, 1e6)), rates, **scope))
    return usages, plans


@given(hours())
def test_a_bill_never_falls_below_the_commitment_and_covers_everything_once(hour):
    usages, plans = hour
    bill = bill_hour(usages, plans)
    assert bill.total >= bill.commitment
    assert 0 <= bill.used <= bill.commitment
    for usage in usages:
        billed = sum(line.quantity for line in bill.lines if line.usage == usage)
        assert billed == pytest.approx(usage.quantity, rel=1e-9, abs=1e-9)
    for p, plan in enumerate(plans):
        spent = sum(line.amount for line in bill.lines if line.plan == p)
        assert spent <= plan.commitment * (1 + 1e-9)
    assert all_finite(bill.total, bill.lost, bill.without_plans, bill.utilisation)


@given(hours())
def test_plans_save_what_they_cover_and_cost_what_they_lose(hour):
    bill = bill_hour(*hour)
    saved = sum(
        line.quantity * (line.usage.on_demand - line.rate)
        for line in bill.lines
        if line.plan is not None
    )
    assert bill.total == pytest.approx(bill.without_plans - saved + bill.lost, rel=1e-9, abs=1e-6)


@given(hours())
def test_usage_stays_on_demand_only_when_every_plan_for_it_is_spent(hour):
    usages, plans = hour
    bill = bill_hour(usages, plans)
    for line in bill.lines:
        if line.plan is None and line.quantity > 1e-6 * line.usage.quantity:
            for p, plan in enumerate(plans):
                if not why_not_covered(plan, line.usage):
                    spent = sum(one.amount for one in bill.lines if one.plan == p)
                    assert spent == pytest.approx(plan.commitment, rel=1e-9)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda: compute(0.0), "commitment must lie between 0.000000001 and 1,000,000,000 USD/h, "
         "not 0.0."),
        (lambda: compute(1.0, g5=-1), "The plan rate of g5 must lie between 0.000000001 and "
         "1,000,000,000 USD per unit, not -1."),
        (lambda: SavingsPlan("ec2-instance-savings-plan", 1.0, {}), "An EC2 Instance Savings Plan "
         "needs its family and its region."),
        (lambda: SavingsPlan("compute-savings-plan", 1.0, {}, **FAMILY), "A Compute Savings Plan "
         "is bound to no family and no region."),
        (lambda: bill_hour([G5, G5], []), "Two usages have the same name: plan rates could not "
         "tell them apart."),
        (lambda: bill_hour([G5], [compute(1.0, g5=1.5)]), "The Compute Savings Plan rate of g5 "
         "($1.50) is above its on-demand price ($1.00)."),
        (lambda: Usage("x", "ec2", -1, 1, "us-east-1"), "x's quantity must lie between 0 and "
         "1,000,000,000 units an hour, not -1."),
    ],
)  # fmt: skip
def test_bad_input_is_named_in_one_sentence(wrong, sentence):
    with pytest.raises(SizingError) as raised:
        wrong()
    assert str(raised.value) == sentence


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean compute-savings-plan"):
        SavingsPlan("compute-saving-plan", 1.0, {})
    with pytest.raises(UnknownNameError, match="did you mean fargate"):
        Usage("x", "fargates", 1, 1, "us-east-1")
