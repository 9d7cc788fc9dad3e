"""What follows from taking the winner: what binds it, its fleet, price, start and terms."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.contract.view import number
from labkit.sizing.dossier import words
from labkit.sizing.dossier.cells import TERM_COLUMNS, term_cells, term_tables, two_lines
from labkit.sizing.dossier.collect import Dossier, LoadTime, Winner
from labkit.sizing.dossier.document import BarPicture, Block, Bullets, Paragraph, Table
from labkit.sizing.explain import explain
from labkit.sizing.money import usd
from labkit.sizing.purchase import PurchaseOption
from labkit.sizing.units import gib
from labkit.sizing.whatif.bars import bars


def binds(winner: Winner) -> Iterator[Block]:
    """The terms of a step and the memory, as bars."""
    best, running = winner.deployment, winner.estimate.running_sequences
    yield Paragraph(
        f"One replica with {running:,} sequences in flight, as at busy moments. These steps stand "
        f"alone; with the prompts of others in between, the served TPOT is "
        f"{words.spread(best.served_tpot_ms)} ms."
    )
    yield from (BarPicture(bar) for bar in bars(winner.estimate))


def fleet(dossier: Dossier, winner: Winner) -> Iterator[Block]:
    """How many instances and why, with queues where they were planned."""
    fleet, plan = winner.deployment.fleet, winner.plan
    per = winner.deployment.setup.replicas_per_instance
    replicas = "one replica" if per == 1 else f"{per} replicas"
    if fleet.rate is None:
        yield Paragraph(
            f"No rate was named. One instance ({replicas}) keeps up with "
            f"{number(fleet.capacity, 3)} requests/s at full load; plan for less."
        )
        return
    yield Paragraph(
        f"{words.instances(winner.deployment, winner.fleet_size)} with {replicas} each keep up "
        f"with {number(fleet.capacity, 3)} requests/s and are {fleet.utilisation:.0%} busy at "
        f"{number(fleet.rate)} requests/s. At most {fleet.most_utilisation:.0%} was allowed: the "
        "rest is head-room."
    )
    if plan is None:
        return
    if not plan.holds:
        yield Bullets(tuple(f"{r.code}: {r.detail}" for r in plan.refusals))
        return
    count = f"{plan.instances:,} instances"
    if plan.fewest is not None and plan.most is not None and plan.fewest < plan.most:
        count += f" ({plan.fewest:,} to {plan.most:,})"
    cost = "" if plan.usd_per_hour is None else f", {usd(plan.usd_per_hour)} an hour"
    yield Paragraph(
        f"With queues, with lengths as they vary, and with the SLO kept while {plan.n_plus} "
        f"instance is down, it takes {count}{cost}."
    )
    yield Table(
        "That fleet, number by number",
        ("of", *TERM_COLUMNS),
        tuple((term.section, *term_cells(term)) for term in plan.terms()),
        numeric=(2,),
    )


def purchases(dossier: Dossier, winner: Winner) -> Iterator[Block]:
    """Every way to pay, with the age of its price."""
    yield Table(
        f"{words.instances(winner.deployment, winner.fleet_size)}, on all month (730 h)",
        ("way to pay", "instances", "USD/h each", "USD/month", "price as of", "binds you to"),
        tuple(_purchase(dossier, option) for option in winner.purchases),
        numeric=(1, 2, 3),
    )
    refused = tuple(
        f"{option.kind.title}: {option.refusal.detail}"
        for option in winner.purchases
        if option.refusal is not None
    )
    if refused:
        yield Bullets(refused)


def _purchase(dossier: Dossier, option: PurchaseOption) -> tuple[str, ...]:
    each, month = option.usd_per_instance_hour, option.usd_per_month
    title = option.kind.title + (f" ({option.label})" if option.label else "")
    if option.price is None or each is None or month is None:
        code = str(option.refusal.code) if option.refusal else ""
        known = "your rate needed" if code == "UNKNOWN_PRICE" else code
        return (title, f"{option.instances:,}", "–", "–", known, option.kind.binds)
    when = f"{option.price.provenance.as_of.isoformat()} ({option.age(dossier.on)} old)"
    if option.price.provenance.stale(dossier.on):
        when += ", expired"
    if option.interruption is not None:
        when += f"; {option.interruption.words} interrupted a month"
    return (
        title,
        f"{option.instances:,}",
        two_lines(words.usd_spread(each)),
        two_lines(words.usd_spread(month)),
        when,
        option.kind.binds,
    )


def start(winner: Winner) -> Iterator[Block]:
    """The quota, where the machine is sold, what loading asks of the host, how long it takes."""
    quota = winner.quota
    yield Paragraph(
        f"Quota to request: {quota.request}. Yours may be zero in a new account. "
        f"{quota.note} Source: {quota.source}."
    )
    yield Paragraph(f"{winner.availability.words} {winner.host_memory.words}")
    yield Table(
        f"Loading {gib(winner.weight_bytes)} of weights, start of the process not included",
        ("from", "seconds", "range, seconds"),
        tuple(_load(load) for load in winner.loads),
        numeric=(1, 2),
    )


def _load(load: LoadTime) -> tuple[str, ...]:
    name = words.LOAD_SOURCES[load.source]
    if load.seconds is None:
        return (name, "–", load.why_not)
    band = load.seconds
    return (name, number(band.mid, 3), f"{number(band.low, 3)} to {number(band.high, 3)}")


def arithmetic(winner: Winner) -> Iterator[Block]:
    """Every term of one replica, with its source."""
    yield Paragraph(
        f"The same replica with {winner.estimate.running_sequences:,} sequences in flight. "
        "Bytes are per device; GB is 1e9 bytes, GiB is 2^30 bytes."
    )
    yield from term_tables(explain(winner.estimate))
