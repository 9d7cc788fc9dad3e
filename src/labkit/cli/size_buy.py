"""What to buy, in the terminal: ways to pay, quota, load time, where a price is from, risks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from rich import box
from rich.table import Table
from rich.text import Text

from labkit.sizing.bands import Band
from labkit.sizing.dossier import Dossier, LoadTime, Winner, words
from labkit.sizing.dossier.risks import risks
from labkit.sizing.purchase import PurchaseOption
from labkit.sizing.refusal_codes import RefusalCode
from labkit.sizing.units import gib


def titled(title: str) -> Table:
    """An empty table in the look of `labkit size`."""
    return Table(
        box=box.SIMPLE_HEAD,
        title=Text(title, style="bold"),
        title_justify="left",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


def purchases(dossier: Dossier, winner: Winner) -> Table:
    """Every way to pay that is offered, with the age of its price."""
    table = titled(
        f"What to buy: {words.instances(winner.deployment, winner.fleet_size)}, on all month"
    )
    table.add_column("way to pay", overflow="fold")
    table.add_column("count", justify="right", no_wrap=True)
    table.add_column("USD/h each", justify="right", no_wrap=True)
    table.add_column("USD/month", justify="right", no_wrap=True)
    table.add_column("price as of", overflow="fold")
    for option in winner.purchases:
        if option.refusal is None or option.refusal.code != RefusalCode.NOT_OFFERED:
            table.add_row(*_purchase(option, dossier.on))
    return table


def _purchase(option: PurchaseOption, on: date) -> tuple[str, ...]:
    each, month = option.usd_per_instance_hour, option.usd_per_month
    title = option.kind.title + (f" ({option.label})" if option.label else "")
    if option.price is None or each is None or month is None:
        code = str(option.refusal.code) if option.refusal else ""
        known = "your rate needed: --rates" if code == "UNKNOWN_PRICE" else code
        return (title, f"{option.instances:,}", "–", "–", known)
    when = f"{option.price.provenance.as_of.isoformat()}, {option.age(on)}"
    if option.price.provenance.stale(on):
        when += ", expired"
    if option.interruption is not None:
        seen = option.interruption.provenance.as_of.isoformat()
        when += f"; {option.interruption.words} interrupted a month ({seen})"
    return (
        title,
        f"{option.instances:,}",
        f"{each.mid:,.3f}" + _between(each, "{:,.3f}"),
        f"{month.mid:,.0f}" + _between(month, "{:,.0f}"),
        when,
    )


def _between(band: Band, form: str) -> str:
    if band.low == band.high:
        return ""
    return f"\n{form.format(band.low)}–{form.format(band.high)}"


def notes(dossier: Dossier, winner: Winner) -> Iterable[str]:
    """What else to know before buying, a sentence or two each."""
    quota = winner.quota
    spot = next((option.head_room for option in winner.purchases if option.head_room), None)
    if spot is not None and spot.spares and spot.policy.pools:
        yield (
            f"Spot counts {spot.spares:,} more, so that the fleet outlives the loss of one of "
            f"{spot.policy.pools} capacity pools."
        )
    yield f"Quota to request: {quota.request}. {quota.note}".strip()
    loads = [_load(load) for load in winner.loads if load.seconds is not None]
    yield f"Loading {gib(winner.weight_bytes)} of weights takes {'; '.join(loads)}."
    yield winner.availability.words
    yield words.price_line(winner.deployment.price, dossier.on)
    yield words.ranges(winner) + " docs/accuracy.md has the table."
    for risk in risks(dossier):
        yield f"! {risk}"


def _load(load: LoadTime) -> str:
    band = load.seconds
    if band is None:
        return ""
    return f"{words.spread(band)} s from {words.LOAD_SOURCES[load.source]}"
