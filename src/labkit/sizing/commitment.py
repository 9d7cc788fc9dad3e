"""How much to commit: the cheapest Savings Plan commitment for a demand that changes by the hour.

Each further instance under the plan costs its rate in every hour and saves the on-demand price in
the hours that need it. So the k-th instance pays while

    share of hours with demand >= k   >   plan rate / on-demand price

which is also the break-even utilisation of the plan (`break_even`). The rule is exact: the cost
is convex in the number committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.sizing.checks import SizingError, require_count
from labkit.sizing.money import require_usd
from labkit.sizing.terms import Term


@dataclass(frozen=True, slots=True)
class Commitment:
    """So many instances under a plan, the rest on demand. USD over all hours of the demand."""

    instances: int
    usd_per_hour: float
    covered_hours: int  # instance-hours of demand that the plan covers
    lost_hours: int  # committed instance-hours that nothing ran in
    on_demand_hours: int
    cost: float
    cost_without: float

    def terms(self) -> tuple[Term, ...]:
        """The sums behind the cost."""
        section, rest = "Commitment", "instance-hours"
        return (
            Term(section, "instances", self.instances, "instances", "committed in every hour"),
            Term(section, "commitment", self.usd_per_hour, "USD/h", "instances x plan rate"),
            Term(section, "covered", self.covered_hours, rest, "demand up to the commitment"),
            Term(section, "lost", self.lost_hours, rest, "committed, and nothing ran"),
            Term(section, "on demand", self.on_demand_hours, rest, "demand above the commitment"),
            Term(section, "cost", self.cost, "USD", "commitment x hours + on-demand rest"),
            Term(section, "all on demand", self.cost_without, "USD", "demand x on-demand price"),
        )


def commitment(
    demand: Sequence[int], on_demand: float, plan_rate: float, instances: int
) -> Commitment:
    """What a commitment of `instances` costs over `demand`, a list of instances needed per hour.

    Prices in USD per instance-hour. Raises `SizingError` for an empty demand, negative counts,
    or a plan rate above the on-demand price.
    """
    _check(demand, on_demand, plan_rate)
    require_count("instances", instances, minimum=0)
    covered = sum(min(needed, instances) for needed in demand)
    total = sum(demand)
    committed = instances * len(demand)
    beyond = total - covered
    return Commitment(
        instances=instances,
        usd_per_hour=instances * plan_rate,
        covered_hours=covered,
        lost_hours=committed - covered,
        on_demand_hours=beyond,
        cost=committed * plan_rate + beyond * on_demand,
        cost_without=total * on_demand,
    )


def best_commitment(demand: Sequence[int], on_demand: float, plan_rate: float) -> Commitment:
    """The cheapest commitment for `demand`; of equal ones the smaller. Raises as `commitment`."""
    _check(demand, on_demand, plan_rate)
    # In falling order, hour number j (from 0) needs at least k instances as long as
    # ordered[j] >= k: the k-th instance is needed in more than `pays` hours while this one is.
    ordered = sorted(demand, reverse=True)
    pays = plan_rate / on_demand * len(demand)
    hours = int(pays) + 1  # the smallest whole number of hours above `pays`
    instances = ordered[hours - 1] if hours <= len(demand) else 0
    return commitment(demand, on_demand, plan_rate, instances)


def _check(demand: Sequence[int], on_demand: float, plan_rate: float) -> None:
    if not demand:
        raise SizingError("The demand needs at least one hour.")
    for needed in demand:
        require_count("An hour's demand", needed, minimum=0)
    require_usd("on_demand", on_demand)
    require_usd("plan_rate", plan_rate)
    if plan_rate > on_demand:
        raise SizingError(
            f"A plan rate of {plan_rate} USD/h above the on-demand price of {on_demand} USD/h "
            "never pays."
        )
