"""From a row's source ids, date and confidence to the `Provenance` every fact carries.

How long a fact keeps: prices 90 days, service limits 180, silicon and model shapes for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

from labkit.catalog import snapshots
from labkit.catalog.specs import Confidence, Provenance

PRICE_LIFE = timedelta(days=90)
LIMIT_LIFE = timedelta(days=180)


def sources(snapshot: str) -> dict[str, str]:
    """Source id to its description, with its own date."""
    return {
        row["id"]: f"{row['source']} ({row['as_of']})"
        for row in snapshots.rows(snapshot, "sources")
    }


def provenance(
    row: Mapping[str, str], known: Mapping[str, str], life: timedelta | None = None
) -> Provenance:
    """The provenance of a CSV row; an id that names no source stays as it is (see `checks`)."""
    as_of = date.fromisoformat(row["as_of"])
    return Provenance(
        source="; ".join(known.get(key, key) for key in row["source"].split()),
        as_of=as_of,
        expires=as_of + life if life is not None else None,
        confidence=Confidence(row["confidence"]),
        note=row["note"],
        dated=row.get("dated", "yes") == "yes",
    )
