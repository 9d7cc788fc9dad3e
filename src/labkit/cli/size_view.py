"""A recommendation in the terminal: the answer, the candidates, why not the others, what to buy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date

from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from labkit.cli.size_buy import notes, purchases, titled
from labkit.contract.view import number
from labkit.sizing.bands import Band
from labkit.sizing.dossier import Dossier, words
from labkit.sizing.frontier.marks import latency_of, name_of
from labkit.sizing.recommendation import Deployment, Loser


def render(dossier: Dossier, out: Console, *, top: int, every: bool) -> None:
    """Print it. `top` limits the tables; `every` shows all set-ups and all misses instead."""
    recommendation, winner = dossier.recommendation, dossier.winner
    title = Text(f" {recommendation.model.name} ")
    out.print(Panel(_summary(dossier), title=title, title_align="left", expand=True))
    shown = recommendation.deployments if every else recommendation.per_instance()
    if shown:
        out.print(_candidates(dossier, shown if every else shown[:top]))
        _say(out, _legend(dossier, len(shown), top, every))
    if len(recommendation.front) > 1:
        out.print(_front(dossier, len(recommendation.front) if every else top))
    if dossier.reasons:
        out.print(_reasons(dossier))
    if every or winner is None:
        nearest = recommendation.nearest
        if nearest:
            out.print(_misses(nearest if every else nearest[:top], len(nearest)))
    if winner is not None:
        out.print(purchases(dossier, winner))
        _say(out, notes(dossier, winner))


def _say(out: Console, lines: Iterable[str]) -> None:
    for line in lines:
        out.print(Padding(Text(line), (0, 0, 0, 1)))


def _summary(dossier: Dossier) -> Text:
    style = "bold green" if dossier.winner else "bold red"
    first, second = words.answer(dossier)
    asked = words.question(dossier.recommendation)
    return Text("\n").join([Text(asked), Text(""), Text(first, style), Text(second)])


def _candidates(dossier: Dossier, shown: Sequence[Deployment]) -> Table:
    front = dossier.recommendation.front
    table = titled("What holds it, cheapest fleet first")
    table.add_column("#", no_wrap=True)
    table.add_column("fleet\nset-up, in flight", overflow="fold")
    for name in (
        "TTFT, ms\nrange",
        "TPOT, ms\nrange",
        "busy\nage",
        "USD/h\nUSD/month",
        "USD per 1M\nrange",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for deployment in shown:
        table.add_row(*_candidate(deployment, deployment in front, dossier.on))
    return table


def _candidate(d: Deployment, on_front: bool, on: date) -> tuple[str, ...]:
    fleet, setup = d.fleet, d.setup
    return (
        f"{d.rank}{'*' if on_front else ''}",
        f"{words.instances(d)}\n{setup.weights} TP {setup.tensor_parallel_size}, {_in_flight(d)}",
        _two(d.ttft_ms),
        _two(d.served_tpot_ms),
        f"{fleet.utilisation:.0%}\n{d.price.age(on)}{' !' if d.price.provenance.stale(on) else ''}",
        f"{fleet.usd_per_hour.mid:,.2f}\n{fleet.usd_per_month.mid:,.0f}",
        _two(fleet.usd_per_million_output_tokens, _money),
    )


def _money(value: float) -> str:
    return f"{value:,.2f}" if value >= 1 else f"{value:.3f}"


def _three(value: float) -> str:
    return number(value, 3)


def _in_flight(d: Deployment) -> str:
    if not d.in_flight:
        return f"{d.batch:,}"
    return f"{number(round(d.in_flight))}/{d.batch:,}"


def _two(band: Band, form: Callable[[float], str] = _three) -> str:
    """The value, and its range on a line of its own below it."""
    low, high = form(band.low), form(band.high)
    return f"{form(band.mid)}\n" + ("" if low == high else f"{low}–{high}")


def _front(dossier: Dossier, top: int) -> Table:
    """What less latency costs: the front from cheap to fast."""
    recommendation = dossier.recommendation
    front = recommendation.front
    left = f" (the first {top} of {len(front)})" if len(front) > top else ""
    table = titled(f"What less latency costs: the Pareto front{left}")
    table.add_column("fleet, set-up, most in flight", overflow="fold")
    table.add_column(f"{_LATENCIES[recommendation.latency]}, ms", justify="right", no_wrap=True)
    for name in ("USD/h", "USD per 1M"):
        table.add_column(name, justify="right", no_wrap=True)
    for deployment in front[:top]:
        fleet = deployment.fleet
        table.add_row(
            name_of(deployment),
            _three(latency_of(deployment, recommendation.latency).mid),
            f"{fleet.usd_per_hour.mid:,.2f}",
            _money(fleet.usd_per_million_output_tokens.mid),
        )
    return table


_LATENCIES = {"e2e": "E2E", "tpot": "TPOT", "ttft": "TTFT"}


def _legend(dossier: Dossier, holding: int, top: int, every: bool) -> Iterable[str]:
    recommendation = dossier.recommendation
    yield (
        "* on the Pareto front: nothing else is both cheaper and faster. In flight: sequences per "
        "replica, on average / at most (max_num_seqs). Age: of the price."
    )
    queued = sum(d.fleet.method == "queueing" for d in recommendation.deployments)
    if queued:
        yield (
            f"The best {queued} were planned again with queues and lengths as they vary; the "
            "others are closed form."
        )
    if any(d.price.provenance.stale(dossier.on) for d in recommendation.deployments):
        yield "! the price has expired: check it before you decide."
    if not every and holding > top:
        yield f"{holding - top:,} more instance types hold it: --top or --all shows them."
    hidden = len(recommendation.deployments) - len(recommendation.per_instance())
    if not every and hidden:
        yield (
            f"Each instance type stands with its cheapest set-up; {hidden:,} dearer ones hold it "
            "too."
        )


def _reasons(dossier: Dossier) -> Table:
    losers = len(dossier.recommendation.losers)
    table = titled(f"Why not the others: {losers:,} set-ups, by what is hardest to lift")
    table.add_column("code\nset-ups", no_wrap=True)
    table.add_column("the nearest of them, and the number that stopped it", overflow="fold")
    for reason in dossier.reasons:
        types = "1 type" if reason.instances == 1 else f"{reason.instances:,} types"
        table.add_row(
            f"{reason.code}\n{reason.setups:,} on {types}",
            f"{words.setup_name(reason.nearest.setup)}: {reason.nearest.miss.detail}"
            + _times(reason.nearest),
        )
    return table


def _misses(shown: Sequence[Loser], every: int) -> Table:
    left = f" ({len(shown)} of {every})" if len(shown) < every else ""
    table = titled(f"Instance types without a set-up that holds, nearest first{left}")
    table.add_column("instance\nset-up", no_wrap=True)
    table.add_column("missed\nby", justify="right", no_wrap=True)
    table.add_column("what stood in the way", overflow="fold")
    for loser in shown:
        setup = loser.setup
        table.add_row(
            f"{setup.instance}\n{setup.weights}, TP {setup.tensor_parallel_size}",
            words.over(loser.miss.over),
            f"{loser.code}: {loser.miss.detail}",
        )
    return table


def _times(loser: Loser) -> str:
    times = words.over(loser.miss.over)
    return "" if times == "–" else f" ({times})"
