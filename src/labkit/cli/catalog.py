"""`labkit catalog show|check`: facts with source and age, and which of them need attention."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from typing import Annotated, Any

import typer

from labkit.catalog import Catalog, stale_facts, unsourced
from labkit.catalog.checks import Fact, facts
from labkit.cli import catalog_view as view
from labkit.cli.catalog_detail import detail, plain
from labkit.cli.catalog_tables import LEGENDS, TABLES
from labkit.cli.common import CommandError, console, emit_json, fail
from labkit.contract.errors import LabkitError, nearest

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Facts about instances, accelerators, models, prices and number formats.",
)

On = Annotated[str | None, typer.Option(help="The day to judge age by, YYYY-MM-DD.  [today]")]
Snapshot = Annotated[str | None, typer.Option(help="A snapshot's date.  [default: the newest]")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback(invoke_without_command=True)
def overview(context: typer.Context) -> None:
    """Facts about instances, accelerators, models, prices and number formats."""
    if context.invoked_subcommand is None:
        _overview(Catalog.load(), date.today(), json=False)


@app.command()
def show(
    what: Annotated[
        str | None,
        typer.Argument(
            help="instances, accelerators, cpus, models, prices, formats – or one thing's name."
        ),
    ] = None,
    match: Annotated[
        str | None, typer.Argument(help="Only rows whose name holds this text.")
    ] = None,
    family: Annotated[str, typer.Option(help="Instances of one family, e.g. g6e.")] = "",
    kind: Annotated[
        str,
        typer.Option(help="Instances: gpu, neuron, cpu. Prices: on-demand, spot, sagemaker."),
    ] = "",
    region: Annotated[str, typer.Option(help="AWS region of the prices.")] = "",
    on: On = None,
    snapshot: Snapshot = None,
    json: AsJson = False,
) -> None:
    """Show a table, everything known of one thing, or (without argument) what there is."""
    catalog, day = Catalog.load(snapshot), _day(on)
    if what is None:
        _overview(catalog, day, json)
        return
    table = what.strip().casefold()
    if table in TABLES:
        rows, columns = TABLES[table](catalog, day, family, kind, region)
        if match:
            rows = [row for row in rows if match.casefold() in _name(row).casefold()]
            if not rows:
                fail(f"No {table} with {match!r} in the name.")
        if json:
            emit_json([plain(row, day) for row in rows])
            return
        out = console()
        view.print_table(rows, columns, out, f"{table}, snapshot {catalog.snapshot}, on {day}")
        if table in LEGENDS:
            out.print(LEGENDS[table])
        low = view.low_confidence(rows)
        if low:
            out.print(f"Low confidence: {', '.join(low)}. `labkit catalog show NAME` says why.")
        return
    thing = _find(catalog, what)
    if json:
        emit_json(plain(thing, day))
    else:
        detail(thing, day, console())


@app.command()
def check(
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 where anything is stale or unsourced.")
    ] = False,
    on: On = None,
    snapshot: Snapshot = None,
    json: AsJson = False,
) -> None:
    """List the facts that have expired and those that name no source."""
    catalog, day = Catalog.load(snapshot), _day(on)
    stale, bare = stale_facts(catalog, day), unsourced(catalog)
    total = sum(1 for _ in facts(catalog))
    if json:
        emit_json(
            {
                "snapshot": catalog.snapshot,
                "on": day.isoformat(),
                "facts": total,
                "stale": [_fact(fact, day) for fact in stale],
                "unsourced": [_fact(fact, day) for fact in bare],
            }
        )
    else:
        _report(catalog, day, total, stale, bare)
    if strict and (stale or bare):
        raise typer.Exit(1)


def _day(text: str | None) -> date:
    if text is None:
        return date.today()
    try:
        return date.fromisoformat(text)
    except ValueError:
        fail(f"{text!r} is not a date: write YYYY-MM-DD, for example 2026-11-30.")


def _find(catalog: Catalog, name: str) -> Any:
    """The instance, accelerator, model or format of that name; the nearest names otherwise."""
    for look_up in (
        catalog.instance,
        catalog.accelerator,
        catalog.cpu,
        catalog.model,
        catalog.format,
    ):
        try:
            return look_up(name)
        except LabkitError:
            continue  # perhaps a thing of the next kind
    known = [
        *TABLES,
        *(i.name for i in catalog.instances()),
        *(a.name for a in catalog.accelerators()),
        *(c.name for c in catalog.cpus()),
        *catalog.model_names(),
        *(f.name for f in catalog.formats()),
    ]
    near = nearest(name, known)
    tail = f"did you mean {' or '.join(near)}?" if near else f"tables: {', '.join(TABLES)}."
    raise CommandError(f"Nothing in the catalogue is called {name!r}: {tail}")


def _name(row: Any) -> str:
    return row[0] if isinstance(row, tuple) else str(row.name)


def _fact(fact: Fact, day: date) -> dict[str, Any]:
    return {"table": fact.table, "name": fact.name, "provenance": plain(fact.provenance, day)}


def _overview(catalog: Catalog, day: date, json: bool) -> None:
    counts = {name: len(select(catalog, day, "", "", "")[0]) for name, select in TABLES.items()}
    stale = len(stale_facts(catalog, day))
    if json:
        emit_json(
            {
                "snapshot": catalog.snapshot,
                "snapshots": list(Catalog.snapshots()),
                "on": day.isoformat(),
                "tables": counts,
                "stale": stale,
            }
        )
        return
    out = console()
    out.print(f"Catalogue snapshot {catalog.snapshot}, {(day - _dated(catalog)).days} days old.")
    for name, count in counts.items():
        out.print(f"  {name:<13} {count:>4}   labkit catalog show {name}")
    out.print(f"{stale} facts are stale on {day}: labkit catalog check")


def _dated(catalog: Catalog) -> date:
    return date.fromisoformat(catalog.snapshot)


def _report(catalog: Catalog, day: date, total: int, stale: list[Fact], bare: list[Fact]) -> None:
    out = console()
    out.print(f"Snapshot {catalog.snapshot} on {day}: {total} facts.")
    out.print(f"{len(bare)} without a source" + ("." if not bare else ":"))
    for fact in bare:
        out.print(f"  {fact.table}: {fact.name}")
    out.print(f"{len(stale)} stale" + ("." if not stale else ":"))
    groups: dict[tuple[str, date, date], list[str]] = defaultdict(list)
    for fact in stale:
        p = fact.provenance
        if p is not None and p.expires is not None:
            groups[p.source, p.as_of, p.expires].append(fact.name)
    for (source, as_of, expires), names in groups.items():
        out.print(
            f"\n{len(names)} of {as_of}, expired {expires} ({(day - expires).days} days ago). "
            f"Source: {source}."
        )
        by_kind: dict[str, list[str]] = defaultdict(list)
        for name in names:
            instance, _, rest = name.partition(" ")
            by_kind[rest].append(instance)
        for rest, instances in by_kind.items():
            out.print(f"  {rest or 'names'}: {', '.join(instances)}")
