"""How often AWS takes Spot capacity back: the band it publishes for each type, with its day.

The band is the share of a type's Spot capacity in a region that was reclaimed over a month. AWS
rounds it to five bands; the last, "more than 20 %", has no upper end. The figures move from month
to month, so they expire like prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cache

from labkit.catalog import snapshots
from labkit.catalog.provenance import PRICE_LIFE
from labkit.catalog.specs import Confidence, Provenance


@dataclass(frozen=True, slots=True)
class InterruptionBand:
    """Shares of a month's capacity, 0 to 1. `high` None: the band is open above `low`."""

    instance: str
    region: str
    low: float
    high: float | None
    provenance: Provenance

    @property
    def words(self) -> str:
        """As AWS prints it: "<5%", "5-10%", ">20%"."""
        low = f"{self.low:.0%}".removesuffix("%")
        if self.high is None:
            return f">{low}%"
        high = f"{self.high:.0%}"
        return f"<{high}" if self.low == 0 else f"{low}-{high}"

    @property
    def cautious_share(self) -> float:
        """The band's upper end; its lower end where it has none, and then it is "at least"."""
        return self.low if self.high is None else self.high


@cache
def interruptions(snapshot: str) -> dict[tuple[str, str], InterruptionBand]:
    """Every published band of the snapshot by (instance type, region). Raises `CatalogError`."""
    return {
        (row["name"], row["region"]): InterruptionBand(
            instance=row["name"],
            region=row["region"],
            low=float(row["low"]),
            high=float(row["high"]) if row["high"] else None,
            provenance=_provenance(row),
        )
        for row in snapshots.rows(snapshot, "interruptions")
    }


def interruption(snapshot: str, instance: str, region: str) -> InterruptionBand | None:
    """The band of one type in one region, or None where none was published or taken down."""
    return interruptions(snapshot).get((instance, region))


def _provenance(row: dict[str, str]) -> Provenance:
    as_of = date.fromisoformat(row["as_of"])
    return Provenance(
        source=row["source"],
        as_of=as_of,
        expires=as_of + PRICE_LIFE,
        confidence=Confidence(row["confidence"]),
    )
