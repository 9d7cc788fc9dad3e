"""The page that an architect can forward: from a dossier to a document, section by section."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.contract.view import number
from labkit.sizing.dossier import winner_blocks, words
from labkit.sizing.dossier.cells import two_lines
from labkit.sizing.dossier.collect import Dossier, Winner
from labkit.sizing.dossier.document import (
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
from labkit.sizing.frontier import frontier_svg, marks, scene_of
from labkit.sizing.frontier.svg import describe
from labkit.sizing.money import usd
from labkit.sizing.recommendation import Deployment, Loser, Recommendation


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
        yield "What binds the winner", list(winner_blocks.binds(winner))
        yield "Fleet", list(winner_blocks.fleet(dossier, winner))
        yield "Ways to pay", list(winner_blocks.purchases(dossier, winner))
        yield "What to request, and how long a start takes", list(winner_blocks.start(winner))
        yield "Risks", _bullets(risks(dossier))
    yield "Not modelled", [Bullets(NOT_MODELLED)]
    yield "How far to trust the numbers", list(_trust(winner))
    if winner is not None:
        yield "The arithmetic of the winner", list(winner_blocks.arithmetic(winner))


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
        two_lines(words.spread(d.ttft_ms)),
        two_lines(words.spread(d.served_tpot_ms)),
        f"{fleet.utilisation:.0%}",
        two_lines(words.usd_spread(fleet.usd_per_hour)),
        usd(fleet.usd_per_month.mid),
        two_lines(words.usd_spread(fleet.usd_per_million_output_tokens)),
    )


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
    nearest = dossier.recommendation.nearest
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


def _trust(winner: Winner | None) -> Iterator[Block]:
    if winner is not None:
        yield Paragraph(words.ranges(winner))
    yield Link(
        "A range is low, expected, high. How often ranges held the truth, by machine, engine and "
        "format, and how far expected values were off, is in",
        "docs/accuracy.md",
        ".",
    )
