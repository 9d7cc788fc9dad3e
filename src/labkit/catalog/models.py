"""The models that the catalogue ships, and `ModelSpec.from_config`'s reading of its argument.

Shipped models are stored as the fields of their published `config.json` and derived on demand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from labkit.catalog import snapshots
from labkit.catalog.from_config import spec_from_fields, spec_from_file
from labkit.catalog.names import Index
from labkit.catalog.specs import Confidence, ModelSpec, Provenance
from labkit.catalog.spellings import squeezed, without_quantizer


@cache
def records(snapshot: str) -> dict[str, dict[str, Any]]:
    """The stored models by name: aliases, source, date, confidence, note, configuration."""
    return {record["name"]: record for record in snapshots.records(snapshot, "models")}


@cache
def index(snapshot: str) -> Index:
    """Names and aliases (hub ids) of the stored models, under any usual spelling."""
    names = {name: record["aliases"] for name, record in records(snapshot).items()}
    return Index("model", names, fold=squeezed)


def spelled_like(snapshot: str, name: str) -> str | None:
    """The stored model that `name` means when a quantizer's suffix is left out, or None."""
    names = index(snapshot)
    return names.find(name) or names.find(without_quantizer(name))


@cache
def shipped(snapshot: str, name: str) -> ModelSpec:
    """The stored model of that exact name, derived from its configuration."""
    record = records(snapshot)[name]
    spec = spec_from_fields(record["config"], name)
    return replace(
        spec,
        aliases=tuple(record["aliases"]),
        note=" ".join(text for text in (spec.note, record["note"]) if text),
        provenance=Provenance(
            source=record["source"],
            as_of=date.fromisoformat(record["as_of"]),
            confidence=Confidence(record["confidence"]),
            note=record["note"],
        ),
    )


def model_from(source: str | Path | Mapping[str, Any]) -> ModelSpec:
    """See `ModelSpec.from_config`. A text is a catalogue name if there is one, else a path."""
    if isinstance(source, Mapping):
        name = source.get("_name_or_path") or source.get("model_type") or "model"
        return spec_from_fields(source, str(name), label="The model configuration")
    if isinstance(source, Path):
        return spec_from_file(source)
    snapshot = snapshots.resolve(None)
    names = index(snapshot)
    if source in names:
        return shipped(snapshot, names.resolve(source))
    # A folder on this machine comes before a loose reading of its name.
    path = Path(source).expanduser()
    if path.exists() or path.suffix == ".json" or source.startswith((".", "/", "~")):
        return spec_from_file(path)
    return shipped(snapshot, names.resolve(source, hint="A path to its config.json works too."))
