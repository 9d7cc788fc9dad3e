"""One thing of the catalogue in full: as JSON, and as lines for people."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date
from types import MappingProxyType
from typing import Any

from rich.console import Console

from labkit.catalog import Accelerator, Cpu, Instance, ModelSpec, NumberFormat, Price
from labkit.cli import catalog_view as view

_WORDS: Mapping[type, str] = MappingProxyType(
    {
        Instance: "instance type",
        Accelerator: "accelerator",
        Cpu: "CPU",
        ModelSpec: "model",
        NumberFormat: "number format",
    }
)


def plain(value: Any, day: date) -> Any:
    """A record as JSON: dates in ISO form, a price with its age, a device by its name."""
    if isinstance(value, tuple) and [type(part) for part in value] == [str, Price]:
        return {"instance": value[0], **plain(value[1], day)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        if fields.get("accelerator") is not None:
            fields["accelerator"] = fields["accelerator"].name
        if isinstance(value, Price):
            fields |= {"age_days": value.age_days(day), "stale": value.provenance.stale(day)}
        return {key: plain(inner, day) for key, inner in fields.items()}
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, tuple | list):
        return [plain(inner, day) for inner in value]
    return value


def detail(thing: Any, day: date, out: Console) -> None:
    """Print every field, then notes, source and age, then the prices with theirs."""
    out.print(f"{thing.name} ({_WORDS[type(thing)]})", style="bold")
    if isinstance(thing, ModelSpec):
        out.print(f"  parameters: {thing.params.total:,}")
    if isinstance(thing, NumberFormat):
        out.print(f"  bits per weight, scales included: {thing.bits_per_weight:g}")
    for line in view.field_lines(plain(thing, day)):
        out.print(line)
    provenance = getattr(thing, "provenance", None)
    note = getattr(thing, "note", "")
    if note and (provenance is None or note != provenance.note):
        out.print(note)
    if provenance is not None:
        for line in view.provenance_lines(provenance, day):
            out.print(line)
    prices = [(thing.name, price) for price in getattr(thing, "prices", ())]
    if prices:
        view.print_table(prices, view.price_columns(day), out, f"prices, on {day}")
        out.print(view.AGE_LEGEND)
        for _, p in prices:
            lines = view.provenance_lines(p.provenance, day)
            out.print(f"{p.kind}, {p.region}. {' '.join(lines)}")
