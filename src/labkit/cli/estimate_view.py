"""An estimate for people: what fits, what binds, how fast, for how much, and why not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from itertools import groupby

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from labkit.sizing.bands import Band
from labkit.sizing.efficiency import Spread
from labkit.sizing.estimate import Estimate
from labkit.sizing.explain import explain
from labkit.sizing.memory import max_sequences
from labkit.sizing.refusal import BLOCKING, RefusalCode
from labkit.sizing.terms import Term
from labkit.sizing.units import gb, gib, plural

_SCALED = frozenset({"B/s", "FLOP/s", "FLOP"})  # shown with a decimal prefix


def render(estimate: Estimate, out: Console, *, today: date, terms: bool) -> None:
    """Print the estimate; `terms` adds every byte and every term."""
    out.print(Panel(_summary(estimate), title=_title(estimate), title_align="left", expand=True))
    for refusal in estimate.refusals:
        out.print(_refusal(str(refusal.code), refusal.detail))
    if estimate.model.kind == "decoder":
        out.print(_numbers(estimate))
    out.print(_memory(estimate))
    for line in _notes(estimate, today):
        out.print(Padding(Text(line), (0, 0, 0, 1)))
    if terms:
        for section, group in groupby(explain(estimate), key=lambda term: term.section):
            out.print(_terms(section, group))


def _title(e: Estimate) -> Text:
    return Text(f" {e.model.name} on {e.instance.name} ")


def _summary(e: Estimate) -> Text:
    device = e.device
    hardware = plural(e.tensor_parallel_size, device.noun)
    if device.count > e.tensor_parallel_size:
        hardware += f" of {device.count}"
    setup = (
        f"{hardware}, {e.engine.name}, {e.config.weights} weights, {e.config.kv} KV cache, "
        f"TP {e.tensor_parallel_size}, batch {e.config.batch}, "
        f"{e.workload.prompt_tokens:,} prompt + {e.workload.output_tokens:,} output tokens"
    )
    style = "bold green" if e.fits else "bold red"
    verdict = Text.assemble(("Fits" if e.fits else "Does not fit", style), _verdict(e))
    return Text("\n").join([Text(setup), verdict])


def _verdict(e: Estimate) -> str:
    """What follows "Fits" or "Does not fit"."""
    batch = e.config.batch
    if e.fits:
        asked = {1: "1 sequence", 2: "both sequences"}.get(batch, f"all {batch:,} sequences")
        text = f": {asked} at full length ({e.workload.full_length:,} tokens). "
        more = e.max_sequences > batch
        text += f"Up to {e.max_sequences:,} would fit." if more else "No more would fit."
        low = _room(e, e.memory.pool.low, float(e.workload.full_length))
        if low < batch:
            count = f"only {low:,}" if low else "none"
            text += f" Not certain: at the high end of the engine's own memory {count} would fit."
        return text
    codes = {refusal.code for refusal in e.refusals} & BLOCKING
    if codes == {RefusalCode.HOST_RAM}:
        return f". It cannot be loaded this way. Once loaded, {e.max_sequences:,} would fit."
    running = e.running_sequences
    if running:
        runs = "runs at a time" if running == 1 else "run at once"
        rest = "the other waits" if batch - running == 1 else "the rest wait"
        return f". {running:,} of {batch:,} sequences {runs}, {rest}."
    return ". Nothing runs as asked."


def _refusal(code: str, detail: str) -> Padding:
    line = Text.assemble((f"! {code}: ", "bold yellow"), detail)
    return Padding(line, (0, 0, 0, 1))


def _numbers(e: Estimate) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(Text(f"per replica{_running(e)}"))
    for name in ("low", "mid", "high"):
        table.add_column(name, justify="right", no_wrap=True)
    for label, tokens, mid in (
        ("Sequences that fit at full length", float(e.workload.full_length), e.max_sequences),
        (
            "Sequences that fit mid-generation",
            e.workload.mean_context,
            e.max_sequences_mid_generation,
        ),
    ):
        low, high = _room(e, e.memory.pool.low, tokens), _room(e, e.memory.pool.high, tokens)
        table.add_row(label, f"{low:,}", f"{mid:,}", f"{high:,}")
    if e.decode is None:
        return table
    for label, band in (
        ("TTFT, ms (prefill, admitted at once)", e.ttft_ms),
        ("TPOT, ms (one decode step)", e.tpot_ms),
        ("Output tokens/s", e.output_tokens_per_s),
        ("Requests/s", e.requests_per_s),
        ("USD per 1M output tokens", e.usd_per_million_output_tokens),
    ):
        table.add_row(label, *_cells(band))
    return table


def _running(e: Estimate) -> str:
    return f", {e.running_sequences:,} running" if e.decode else ""


def _cells(band: Band | None) -> tuple[str, str, str]:
    if band is None:
        return ("–", "–", "–")
    return (_figure(band.low), _figure(band.mid), _figure(band.high))


def _memory(e: Estimate) -> Table:
    budget = e.memory
    of = "all" if budget.utilization_of == "total" else "what is free"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(Text(f"memory of one {e.device.noun}"))
    table.add_column("GiB", justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    table.add_row("Usable", _gib(budget.usable_bytes), gb(budget.usable_bytes))
    table.add_row(
        "Weights", _gib(budget.weights_bytes), f"{gb(budget.weights_bytes)} in {e.config.weights}"
    )
    table.add_row(
        "Engine overhead",
        _gib(budget.overhead.mid),
        f"{_gib(budget.overhead.low)} to {_gib(budget.overhead.high)}",
    )
    holds = (
        f"{budget.max_cached_tokens:,} tokens of {gib(budget.kv_bytes_per_token)}"
        if budget.kv_bytes_per_token
        else "no KV cache"
    )
    table.add_row(
        "KV pool", _gib(budget.kv_pool_bytes), f"at {budget.utilization:.0%} of {of}; {holds}"
    )
    return table


def _notes(e: Estimate, today: date) -> Iterable[str]:
    if e.bound:
        yield f"Bound by {e.bound}: the largest term of a decode step."
    if e.model.kind == "decoder":
        yield (
            f"Full length is {e.workload.full_length:,} tokens each (prompt + output); "
            f"mid-generation {e.workload.mean_context:,.0f} (prompt + output / 2). "
            "Fits means full length."
        )
    if e.device.bandwidth <= 0:
        yield (
            f"No source gives the memory bandwidth of {e.instance.name}: memory is estimated, "
            "times and cost are not."
        )
    elif e.decode is not None and e.ttft_ms is None:
        yield (
            "No source gives the FLOP/s of this hardware: no TTFT, and throughput is decode "
            "alone, which is too high."
        )
    elif e.decode is None:
        yield "Nothing runs, so times, throughput and cost are not estimated."
    if e.decode is not None:
        yield from _range_note(e.decode.spread)
    if e.price is not None:
        yield _price(e, today)
    idle = e.device.count - e.tensor_parallel_size
    if idle > 0 and e.decode is not None:
        yield (f"{plural(idle, e.device.noun)} idle: one replica is charged the whole instance.")
    accelerator = e.instance.accelerator
    if accelerator is not None and accelerator.provenance.confidence == "low":
        yield f"Low confidence in {accelerator.name}: {accelerator.provenance.note}"
    if e.model.note:
        yield f"{e.model.name}: {e.model.note}"


def _range_note(spread: Spread) -> Iterator[str]:
    if spread.kind == "fit":
        yield (
            f"Ranges hold what {spread.rows} published measurements of this class were off by; "
            "docs/accuracy.md has the table."
        )
    else:
        yield "Ranges are a prior: no published measurement of this class was fitted."


def _price(e: Estimate, today: date) -> str:
    price = e.price
    if price is None:
        return ""
    fact = price.provenance
    age = price.age_days(today)
    stale = "; EXPIRED, check it" if fact.stale(today) else ""
    return (
        f"${price.usd_per_hour:,.4f}/h {price.kind}, {price.region}, as of "
        f"{fact.as_of.isoformat()} ({age} days old{stale}). Source: {fact.source}"
    )


def _terms(section: str, terms: Iterable[Term]) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD,
        title=Text(section, style="bold"),
        title_justify="left",
        pad_edge=False,
        padding=(0, 1, 0, 0),
        expand=True,
    )
    table.add_column("term", ratio=4, overflow="fold")
    table.add_column("value", justify="right", ratio=4, overflow="fold")
    table.add_column("source or formula", ratio=6, overflow="fold")
    for term in terms:
        table.add_row(Text(term.name), Text(_value(term)), Text(term.source))
    return table


def _value(term: Term) -> str:
    if term.value is None:
        return "unknown"
    if term.unit == "B":
        text = _bytes(term.value)
    elif term.unit in _SCALED:
        text = _scaled(term.value, term.unit)
    else:
        text = f"{_figure(term.value)} {term.unit}"
    if term.low is None or term.high is None:
        return text
    if term.unit == "B":
        return f"{text}\n({gib(term.low)} to {gib(term.high)})"
    return f"{text}\n({_figure(term.low)} to {_figure(term.high)})"


def _scaled(value: float, unit: str) -> str:
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if abs(value) >= factor:
            return f"{value / factor:,.1f} {prefix}{unit}"
    return f"{_figure(value)} {unit}"


def _bytes(size: float) -> str:
    if abs(size) < 1e6:
        return f"{size:,.0f} B"
    return f"{size:,.0f} B\n= {gib(size)}"


def _figure(value: float) -> str:
    """Three to four significant figures, thousands marked, never scientific below 1e9."""
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    for limit, digits in ((0.1, 4), (1, 3), (10, 2), (1000, 1)):
        if abs(value) < limit:
            return f"{value:,.{digits}f}"
    return f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.4g}"


def _gib(size: float) -> str:
    return f"{size / 2**30:,.2f}"


def _room(e: Estimate, pool: float, tokens: float) -> int:
    return max_sequences(
        e.model, e.config, pool, tokens, e.tensor_parallel_size, paged=e.engine.paged
    )
