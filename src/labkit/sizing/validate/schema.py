"""Which of the two known tables a file is, told by its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from labkit.contract.errors import LabkitError

Schema = Literal["measurements", "kv-logs"]

REQUIRED: Mapping[Schema, tuple[str, ...]] = MappingProxyType(
    {
        "measurements": (
            *("id", "engine", "model", "weights_dtype", "gpu", "gpu_count", "tensor_parallel"),
            *("batch_or_concurrency", "prompt_tokens", "output_tokens", "metric", "value"),
        ),
        "kv-logs": ("id", "engine", "model", "gpu", "tp", "util", "weights_gib", "kv_gib"),
    }
)
"""The columns that a table must have; it may have any others."""


class SchemaError(LabkitError):
    """A table that is neither of the two, or lacks columns."""


def schema_of(columns: Iterable[str]) -> Schema:
    """The table that has these columns; `SchemaError` names those that are missing."""
    given = {str(column).strip() for column in columns if column is not None}
    missing = {name: [c for c in needed if c not in given] for name, needed in REQUIRED.items()}
    for name, lacking in missing.items():
        if not lacking:
            return name
    # Some columns stand in both tables: those of one alone tell which was meant.
    shared = set.intersection(*(set(needed) for needed in REQUIRED.values()))
    own = {name: len((set(needed) & given) - shared) for name, needed in REQUIRED.items()}
    nearest = max(own, key=lambda name: own[name])
    if own[nearest] == 0:
        raise SchemaError(
            "The table is neither measurements (columns "
            f"{', '.join(REQUIRED['measurements'])}) nor KV logs (columns "
            f"{', '.join(REQUIRED['kv-logs'])})."
        )
    raise SchemaError(
        f"The {nearest} table lacks the column{'s' if len(missing[nearest]) > 1 else ''} "
        f"{', '.join(missing[nearest])}."
    )
