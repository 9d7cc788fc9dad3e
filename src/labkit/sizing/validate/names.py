"""The names of measurement tables: engines, hardware, number formats and models, in one place.

Each look-up gives ours or raises `Unsupported` with the nearest known names.
"""

from __future__ import annotations

from labkit.catalog import Catalog, ModelSpec
from labkit.contract.errors import nearest
from labkit.sizing.validate.cells import absent
from labkit.sizing.validate.engine_names import NamedEngine, engine_of
from labkit.sizing.validate.format_names import NamedFormat, cache_of, weights_of
from labkit.sizing.validate.hardware_names import NamedHardware, hardware_of, instance_of, is_cpu
from labkit.sizing.validate.result import Unsupported

__all__ = [
    "NamedEngine",
    "NamedFormat",
    "NamedHardware",
    "cache_of",
    "engine_of",
    "hardware_of",
    "instance_of",
    "is_cpu",
    "model_of",
    "weights_of",
]


def model_of(written: str) -> ModelSpec:
    """The catalogue's decoder of that name, hub id or quantized repository."""
    if absent(written):
        raise Unsupported("model is not stated.")
    catalog = Catalog.load()
    found = catalog.find_model(written)
    if found is None:
        near = nearest(written.rpartition("/")[2], catalog.model_names())
        tail = f": the nearest are {', '.join(near)}." if near else "."
        raise Unsupported(f"model {written[:60]!r} is not in the catalogue{tail}")
    if found.kind != "decoder":
        raise Unsupported(f"model {written[:60]!r} is no decoder: it has no tokens per second.")
    return found
