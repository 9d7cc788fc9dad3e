"""Stale and unsourced rows are found, on the day that is asked about."""

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.catalog import Catalog, checks, snapshots
from labkit.catalog.checks import facts, stale_facts, unsourced
from labkit.catalog.interruptions import interruptions

CATALOG = Catalog.load("2026-11-30")


def test_everything_shipped_is_sourced():
    assert unsourced(CATALOG) == []
    assert len(list(facts(CATALOG))) == sum(
        (
            len(CATALOG.accelerators()),
            len(CATALOG.cpus()),
            len(CATALOG.instances()),
            len(list(CATALOG.prices())),
            len(interruptions(CATALOG.snapshot)),
            len(CATALOG.models()),
        )
    )


def test_a_row_without_a_listed_source_is_found(monkeypatch):
    real = snapshots.rows

    def tampered(snapshot, table):
        for row in real(snapshot, table):
            if table == "instances" and row["name"] == "g5.xlarge":
                row = {**row, "source": "hearsay"}  # noqa: PLW2901 - the point of the test
            yield row

    monkeypatch.setattr(checks.snapshots, "rows", tampered)
    assert [f.name for f in unsourced(CATALOG)] == ["g5.xlarge"]


def test_a_row_without_any_source_is_found(monkeypatch):
    card = CATALOG.accelerator("T4")
    bare = replace(card, provenance=replace(card.provenance, source=" "))
    fresh = Catalog("2026-11-30")
    monkeypatch.setitem(fresh._accelerators, "T4", bare)
    assert [f.name for f in unsourced(fresh)] == ["T4"]


def test_every_table_of_the_snapshot_is_looked_at():
    data = Path(snapshots.__file__).parent / "data" / CATALOG.snapshot
    tables = {path.stem for path in data.iterdir()}
    assert {fact.table for fact in facts(CATALOG)} == tables - {"sources"}


def test_prices_and_interruptions_expire_and_silicon_does_not():
    assert stale_facts(CATALOG, date(2020, 1, 1)) == []
    late = stale_facts(CATALOG, date(2030, 1, 1))
    assert {f.table for f in late} == {"prices", "interruptions"}
    assert len(late) == len(list(CATALOG.prices())) + len(interruptions(CATALOG.snapshot))


@settings(deadline=None, max_examples=40)
@given(st.dates(date(2024, 1, 1), date(2030, 1, 1)), st.integers(0, 400))
def test_what_is_stale_stays_stale(day, later):
    first = {f.name for f in stale_facts(CATALOG, day)}
    then = {f.name for f in stale_facts(CATALOG, day + timedelta(days=later))}
    assert first <= then


def test_the_last_day_is_still_good():
    price = CATALOG.instance("g5.xlarge").price()
    assert price is not None
    assert price.provenance.expires is not None
    assert not price.provenance.stale(price.provenance.expires)
    assert price.provenance.stale(price.provenance.expires + timedelta(days=1))
