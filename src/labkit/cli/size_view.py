"""A recommendation in the terminal: the answer, the candidates, why not the others, what to buy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from labkit.contract.view import number
from labkit.sizing.bands import Band
from labkit.sizing.dossier import Dossier, LoadTime, Winner, words
from labkit.sizing.dossier.risks import risks
from labkit.sizing.frontier.marks import latency_of, name_of
from labkit.sizing.purchase import PurchaseOption
from labkit.sizing.recommendation import Deployment, Loser
from labkit.sizing.refusal_codes import RefusalCode
from labkit.sizing.units import gib


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
        nearest = words.nearest_misses(recommendation)
        if nearest:
            out.print(_misses(nearest if every else nearest[:top], len(nearest)))
    if winner is not None:
        out.print(_purchases(dossier, winner))
        _say(out, _notes(dossier, winner))


def _say(out: Console, lines: Iterable[str]) -> None:
    for line in lines:
        out.print(Padding(Text(line), (0, 0, 0, 1)))


def _summary(dossier: Dossier) -> Text:
    style = "bold green" if dossier.winner else "bold red"
    first, second = words.answer(dossier)
    asked = words.question(dossier.recommendation)
    return Text("\n").join([Text(asked), Text(""), Text(first, style), Text(second)])


def _table(title: str) -> Table:
    return Table(
        box=box.SIMPLE_HEAD,
        title=Text(title, style="bold"),
        title_justify="left",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


def _candidates(dossier: Dossier, shown: Sequence[Deployment]) -> Table:
    front = dossier.recommendation.front
    table = _table("What holds it, cheapest fleet first")
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
    table = _table(f"What less latency costs: the Pareto front{left}")
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
    table = _table(f"Why not the others: {losers:,} set-ups, by what is hardest to lift")
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
    table = _table(f"Instance types without a set-up that holds, nearest first{left}")
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


def _purchases(dossier: Dossier, winner: Winner) -> Table:
    table = _table(
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


def _notes(dossier: Dossier, winner: Winner) -> Iterable[str]:
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
