"""The catalogue's tables for people: which columns, in which units, at which terminal width.

A price never stands without its age. Expired rows carry a star, rows of low confidence a line
below their table: never colour alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Generic, TypeVar

from rich import box
from rich.console import Console
from rich.table import Table

from labkit.catalog import (
    Accelerator,
    Confidence,
    Cpu,
    Instance,
    ModelSpec,
    NumberFormat,
    Price,
    Provenance,
)
from labkit.catalog.formats import FORMATS

GIB, GB, TERA, BILLION = 2**30, 10**9, 10**12, 10**9
GAP = 2  # spaces between columns
AGE_LEGEND = (
    "age: of the price's source; ≥ where the source is undated and only the day of reading is "
    "known; * stale."
)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Column(Generic[T]):
    """A heading and how a row's cell reads. An `optional` column gives way on a narrow terminal."""

    heading: str
    cell: Callable[[T], str]
    right: bool = True
    optional: bool = False
    wraps: bool = False

    def width(self, rows: Sequence[T]) -> int:
        """The width that the column needs; one that wraps makes do with 24."""
        widest = max((len(self.cell(row)) for row in rows), default=0)
        return max(len(self.heading), min(widest, 24) if self.wraps else widest)


def print_table(rows: Sequence[T], columns: Sequence[Column[T]], out: Console, title: str) -> None:
    """One table; optional columns are left out, the last first, until it fits, and named."""
    shown: list[Column[T]] = list(columns)
    left_out: list[str] = []
    while sum(c.width(rows) + GAP for c in shown) > out.width and any(c.optional for c in shown):
        last = next(c for c in reversed(shown) if c.optional)
        shown.remove(last)
        left_out.insert(0, last.heading)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False)
    for column in shown:
        table.add_column(
            column.heading, justify="right" if column.right else "left", no_wrap=not column.wraps
        )
    for row in rows:
        table.add_row(*(column.cell(row) for column in shown))
    out.print(title, style="bold")
    out.print(table)
    if left_out:
        out.print(f"Left out at this width: {', '.join(left_out)}.")


def number(value: float, digits: int = 0) -> str:
    """A number for a cell; a dash where it is zero, which means "none" or "not known" here."""
    return f"{value:,.{digits}f}" if value else "–"


def age(price: Price, on: date) -> str:
    """How old a price is, in days; a star where it has expired."""
    text = price.age(on) if price.age_days(on) >= 0 else "later"
    return f"{text} *" if price.provenance.stale(on) else text


def _dollars(price: Price | None) -> str:
    return f"{price.usd_per_hour:,.4f}" if price else "unknown"


def instance_columns(on: date, region: str) -> list[Column[Instance]]:
    """Instances: what is in them, and the on-demand price of the region with its age."""

    def devices(i: Instance) -> str:
        if i.accelerator is None:
            return "–"
        share = f"{i.accelerator_fraction:g}" if i.accelerator_fraction < 1 else ""
        return f"{share or i.accelerator_count} x {i.accelerator.name}"

    def priced_age(i: Instance) -> str:
        price = i.price(region=region)
        return age(price, on) if price else "–"

    return [
        Column("instance", lambda i: i.name, right=False),
        Column("accelerators", devices, right=False),
        Column(
            "GiB",
            lambda i: number(i.accelerator_count * i.accelerator_usable_bytes / GIB, 1),
        ),
        Column("vCPUs", lambda i: number(i.vcpus)),
        Column("host GiB", lambda i: number(i.host_memory_bytes / GIB)),
        Column("link GB/s", lambda i: number(i.link_bytes_per_s / GB), optional=True),
        Column("net Gbit/s", lambda i: number(i.network_bytes_per_s * 8 / GB, 1), optional=True),
        Column("USD/h", lambda i: _dollars(i.price(region=region))),
        Column("age", priced_age, right=False),
    ]


def accelerator_columns() -> list[Column[Accelerator]]:
    """Accelerators: memory, bandwidth, dense rates, and the weight formats they can hold."""

    def rate(name: str) -> Callable[[Accelerator], str]:
        return lambda a: number(a.peak_flops(name) / TERA) if a.rates_known else "unknown"

    def two_byte(a: Accelerator) -> str:
        if not a.rates_known:
            return "unknown"
        only = "" if a.peak_flops("bf16") else " (no bf16)"
        return number(a.peak_flops("fp16") / TERA) + only

    def weights(a: Accelerator) -> str:
        return "all" if set(a.weight_formats) == set(FORMATS) else " ".join(a.weight_formats)

    return [
        Column("accelerator", lambda a: a.name, right=False),
        Column("GiB", lambda a: number(a.usable_bytes / GIB, 1)),
        Column("GB/s", lambda a: number(a.bandwidth_bytes_per_s / GB)),
        Column("16-bit TF/s", two_byte),
        Column("fp8 TF/s", rate("fp8"), optional=True),
        Column("int8 TOP/s", rate("int8"), optional=True),
        Column("link GB/s", lambda a: f"{number(a.link_bytes_per_s / GB)} {a.link}", right=False),
        Column("weights", weights, right=False, wraps=True),
        Column("AWS", lambda a: " ".join(a.aws_families) or "–", right=False, optional=True),
    ]


def cpu_columns() -> list[Column[Cpu]]:
    """CPUs, one socket each: cores, clock, memory bandwidth and dense rates."""

    def rate(name: str) -> Callable[[Cpu], str]:
        return lambda c: number(c.peak_flops(name) / TERA, 1) if c.peak_flops(name) else "–"

    return [
        Column("CPU", lambda c: c.name, right=False),
        Column("cores", lambda c: number(c.cores)),
        Column("GHz", lambda c: number(c.clock_hz / GB, 1) if c.clock_hz else "–"),
        Column("GB/s", lambda c: number(c.bandwidth_bytes_per_s / GB, 1)),
        Column("fp32 TF/s", rate("fp32")),
        Column("bf16 TF/s", rate("bf16")),
        Column("int8 TOP/s", rate("int8"), optional=True),
        Column("AWS", lambda c: " ".join(c.aws_families) or "–", right=False, optional=True),
    ]


def model_columns() -> list[Column[ModelSpec]]:
    """Models: size, shape, and what kind of cache their layers keep."""

    def heads(m: ModelSpec) -> str:
        kinds = {(a.heads, a.kv_heads) for a in m.attention}
        return " ".join(f"{h}/{kv}" for h, kv in sorted(kinds)) or "–"

    def layers(m: ModelSpec) -> str:
        if not m.attention:
            return f"{m.layers} {m.kind}"
        return " + ".join(
            f"{a.layers} {a.kind}" + (f" {a.window:,}" if a.window else "") for a in m.attention
        )

    def experts(m: ModelSpec) -> str:
        return f"{m.moe.experts_per_token} of {m.moe.experts}" if m.moe else "–"

    return [
        Column("model", lambda m: m.name, right=False),
        Column("billions", lambda m: number(m.params.total / BILLION, 2)),
        Column("layers", layers, right=False),
        Column("heads/KV", heads),
        Column("experts", experts, right=False, optional=True),
        Column("context", lambda m: number(m.max_context), optional=True),
        Column("stored as", lambda m: m.native_format, right=False, optional=True),
    ]


def price_columns(on: date) -> list[Column[tuple[str, Price]]]:
    """Prices: every kind and region, with range, date, age and confidence."""

    def spread(row: tuple[str, Price]) -> str:
        low, high = row[1].low, row[1].high
        return f"{low:,.4f}–{high:,.4f}" if low is not None and high is not None else "–"

    return [
        Column("instance", lambda r: r[0], right=False),
        Column("kind", lambda r: r[1].kind, right=False),
        Column("region", lambda r: r[1].region, right=False),
        Column("USD/h", lambda r: f"{r[1].usd_per_hour:,.4f}"),
        Column("range", spread, right=False, optional=True),
        Column("as of", lambda r: r[1].provenance.as_of.isoformat(), right=False),
        Column("age", lambda r: age(r[1], on), right=False),
        Column("confidence", lambda r: str(r[1].provenance.confidence), right=False, optional=True),
    ]


def format_columns() -> list[Column[NumberFormat]]:
    """Number formats: element bits, group, bits with scales."""
    return [
        Column("format", lambda f: f.name, right=False),
        Column("bits", lambda f: f"{f.bits:g}"),
        Column("group", lambda f: number(f.group_size or 0)),
        Column("bits/weight", lambda f: f"{f.bits_per_weight:g}"),
        Column("note", lambda f: f.note, right=False, wraps=True),
    ]


def field_lines(fields: Mapping[str, Any]) -> Iterator[str]:
    """A record's fields as lines, with sizes in GB and GiB and rates in GB/s and TFLOP/s."""
    for key, value in fields.items():
        if key in {"name", "provenance", "prices", "note"} or value in ("", None, [], {}):
            continue
        if key.endswith("_bytes_per_s"):
            text = f"{number(value / GB, 2)} GB/s" if value else "–"
            yield f"  {_label(key, '_bytes_per_s')} rate: {text}"
        elif key.endswith("_bytes"):
            text = f"{number(value / GB, 2)} GB ({number(value / GIB, 2)} GiB)" if value else "–"
            yield f"  {_label(key, '_bytes')}: {text}"
        elif key == "flops":
            rates = (f"{name} {number(rate / TERA, 1)}" for name, rate in value.items())
            yield f"  dense TFLOP/s (int8: TOP/s): {', '.join(rates)}"
        else:
            yield f"  {_label(key)}: {_shown(value)}"


def _label(key: str, suffix: str = "") -> str:
    return key.removesuffix(suffix).replace("_", " ")


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{_label(k)} {_shown(v)}" for k, v in value.items() if v)
    if isinstance(value, list):
        return "; ".join(_shown(v) for v in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
    return str(value)


def provenance_lines(provenance: Provenance, on: date) -> Iterable[str]:
    """Source, date, age, confidence and note of one row, as sentences."""
    yield f"Source: {provenance.source}."
    state = ""
    if provenance.expires is not None:
        verb = "expired" if provenance.stale(on) else "good until"
        state = f", {verb} {provenance.expires.isoformat()}"
    day = "As of" if provenance.dated else "Undated; read on"
    yield f"{day} {provenance.as_of.isoformat()}{state}; confidence {provenance.confidence}."
    if provenance.note:
        yield provenance.note


def low_confidence(rows: Iterable[Any]) -> list[str]:
    """The names of rows whose confidence is low: said under every table that shows them."""
    return [
        row.name
        for row in rows
        if getattr(row, "provenance", None) and row.provenance.confidence is Confidence.LOW
    ]
