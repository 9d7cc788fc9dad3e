"""Savings Plans: what each kind covers, and one hour's bill under them.

A plan is a promise to spend so many USD in every hour of 1 or 3 years. Covered usage is charged at
the plan's own lower rate until the promise is spent; the rest of the hour is on demand. What is
not spent in an hour is paid and lost: nothing is carried over.

- EC2 Instance Savings Plan: EC2 of one instance family in one region; any size, operating system
  and tenancy of it.
- Compute Savings Plan: EC2 of any family, size, region, operating system and tenancy, and Fargate
  and Lambda. Not SageMaker.
- SageMaker Savings Plan: SageMaker's ml.* usage of any family, size and region, and nothing else.

None covers Spot or Capacity Blocks, which have prices of their own.

Order within the hour: EC2 Instance plans before Compute plans; within a kind the usage with the
highest saving against on demand first, and of equal savings the lowest plan rate first.

Sources: "Understanding how Savings Plans apply to your AWS usage", Savings Plans User Guide, and
"Savings Plans FAQs" (aws.amazon.com), both read 2026-11-30. Reserved Instances, which come
before any plan, and the sharing between accounts are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labkit.contract.errors import UnknownNameError
from labkit.sizing.checks import SizingError
from labkit.sizing.money import LEAST, MOST, plain, require_between, require_usd, usd
from labkit.sizing.refusal import Refusal, RefusalCode
from labkit.sizing.terms import Term

SERVICES = ("ec2", "fargate", "lambda", "sagemaker")


@dataclass(frozen=True, slots=True)
class PlanKind:
    """The coverage rule of one kind of plan; `turn` is its place in the order of applying."""

    name: str
    title: str
    services: frozenset[str]
    bound: bool  # to one family in one region
    turn: int


PLAN_KINDS: Mapping[str, PlanKind] = {
    kind.name: kind
    for kind in (
        PlanKind(
            "ec2-instance-savings-plan",
            "EC2 Instance Savings Plan",
            frozenset({"ec2"}),
            bound=True,
            turn=0,
        ),
        PlanKind(
            "compute-savings-plan",
            "Compute Savings Plan",
            frozenset({"ec2", "fargate", "lambda"}),
            bound=False,
            turn=1,
        ),
        PlanKind(
            "sagemaker-savings-plan",
            "SageMaker Savings Plan",
            frozenset({"sagemaker"}),
            bound=False,
            turn=2,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Usage:
    """What ran in one hour: `quantity` units (instance-hours) at `on_demand` USD each.

    `service` is one of `SERVICES`; `family` the EC2 family ("g5"). `spot`: it ran on Spot, and
    then `on_demand` is the Spot price.
    """

    name: str
    service: str
    quantity: float
    on_demand: float
    region: str
    family: str = ""
    spot: bool = False

    def __post_init__(self) -> None:
        if self.service not in SERVICES:
            raise UnknownNameError("service", self.service, SERVICES)
        require_between(f"{self.name}'s quantity", self.quantity, 0, MOST, "units an hour")
        require_usd(f"{self.name}'s on-demand price", self.on_demand, "USD per unit")


@dataclass(frozen=True, slots=True)
class SavingsPlan:
    """A commitment in USD/h, and its rates: usage name to USD per unit under this plan.

    `family` and `region` bind an EC2 Instance Savings Plan, and must be empty for the others.
    """

    kind: str
    commitment: float
    rates: Mapping[str, float]
    family: str = ""
    region: str = ""

    def __post_init__(self) -> None:
        if self.kind not in PLAN_KINDS:
            raise UnknownNameError("Savings Plan", self.kind, PLAN_KINDS)
        require_between("commitment", self.commitment, LEAST, MOST, "USD/h")
        for name, rate in self.rates.items():
            require_usd(f"The plan rate of {name}", rate, "USD per unit")
        bound = PLAN_KINDS[self.kind].bound
        if bound and not (self.family and self.region):
            raise SizingError(f"An {self.title} needs its family and its region.")
        if not bound and (self.family or self.region):
            raise SizingError(f"A {self.title} is bound to no family and no region.")

    @property
    def title(self) -> str:
        """The kind's name in words."""
        return PLAN_KINDS[self.kind].title


def why_not_covered(plan: SavingsPlan, usage: Usage) -> str:
    """Why this plan leaves this usage on demand, in one sentence; empty where it covers it."""
    kind = PLAN_KINDS[plan.kind]
    if usage.spot:
        return f"{usage.name} runs on Spot, and no Savings Plan covers Spot."
    if usage.service not in kind.services:
        covered = ", ".join(sorted(kind.services))
        return f"{kind.title}s cover {covered} only; {usage.name} is {usage.service} usage."
    if kind.bound and (usage.family, usage.region) != (plan.family, plan.region):
        return (
            f"This {kind.title} covers {plan.family} in {plan.region} only; {usage.name} is "
            f"{usage.family} in {usage.region}."
        )
    return ""


@dataclass(frozen=True, slots=True)
class BillLine:
    """A part of one usage and what pays for it: `plan` is its place in the list, None on demand."""

    usage: Usage
    plan: int | None
    quantity: float
    rate: float

    @property
    def amount(self) -> float:
        """USD: a covered part is paid out of the commitment, the rest is on top of it."""
        return self.quantity * self.rate


@dataclass(frozen=True, slots=True)
class HourBill:
    """One hour under a set of plans. `refusals` is not empty where a plan's rate is unknown; the
    usage then stays on demand, so `total` is an upper bound.
    """

    lines: tuple[BillLine, ...]
    commitment: float
    refusals: tuple[Refusal, ...] = ()

    @property
    def on_demand(self) -> float:
        """USD for what no plan covered."""
        return sum(line.amount for line in self.lines if line.plan is None)

    @property
    def used(self) -> float:
        """USD of the commitment that covered something."""
        return min(
            self.commitment, sum(line.amount for line in self.lines if line.plan is not None)
        )

    @property
    def lost(self) -> float:
        """USD of the commitment that covered nothing: paid all the same."""
        return self.commitment - self.used

    @property
    def total(self) -> float:
        """USD for the hour: the whole commitment and the on-demand rest."""
        return self.commitment + self.on_demand

    @property
    def without_plans(self) -> float:
        """USD for the same usage with no plan at all."""
        return sum(line.quantity * line.usage.on_demand for line in self.lines)

    @property
    def utilisation(self) -> float:
        """Used share of the commitment; 1 where there is none."""
        return self.used / self.commitment if self.commitment else 1.0

    def terms(self) -> tuple[Term, ...]:
        """The bill line by line."""
        section = "One hour's bill"
        lines = tuple(
            Term(
                section,
                f"{line.usage.name}, {'on demand' if line.plan is None else 'covered'}",
                line.amount,
                "USD",
                f"{plain(line.quantity)} x {usd(line.rate)}",
            )
            for line in self.lines
        )
        return (
            *lines,
            Term(section, "commitment", self.commitment, "USD", "paid whether used or not"),
            Term(section, "lost commitment", self.lost, "USD", "commitment - covered usage"),
            Term(section, "total", self.total, "USD", "commitment + on-demand rest"),
        )


def bill_hour(usages: Sequence[Usage], plans: Sequence[SavingsPlan]) -> HourBill:
    """One hour's bill, in AWS's order of applying plans (see the module).

    A usage that a plan covers and has no rate for is refused as UNKNOWN_PRICE, and stays on
    demand. Raises `SizingError` for two usages of one name, and for a plan rate above on demand.
    """
    if len({usage.name for usage in usages}) < len(usages):
        raise SizingError("Two usages have the same name: plan rates could not tell them apart.")
    left = [usage.quantity for usage in usages]
    unspent = [plan.commitment for plan in plans]
    lines, refusals = [], []
    pairs = []
    for p, plan in enumerate(plans):
        for u, usage in enumerate(usages):
            if why_not_covered(plan, usage):
                continue
            rate = plan.rates.get(usage.name)
            if rate is None:
                refusals.append(_no_rate(plan, usage))
                continue
            if rate > usage.on_demand:
                raise SizingError(
                    f"The {plan.title} rate of {usage.name} ({usd(rate)}) is above its on-demand "
                    f"price ({usd(usage.on_demand)})."
                )
            saving = 1 - rate / usage.on_demand
            pairs.append((PLAN_KINDS[plan.kind].turn, -saving, rate, p, u))
    for _, _, rate, p, u in sorted(pairs):
        affordable = unspent[p] / rate
        quantity = min(left[u], affordable)
        if quantity <= 0:
            continue
        left[u] -= quantity
        # What is spent to the end is spent exactly: rounding must not leave a crumb to cover more.
        unspent[p] = 0.0 if quantity == affordable else unspent[p] - quantity * rate
        lines.append(BillLine(usages[u], p, quantity, rate))
    lines += [
        BillLine(usage, None, quantity, usage.on_demand)
        for usage, quantity in zip(usages, left, strict=True)
        if quantity > 0
    ]
    return HourBill(tuple(lines), sum(plan.commitment for plan in plans), tuple(refusals))


def _no_rate(plan: SavingsPlan, usage: Usage) -> Refusal:
    return Refusal(
        RefusalCode.UNKNOWN_PRICE,
        f"The {plan.title} covers {usage.name}, but its rate is not known: give it in USD per "
        "unit, with its source and date.",
    )
