"""Facts: accelerators, CPUs, instance types, prices, models and number formats.

Dated, sourced, expiring. This room loads facts and derives a model's shape from its
configuration; what they cost in bytes and seconds is the sizing room's business.
"""

from labkit.catalog.catalog import Catalog
from labkit.catalog.checks import stale_facts, unsourced
from labkit.catalog.errors import CatalogError, ConfigError
from labkit.catalog.specs import (
    Accelerator,
    Attention,
    Confidence,
    Cpu,
    Instance,
    ModelSpec,
    MoE,
    NumberFormat,
    ParamCounts,
    Price,
    Provenance,
)

__all__ = [
    "Accelerator",
    "Attention",
    "Catalog",
    "CatalogError",
    "Confidence",
    "ConfigError",
    "Cpu",
    "Instance",
    "MoE",
    "ModelSpec",
    "NumberFormat",
    "ParamCounts",
    "Price",
    "Provenance",
    "stale_facts",
    "unsourced",
]
