"""The page that an architect can forward: from a dossier to a document, section by section."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labkit.contract.view import number
from labkit.sizing.dossier import words
from labkit.sizing.dossier.collect import Dossier, LoadTime, Winner
from labkit.sizing.dossier.document import (
    BarPicture,
    Block,
    Bullets,
    Document,
    Link,
    Paragraph,
    Picture,
    Section,
    Table,
)
from labkit.sizing.dossier.risks import NOT_MODELLED, risks
from labkit.sizing.explain import explain
from labkit.sizing.frontier import frontier_svg, marks, scene_of
from labkit.sizing.frontier.svg import describe
from labkit.sizing.money import usd
from labkit.sizing.purchase import PurchaseOption
from labkit.sizing.recommendation import Deployment, Loser, Recommendation
from labkit.sizing.terms import Term
from labkit.sizing.units import gib
from labkit.sizing.whatif.bars import bars

_TERM_COLUMNS = ("term", "value", "unit", "source or formula")


def document_of(dossier: Dossier, top: int = 10) -> Document:
    """The whole page. `top`: how many candidates and misses its tables show."""
    recommendation = dossier.recommendation
    return Document(
        title=f"Serving {recommendation.model.name} on AWS",
        subtitle=(
            f"{dossier.on.isoformat()}; facts of the catalogue snapshot {dossier.snapshot}; "
            f"{recommendation.price_kind} prices in {recommendation.region}"
        ),
        lead=words.answer(dossier),
        sections=tuple(
            Section(title, tuple(blocks)) for title, blocks in _sections(dossier, top) if blocks
        ),
    )


def _sections(dossier: Dossier, top: int) -> Iterator[tuple[str, list[Block]]]:
    recommendation, winner = dossier.recommendation, dossier.winner
    yield "The question", [Paragraph(words.question(recommendation))]
    yield "Candidates", list(_candidates(recommendation, top))
    yield "Cost against latency", list(_frontier(recommendation))
    yield "Why not the others", list(_why_not(dossier, top))
    if winner is not None:
        yield "What binds the winner", list(_binds(winner))
        yield "Fleet", list(_fleet(dossier, winner))
        yield "Ways to pay", list(_purchases(dossier, winner))
        yield "What to request, and how long a start takes", list(_start(winner))
        yield "Risks", _bullets(risks(dossier))
    yield "Not modelled", [Bullets(NOT_MODELLED)]
    yield "How far to trust the numbers", list(_trust(winner))
    if winner is not None:
        yield "The arithmetic of the winner", list(_arithmetic(winner))


def _bullets(items: tuple[str, ...]) -> list[Block]:
    return [Bullets(items)] if items else []


def _candidates(recommendation: Recommendation, top: int) -> Iterator[Block]:
    found = recommendation.per_instance()
    if not found:
        yield Paragraph("No set-up holds it.")
        return
    left = len(found) - top
    yield Table(
        "The cheapest set-up of each instance type, cheapest fleet first; * = on the Pareto front"
        + (f"; {left} more instance types hold it" if left > 0 else ""),
        (
            "rank", "fleet", "weights\nand TP", "most in\nflight", "TTFT, ms", "TPOT, ms",
            "busy", "USD/h", "USD/month", "USD per 1M\noutput tokens",
        ),
        tuple(_candidate(recommendation, d) for d in found[:top]),
        numeric=(0, 3, 4, 5, 6, 7, 8, 9),
    )  # fmt: skip


def _candidate(recommendation: Recommendation, d: Deployment) -> tuple[str, ...]:
    fleet = d.fleet
    return (
        f"{d.rank}{'*' if d in recommendation.front else ''}",
        f"{words.instances(d)}\n{d.setup.engine}, {d.bound}-bound",
        f"{d.setup.weights}, TP\u00a0{d.setup.tensor_parallel_size}",
        f"{d.batch:,}",
        _two_lines(words.spread(d.ttft_ms)),
        _two_lines(words.spread(d.served_tpot_ms)),
        f"{fleet.utilisation:.0%}",
        _two_lines(words.usd_spread(fleet.usd_per_hour)),
        usd(fleet.usd_per_month.mid),
        _two_lines(words.usd_spread(fleet.usd_per_million_output_tokens)),
    )


def _two_lines(spread: str) -> str:
    """ "38 (26 to 71)" with the range below the value."""
    value, _, between = spread.partition(" (")
    return f"{value}\n{between.removesuffix(')')}" if between else value


def _frontier(recommendation: Recommendation) -> Iterator[Block]:
    front = marks(recommendation)
    if not front:
        return
    yield Picture(
        frontier_svg(recommendation),
        describe(scene_of(recommendation)),
        "cost-against-latency.svg",
    )
    yield Table(
        "The Pareto front, numbered as in the picture: nothing else is both cheaper and faster",
        ("", "deployment", f"{recommendation.latency.upper()}, ms", "USD per 1M\noutput tokens"),
        tuple(
            (
                str(mark.number),
                mark.label + (" (cheapest)" if mark.best else ""),
                number(mark.latency_ms, 3),
                usd(mark.usd),
            )
            for mark in front
        ),
        numeric=(0, 2, 3),
    )


def _why_not(dossier: Dossier, top: int) -> Iterator[Block]:
    if dossier.reasons:
        yield Table(
            "Refused set-ups by the obstacle that is hardest to lift",
            ("code", "set-ups", "instance types", "the nearest of them", "what stood in the way"),
            tuple(
                (
                    str(reason.code),
                    f"{reason.setups:,}",
                    f"{reason.instances:,}",
                    words.setup_name(reason.nearest.setup),
                    reason.nearest.miss.detail,
                )
                for reason in dossier.reasons
            ),
            numeric=(1, 2),
        )
    nearest = words.nearest_misses(dossier.recommendation)
    if nearest:
        yield Table(
            "Instance types without a deployment, the nearest miss first"
            + (f"; {len(nearest) - top} more" if len(nearest) > top else ""),
            ("instance", "set-up", "code", "missed by", "the number behind it"),
            tuple(_miss(loser) for loser in nearest[:top]),
            numeric=(3,),
        )


def _miss(loser: Loser) -> tuple[str, ...]:
    return (
        loser.setup.instance,
        words.set_up(loser.setup),
        str(loser.code),
        words.over(loser.miss.over),
        loser.miss.detail,
    )


def _binds(winner: Winner) -> Iterator[Block]:
    best, running = winner.deployment, winner.estimate.running_sequences
    yield Paragraph(
        f"One replica with {running:,} sequences in flight, as at busy moments. These steps stand "
        f"alone; with the prompts of others in between, the served TPOT is "
        f"{words.spread(best.served_tpot_ms)} ms."
    )
    yield from (BarPicture(bar) for bar in bars(winner.estimate))


def _fleet(dossier: Dossier, winner: Winner) -> Iterator[Block]:
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
        ("of", *_TERM_COLUMNS),
        tuple((term.section, *_term(term)) for term in plan.terms()),
        numeric=(2,),
    )


def _purchases(dossier: Dossier, winner: Winner) -> Iterator[Block]:
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
        _two_lines(words.usd_spread(each)),
        _two_lines(words.usd_spread(month)),
        when,
        option.kind.binds,
    )


def _start(winner: Winner) -> Iterator[Block]:
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


def _trust(winner: Winner | None) -> Iterator[Block]:
    if winner is not None:
        yield Paragraph(words.ranges(winner))
    yield Link(
        "A range is low, expected, high. How often ranges held the truth, by machine, engine and "
        "format, and how far expected values were off, is in",
        "docs/accuracy.md",
        ".",
    )


def _arithmetic(winner: Winner) -> Iterator[Block]:
    yield Paragraph(
        f"One replica with {winner.estimate.running_sequences:,} sequences in flight, as at busy "
        "moments. Bytes are per device; "
        "GB is 1e9 bytes, GiB is 2^30 bytes."
    )
    yield from _terms(explain(winner.estimate))


def _terms(terms: Sequence[Term]) -> Iterator[Block]:
    sections = dict.fromkeys(term.section for term in terms)
    for section in sections:
        yield Table(
            section,
            _TERM_COLUMNS,
            tuple(_term(term) for term in terms if term.section == section),
            numeric=(1,),
        )


def _term(term: Term) -> tuple[str, ...]:
    if term.value is None:
        return (term.name, "unknown", term.unit, term.source)
    value, unit = _scaled(term.value, term.unit)
    if term.low is not None and term.high is not None:
        low, high = (_scaled(end, term.unit, like=unit)[0] for end in (term.low, term.high))
        value = f"{value}\n{low} to {high}"
    return (term.name, value, unit, term.source)


_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"))


def _scaled(value: float, unit: str, like: str = "") -> tuple[str, str]:
    """A value with a unit that people can read: GiB for bytes, TFLOP/s for FLOP/s, …"""
    if unit == "B" and (abs(value) >= 2**20 or like == "GiB"):
        return f"{value / 2**30:,.3f}", "GiB"
    if unit in {"B/s", "FLOP/s", "FLOP"}:
        for factor, prefix in _PREFIXES:
            if abs(value) >= factor:
                return number(value / factor, 4), prefix + unit
    return number(value, 4), unit
