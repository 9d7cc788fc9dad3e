"""What is wrong with the facts on a given day: expired rows, rows without a source or a date.

The day is always given by the caller, so that a test or a course never fails by the calendar.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from labkit.catalog import snapshots
from labkit.catalog.catalog import Catalog
from labkit.catalog.interruptions import interruptions
from labkit.catalog.specs import Provenance


@dataclass(frozen=True, slots=True)
class Fact:
    """One row as the checks see it: which table, what it is about, where it comes from."""

    table: str
    name: str
    provenance: Provenance | None


def facts(catalog: Catalog) -> Iterator[Fact]:
    """Every row of every table."""
    for accelerator in catalog.accelerators():
        yield Fact("accelerators", accelerator.name, accelerator.provenance)
    for cpu in catalog.cpus():
        yield Fact("cpus", cpu.name, cpu.provenance)
    for instance in catalog.instances():
        yield Fact("instances", instance.name, instance.provenance)
    for name, price in catalog.prices():
        yield Fact("prices", f"{name} {price.kind} {price.region}", price.provenance)
    for (name, region), band in interruptions(catalog.snapshot).items():
        yield Fact("interruptions", f"{name} interruption {region}", band.provenance)
    for model in catalog.models():
        yield Fact("models", model.name, model.provenance)


def stale_facts(catalog: Catalog, on: date) -> list[Fact]:
    """The rows that have expired by the day `on`, the longest expired first."""
    stale = [f for f in facts(catalog) if f.provenance is not None and f.provenance.stale(on)]
    return sorted(stale, key=_expiry)


def _expiry(fact: Fact) -> date:
    expires = fact.provenance.expires if fact.provenance else None
    return expires or date.max


def unsourced(catalog: Catalog) -> list[Fact]:
    """The rows that name no source, or an id that `sources.csv` does not list."""
    known = {row["id"] for row in snapshots.rows(catalog.snapshot, "sources")}
    listed = {
        table: {
            _key(table, row): set(row["source"].split()) <= known
            for row in snapshots.rows(catalog.snapshot, table)
        }
        for table in ("accelerators", "cpus", "instances", "prices")
    }
    return [
        fact
        for fact in facts(catalog)
        if fact.provenance is None
        or not fact.provenance.source.strip()
        or not listed.get(fact.table, {}).get(fact.name, True)
    ]


def _key(table: str, row: dict[str, str]) -> str:
    return f"{row['name']} {row['kind']} {row['region']}" if table == "prices" else row["name"]
