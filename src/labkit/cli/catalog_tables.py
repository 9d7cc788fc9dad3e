"""Which rows and columns `labkit catalog show TABLE` prints, and what its columns mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import Any

from labkit.catalog import Catalog
from labkit.catalog.formats import FORMATS
from labkit.cli import catalog_view as view
from labkit.cli.common import fail
from labkit.contract.errors import nearest

Selected = tuple[Sequence[Any], Sequence[view.Column[Any]]]
Select = Callable[[Catalog, date, str, str, str], Selected]


def _instances(catalog: Catalog, day: date, family: str, kind: str, region: str) -> Selected:
    rows = catalog.instances(family=family, kind=kind)
    return rows, view.instance_columns(day, _known_region(catalog, region or "us-east-1"))


def _prices(catalog: Catalog, day: date, family: str, kind: str, region: str) -> Selected:
    kinds = sorted({price.kind for _, price in catalog.prices()})
    if kind and kind not in kinds:
        fail(f"Unknown price kind {kind!r}: use {', '.join(nearest(kind, kinds) or kinds)}.")
    if region:
        _known_region(catalog, region)
    if family:
        names = {i.name for i in catalog.instances(family=family)}
    else:
        names = {i.name for i in catalog.instances()}
    rows = [
        (name, price)
        for name, price in catalog.prices()
        if name in names and kind in {"", price.kind} and region in {"", price.region}
    ]
    return rows, view.price_columns(day)


def _known_region(catalog: Catalog, region: str) -> str:
    regions = sorted({price.region for _, price in catalog.prices()})
    if region not in regions:
        near = nearest(region, regions) or regions
        fail(f"No price is known for the region {region!r}: use {', '.join(near)}.")
    return region


TABLES: Mapping[str, Select] = MappingProxyType(
    {
        "instances": _instances,
        "accelerators": lambda c, *_: (c.accelerators(), view.accelerator_columns()),
        "cpus": lambda c, *_: (c.cpus(), view.cpu_columns()),
        "models": lambda c, *_: (c.models(), view.model_columns()),
        "prices": _prices,
        "formats": lambda c, *_: (c.formats(), view.format_columns()),
    }
)


LEGENDS: Mapping[str, str] = MappingProxyType(
    {
        "instances": "GiB: usable memory of all accelerators together. host GiB: RAM. USD/h: "
        "on-demand. " + view.AGE_LEGEND,
        "accelerators": "GiB: usable memory. Rates are dense. weights: formats that an engine can "
        "hold, natively or through a weight-only kernel; all = "
        f"{' '.join(FORMATS)}.",
        "cpus": "Of one socket. Rates are dense ceilings: FLOP per cycle and core x clock x cores; "
        "– where no source gives the clock or the units.",
        "models": "layers: kind and window. heads/KV: attention heads and key-value heads. "
        "stored as: the published checkpoint's format.",
        "prices": "range: over zones; spot prices move by the hour. " + view.AGE_LEGEND,
    }
)
