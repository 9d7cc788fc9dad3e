"""A fleet that is large in some hours and small in the others: four ways to pay for the month.

Peak replicas run for `peak_hours` of 730, quiet ones for the rest (0: it is switched off).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from labkit.sizing.break_even import BreakEven
from labkit.sizing.checks import SizingError, require_count
from labkit.sizing.money import HOURS_PER_MONTH, require_hours, require_usd
from labkit.sizing.terms import Term


@dataclass(frozen=True, slots=True)
class Schedule:
    """`peak` replicas for `peak_hours` of a month of 730 h, `quiet` ones otherwise."""

    peak: int
    quiet: int
    peak_hours: float

    def __post_init__(self) -> None:
        require_count("peak", self.peak)
        require_count("quiet", self.quiet, minimum=0)
        require_hours("peak_hours", self.peak_hours)
        if self.quiet > self.peak:
            raise SizingError(
                f"The quiet fleet ({self.quiet}) must not be larger than the peak one "
                f"({self.peak})."
            )

    @property
    def instance_hours(self) -> float:
        """Instance-hours of a month."""
        return self.quiet * HOURS_PER_MONTH + (self.peak - self.quiet) * self.peak_hours


@dataclass(frozen=True, slots=True)
class MonthlyCosts:
    """USD a month by way to pay; the plan's ways are there only where its rate was given."""

    schedule: Schedule
    by_way: Mapping[str, float]

    @property
    def cheapest(self) -> str:
        """The name of the cheapest way; of equal ones the first."""
        return min(self.by_way, key=lambda way: self.by_way[way])

    @property
    def saving(self) -> float:
        """What the cheapest way saves of the always-on on-demand bill, as a share."""
        return 1 - self.by_way[self.cheapest] / self.by_way[ALWAYS_ON]

    def terms(self) -> tuple[Term, ...]:
        """Every way with its sum."""
        return tuple(
            Term("A month", way, cost, "USD", RULES[way]) for way, cost in self.by_way.items()
        )


ALWAYS_ON = "peak fleet always on, on demand"
SCALED = "scaled, on demand"
FLOOR_COMMITTED = "quiet fleet committed, the rest on demand"
ALL_COMMITTED = "peak fleet committed"
RULES: Mapping[str, str] = {
    ALWAYS_ON: "peak x 730 h x on-demand price",
    SCALED: "(quiet x 730 h + (peak - quiet) x peak hours) x on-demand price",
    FLOOR_COMMITTED: "quiet x 730 h x plan rate + (peak - quiet) x peak hours x on-demand price",
    ALL_COMMITTED: "peak x 730 h x plan rate",
}


def monthly_costs(
    schedule: Schedule, on_demand: float, plan_rate: float | None = None
) -> MonthlyCosts:
    """The month's bill by way to pay; prices in USD per instance-hour."""
    require_usd("on_demand", on_demand)
    extra = (schedule.peak - schedule.quiet) * schedule.peak_hours
    ways = {
        ALWAYS_ON: schedule.peak * HOURS_PER_MONTH * on_demand,
        SCALED: schedule.instance_hours * on_demand,
    }
    if plan_rate is not None:
        require_usd("plan_rate", plan_rate)
        floor = schedule.quiet * HOURS_PER_MONTH * plan_rate
        ways[FLOOR_COMMITTED] = floor + extra * on_demand
        ways[ALL_COMMITTED] = schedule.peak * HOURS_PER_MONTH * plan_rate
    return MonthlyCosts(schedule, ways)


def peak_hours_break_even(peak: int, quiet: int, on_demand: float, plan_rate: float) -> BreakEven:
    """Peak hours a month above which committing to the peak fleet beats scaling it on demand.

    (quiet x 730 + (peak - quiet) x hours) x on demand = peak x 730 x plan rate. Raises
    `SizingError` where the fleet never changes its size.
    """
    Schedule(peak, quiet, HOURS_PER_MONTH)
    require_usd("on_demand", on_demand)
    require_usd("plan_rate", plan_rate)
    if peak == quiet:
        raise SizingError("A fleet that never changes its size has no off-hours to scale in.")
    name, unit = "scaling or committing", "h/month"
    left, right = "scaled on demand, per month", "peak committed, per month"
    committed = peak * HOURS_PER_MONTH * plan_rate
    hours = (committed / on_demand - quiet * HOURS_PER_MONTH) / (peak - quiet)
    if hours < 0:
        return BreakEven(
            name, None, unit, left, None, right, None, reachable=False,
            meaning="The quiet fleet alone costs more on demand than the whole one committed.",
        )  # fmt: skip
    reachable = hours <= HOURS_PER_MONTH
    return BreakEven(
        name=name,
        at=hours,
        unit=unit,
        left=left,
        left_usd=(quiet * HOURS_PER_MONTH + (peak - quiet) * hours) * on_demand,
        right=right,
        right_usd=committed,
        reachable=reachable,
        meaning=(
            f"Scaling is cheaper up to {hours:,.0f} peak hours of 730; beyond, committing is."
            if reachable
            else "The plan's rate is above the on-demand price: scaling is always cheaper."
        ),
    )
