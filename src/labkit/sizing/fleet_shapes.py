"""One large instance or several small ones: what each fleet costs for the same load.

Capacity comes whole: a fleet has ceil(load / capacity of one) instances, and spares on top. Large
ones leave more unused at a small load, and lose more when one fails.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from labkit.sizing.checks import SizingError, require_count
from labkit.sizing.money import LEAST, MOST, require_between, require_usd
from labkit.sizing.terms import Term


@dataclass(frozen=True, slots=True)
class Candidate:
    """One instance as a building block: USD/h, and requests/s that it serves under the SLO."""

    name: str
    usd_per_hour: float
    capacity_requests_per_s: float

    def __post_init__(self) -> None:
        require_usd(f"The price of {self.name}", self.usd_per_hour)
        require_between(
            f"The capacity of {self.name}", self.capacity_requests_per_s, LEAST, MOST, "requests/s"
        )


@dataclass(frozen=True, slots=True)
class Shape:
    """So many of one candidate for a load. `lost_share`: capacity that goes with one instance."""

    candidate: Candidate
    instances: int
    spares: int
    usd_per_hour: float
    utilisation: float
    lost_share: float

    def terms(self) -> tuple[Term, ...]:
        """The counts and the price behind this shape."""
        one, section = self.candidate, f"Fleet of {self.candidate.name}"
        return (
            Term(section, "capacity of one", one.capacity_requests_per_s, "requests/s", "given"),
            Term(
                section, "instances", self.instances, "instances", "ceil(load / capacity) + spares"
            ),
            Term(section, "fleet", self.usd_per_hour, "USD/h", "instances x price"),
            Term(section, "utilisation", self.utilisation, "1", "load / capacity of all"),
            Term(section, "lost with one", self.lost_share, "1", "1 / instances"),
        )


def shape(candidate: Candidate, requests_per_s: float, spares: int = 0) -> Shape:
    """The smallest fleet of `candidate` for the load, and `spares` (1: it survives a failure).

    Raises `SizingError` where more than 1,000,000,000 instances would be needed.
    """
    require_between("requests_per_s", requests_per_s, LEAST, MOST, "requests/s")
    require_count("spares", spares, minimum=0)
    ratio = requests_per_s / candidate.capacity_requests_per_s
    if ratio > MOST:
        raise SizingError(
            f"{requests_per_s} requests/s need more than {MOST:,.0f} of {candidate.name}."
        )
    count = max(1, math.ceil(ratio)) + spares
    return Shape(
        candidate=candidate,
        instances=count,
        spares=spares,
        usd_per_hour=count * candidate.usd_per_hour,
        utilisation=min(1.0, ratio / count),
        lost_share=1 / count,
    )


def shapes(
    candidates: Sequence[Candidate], requests_per_s: float, spares: int = 0
) -> tuple[Shape, ...]:
    """All candidates' fleets, the cheapest first; of equal ones the one that loses less."""
    if not candidates:
        raise SizingError("Comparing fleets needs at least one instance type.")
    found = [shape(candidate, requests_per_s, spares) for candidate in candidates]
    return tuple(sorted(found, key=lambda one: (one.usd_per_hour, one.lost_share)))
