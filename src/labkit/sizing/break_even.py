"""Break-evens: the value of one quantity at which two ways to pay cost the same.

Each function returns a `BreakEven` with both costs at that point, so that a reader can see the
equality. `at` None: one way is cheaper whatever the quantity, and `meaning` says which.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.sizing.checks import SizingError
from labkit.sizing.money import (
    HOURS_PER_MONTH,
    LEAST,
    MILLION,
    MOST,
    plain,
    require_between,
    require_hours,
    require_usd,
    usd,
)
from labkit.sizing.terms import Term


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Where two costs meet. `left_usd` and `right_usd` are equal at `at` (same unit of time).

    reachable: the point lies within what is possible (a share of at most 1, a load within the
    capacity). `meaning`: what holds on either side, in one sentence.
    """

    name: str
    at: float | None
    unit: str
    left: str
    left_usd: float | None
    right: str
    right_usd: float | None
    reachable: bool
    meaning: str

    def terms(self) -> tuple[Term, ...]:
        """The point, and the two costs there."""
        section = f"Break-even: {self.name}"
        return (
            Term(section, "break-even", self.at, self.unit, self.meaning),
            Term(section, self.left, self.left_usd, "USD", "at the break-even"),
            Term(section, self.right, self.right_usd, "USD", "at the break-even"),
        )


def savings_plan_hours(on_demand: float, plan_rate: float) -> BreakEven:
    """Hours of a month of 730 h above which committing to an instance beats paying on demand.

    730 x plan rate = hours x on-demand price. hours / 730 is the plan's break-even utilisation.
    """
    require_usd("on_demand", on_demand)
    require_usd("plan_rate", plan_rate)
    hours = HOURS_PER_MONTH * plan_rate / on_demand
    reachable = hours <= HOURS_PER_MONTH
    return BreakEven(
        name="Savings Plan or On-Demand",
        at=hours,
        unit="h/month",
        left="committed, per month",
        left_usd=HOURS_PER_MONTH * plan_rate,
        right="on demand, per month",
        right_usd=hours * on_demand,
        reachable=reachable,
        meaning=(
            f"The commitment pays from {hours:,.0f} of 730 hours on "
            f"({plan_rate / on_demand:.0%} utilisation)."
            if reachable
            else "The plan's rate is above the on-demand price: it never pays."
        ),
    )


def spot_lost_hours(on_demand: float, spot: float, rate: float) -> BreakEven:
    """Hours lost per interruption at which Spot costs as much per served hour as on demand.

    spot x (1 + rate x lost) = on demand; `rate` in interruptions per hour and replica (above 0).
    """
    require_usd("on_demand", on_demand)
    require_usd("spot", spot)
    require_between("rate", rate, LEAST, 1, "interruptions per hour")
    if spot >= on_demand:
        return BreakEven(
            "Spot or On-Demand, hours lost per interruption", None, "h/interruption",
            "Spot, per served hour", None, "on demand, per hour", None, reachable=False,
            meaning="Spot costs no less than on demand: it never pays.",
        )  # fmt: skip
    lost = (on_demand / spot - 1) / rate
    return BreakEven(
        name="Spot or On-Demand, hours lost per interruption",
        at=lost,
        unit="h/interruption",
        left="Spot, per served hour",
        left_usd=spot * (1 + rate * lost),
        right="on demand, per hour",
        right_usd=on_demand,
        reachable=True,
        meaning=f"Spot pays while an interruption costs less than {lost:,.1f} served hours.",
    )


def spot_replicas(on_demand: float, spot: float, needed: int) -> BreakEven:
    """Spot replicas, spares included, that cost as much as `needed` replicas on demand.

    replicas x spot = needed x on demand.
    """
    require_usd("on_demand", on_demand)
    require_usd("spot", spot)
    require_between("needed", needed, 1, MOST, "replicas")
    replicas = needed * on_demand / spot
    return BreakEven(
        name="Spot with spares or On-Demand",
        at=replicas,
        unit="replicas",
        left="Spot, per hour",
        left_usd=replicas * spot,
        right="on demand, per hour",
        right_usd=needed * on_demand,
        reachable=replicas >= needed,
        meaning=(
            f"Spot pays with up to {replicas - needed:,.1f} spares for {plain(needed)} replicas."
            if replicas > needed
            else "Spot costs no less than on demand: there is no room for a spare."
        ),
    )


def own_fleet(
    usd_per_month: float,
    usd_per_unit: float,
    capacity_per_month: float,
    unit: str = "requests",
) -> BreakEven:
    """Units a month above which a fleet at a fixed monthly price beats paying per use.

    units x price per unit = fleet price per month. The unit is a request (`per_use`), or a token
    at the API's `blended_token_price`; the capacity is in the same unit. Not reachable where the
    point is more than the fleet can serve: then no number of such fleets is cheaper, for price
    and capacity grow alike.
    """
    require_between("usd_per_month", usd_per_month, LEAST, MOST**2, "USD/month")
    require_between("usd_per_unit", usd_per_unit, LEAST**2, MOST, f"USD for one of the {unit}")
    require_between("capacity_per_month", capacity_per_month, LEAST, MOST**2, f"{unit}/month")
    units = usd_per_month / usd_per_unit
    reachable = units <= capacity_per_month
    return BreakEven(
        name="own fleet or pay per use",
        at=units,
        unit=f"{unit}/month",
        left="own fleet, per month",
        left_usd=usd_per_month,
        right="per use, per month",
        right_usd=units * usd_per_unit,
        reachable=reachable,
        meaning=(
            f"The fleet is cheaper from {units:,.0f} {unit} a month on "
            f"({units / capacity_per_month:.0%} of its capacity)."
            if reachable
            else f"The fleet would have to serve {units:,.0f} {unit} a month and can serve "
            f"{capacity_per_month:,.0f}: paying per use is cheaper at any load."
        ),
    )


def blended_token_price(
    usd_per_million_input: float,
    usd_per_million_output: float,
    prompt_tokens: float,
    output_tokens: float,
) -> float:
    """An API's USD per token, input and output in the workload's proportion.

    (prompt x input price + output x output price) / (prompt + output). Prices per 1,000,000.
    """
    require_usd("usd_per_million_input", usd_per_million_input, "USD/1M tokens")
    require_usd("usd_per_million_output", usd_per_million_output, "USD/1M tokens")
    require_between("prompt_tokens", prompt_tokens, LEAST, MOST, "tokens")
    require_between("output_tokens", output_tokens, LEAST, MOST, "tokens")
    whole = prompt_tokens * usd_per_million_input + output_tokens * usd_per_million_output
    return whole / (prompt_tokens + output_tokens) / MILLION


def sagemaker_work(ec2: float, sagemaker: float, fleet_size: int, hours: float) -> BreakEven:
    """What running the fleet yourself on EC2 may cost a month before SageMaker is cheaper.

    fleet x hours x EC2 + work = fleet x hours x SageMaker.
    """
    require_usd("ec2", ec2)
    require_usd("sagemaker", sagemaker)
    require_between("fleet_size", fleet_size, 1, MOST, "instances")
    require_hours("hours", hours)
    work = fleet_size * hours * (sagemaker - ec2)
    if work < 0:
        return BreakEven(
            "SageMaker or EC2", None, "USD/month", "EC2 and your work, per month", None,
            "SageMaker, per month", None, reachable=False,
            meaning="SageMaker's price is below EC2's: it is cheaper whatever your work costs.",
        )  # fmt: skip
    return BreakEven(
        name="SageMaker or EC2",
        at=work,
        unit="USD/month",
        left="EC2 and your work, per month",
        left_usd=fleet_size * hours * ec2 + work,
        right="SageMaker, per month",
        right_usd=fleet_size * hours * sagemaker,
        reachable=True,
        meaning=f"EC2 pays while running it yourself costs less than {usd(work)} a month.",
    )


def small_price(large: float, large_count: int, small_count: int) -> BreakEven:
    """The hourly price of one small instance at which several of them cost what the large do.

    small count x price = large count x large price. Counts come from `fleet_shapes`.
    """
    require_usd("large", large)
    for name, count in (("large_count", large_count), ("small_count", small_count)):
        require_between(name, count, 1, MOST, "instances")
    total = large_count * large
    if total / small_count < LEAST:
        raise SizingError(f"{small_count} instances for {usd(total)} an hour are no real choice.")
    price = total / small_count
    return BreakEven(
        name="one large or several small",
        at=price,
        unit="USD/h",
        left="small instances, per hour",
        left_usd=small_count * price,
        right="large instances, per hour",
        right_usd=total,
        reachable=True,
        meaning=f"{small_count} small are cheaper while one costs less than {usd(price)} an hour.",
    )
