"""Spot: how often capacity goes, what that wastes, and how many spare replicas hold the load.

AWS publishes for each type the share of capacity reclaimed in the past month, as a band. Read as
the chance p that one instance is interrupted within a month of 730 h, at a constant rate, it is

    interruptions per hour = -ln(1 - p) / 730

Waste. Every interruption costs the hours in which its replacement is paid and serves nothing:
launch, boot, model load. Price per *served* hour = Spot price x (1 + rate x lost hours). (AWS does
not charge an instance that it interrupts within its first hour; that is left out.)

Head-room. Two rules, of which the larger counts:

- independent losses: a replica is up for 1 / (1 + rate x replacement hours) of the time, so the
  number of those down is binomial. Enough spares: P(more down than spares) <= 1 - availability.
- one pool lost: a pool is one instance type in one zone. Capacity is taken from a pool, not from
  an instance, so losses come together: the independent rule alone is wrong by orders of
  magnitude. Spread evenly over k pools, n replicas must be enough when the largest pool is gone:
  n - ceil(n / k) >= needed, which is n = ceil(needed x k / (k - 1)).

Billing of interrupted hours: "Billing for interrupted Spot Instances", EC2 User Guide, read
2026-11-30.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from labkit.sizing.checks import require_count
from labkit.sizing.money import HOURS_PER_MONTH, plain, require_between, require_usd
from labkit.sizing.terms import Term

MOST_REPLICAS = 10_000
_SECTION = "Spot head-room"


@dataclass(frozen=True, slots=True)
class SpotPolicy:
    """How a Spot fleet is to hold its capacity. These are choices, not facts: put in your own.

    replacement_hours: from the loss of a replica until its replacement serves (default 6 min:
    launch, boot and model load). availability: share of the time in which enough replicas shall
    be up. pools: capacity pools (instance type x zone) the fleet is spread over, and of which it
    must survive the loss of one; None drops that rule. on_demand_base: replicas that are never
    Spot.
    """

    replacement_hours: float = 0.1
    availability: float = 0.999
    pools: int | None = 3
    on_demand_base: int = 0

    def __post_init__(self) -> None:
        require_between("replacement_hours", self.replacement_hours, 1e-6, 24, "hours")
        require_between("availability", self.availability, 0.5, 1 - 1e-9, "(a share of the time)")
        require_count("on_demand_base", self.on_demand_base, minimum=0)
        if self.pools is not None:
            # With one pool, losing it loses every replica: no number of spares holds.
            require_count("pools", self.pools, minimum=2)


@dataclass(frozen=True, slots=True)
class HeadRoom:
    """How many replicas to run so that `needed` keep serving.

    `base` are on demand, `spot` on Spot; `spares` = base + spot - needed. `independent_spares`
    and `pool_spares` are what each rule asks for; None: not asked, or no rate is known.
    `probability_short` is the share of time with fewer than `needed` up if losses were
    independent.
    """

    needed: int
    base: int
    spot: int
    independent_spares: int | None
    pool_spares: int | None
    interruptions_per_hour: float | None
    probability_short: float | None
    policy: SpotPolicy

    @property
    def replicas(self) -> int:
        """Base and Spot replicas together."""
        return self.base + self.spot

    @property
    def spares(self) -> int:
        """Replicas beyond the needed ones."""
        return self.replicas - self.needed

    def terms(self) -> tuple[Term, ...]:
        """The numbers behind it, each with its rule."""
        policy = self.policy
        rate = self.interruptions_per_hour
        return (
            Term(_SECTION, "needed", self.needed, "replicas", "given"),
            Term(_SECTION, "on-demand base", self.base, "replicas", "given"),
            Term(
                _SECTION, "interruptions", rate, "1/h per replica",
                "no band of this type is known" if rate is None else "-ln(1 - p) / 730 h",
            ),
            Term(_SECTION, "replacement", policy.replacement_hours, "h", "given"),
            Term(
                _SECTION, "spares for independent losses", self.independent_spares, "replicas",
                f"P(more down) <= {plain(1 - policy.availability)}; real losses come together",
            ),
            Term(
                _SECTION, "spares for one pool lost", self.pool_spares, "replicas",
                "not asked" if policy.pools is None
                else f"ceil(needed x {policy.pools} / {policy.pools - 1}) - needed",
            ),
            Term(_SECTION, "Spot replicas", self.spot, "replicas", "needed and the larger spares"),
            Term(
                _SECTION, "short of replicas", self.probability_short, "1",
                "share of the time, if losses were independent",
            ),
        )  # fmt: skip


def interruptions_per_hour(monthly_share: float) -> float:
    """The constant rate that interrupts this share of instances within 730 h: -ln(1-p)/730.

    >>> round(interruptions_per_hour(0.05), 7)
    7.03e-05
    """
    require_between("monthly_share", monthly_share, 0, 0.99, "(a share of a month's instances)")
    return -math.log1p(-monthly_share) / HOURS_PER_MONTH


def served_hour_price(spot: float, rate: float, lost_hours: float) -> float:
    """USD per hour in which a replica serves: spot x (1 + interruptions/h x hours lost by each)."""
    require_usd("spot", spot)
    require_between("rate", rate, 0, 1, "interruptions per hour")
    require_between("lost_hours", lost_hours, 0, 24, "hours")
    return spot * (1 + rate * lost_hours)


def head_room(needed: int, monthly_share: float | None, policy: SpotPolicy) -> HeadRoom:
    """The replicas that keep `needed` serving under `policy`; see the module for both rules.

    `monthly_share` is the chance of an interruption within a month; None: unknown, then only
    the pool rule is applied. Raises `SizingError` beyond 10,000 replicas.
    """
    require_between("needed", needed, 1, MOST_REPLICAS, "replicas")
    require_count("needed", needed)
    base = min(policy.on_demand_base, needed)
    on_spot = needed - base
    rate = None if monthly_share is None else interruptions_per_hour(monthly_share)
    independent = short = pooled = None
    if rate is not None:
        down = rate * policy.replacement_hours / (1 + rate * policy.replacement_hours)
        independent = _spares(on_spot, down, 1 - policy.availability)
    if policy.pools is not None:
        pooled = -(-on_spot * policy.pools // (policy.pools - 1)) - on_spot
    spot = on_spot + max(independent or 0, pooled or 0)
    if rate is not None:
        short = _more_down(spot, down, spot - on_spot)
    return HeadRoom(needed, base, spot, independent, pooled, rate, short, policy)


def _spares(needed: int, down: float, allowed: float) -> int:
    """The fewest spares with P(more than that many of needed + spares down) <= allowed."""
    high = 1
    while _more_down(needed + high, down, high) > allowed:
        high *= 2
    low = -1  # P falls with every spare, so halving the interval finds the edge
    while high - low > 1:
        middle = (low + high) // 2
        if _more_down(needed + middle, down, middle) <= allowed:
            high = middle
        else:
            low = middle
    return high


def _more_down(n: int, down: float, spares: int) -> float:
    """P(more than `spares` of n replicas are down), each with probability `down`."""
    if spares >= n or down <= 0.0:
        return 0.0
    up, lost = math.log1p(-down), math.log(down)
    enough = math.fsum(
        math.exp(
            math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
            + k * lost + (n - k) * up
        )
        for k in range(spares + 1)
    )  # fmt: skip
    return max(0.0, 1.0 - enough)
