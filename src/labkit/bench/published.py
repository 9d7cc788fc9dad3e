"""Measurements that others published and a lab shows: each row with its source."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from labkit.contract import LabkitError

_FILE = Path(__file__).parent / "data" / "int4-under-load.csv"


@dataclass(frozen=True, slots=True)
class PublishedPoint:
    """One published row: `tpot_ms` is the median time per output token with so many users."""

    row: str
    source: str
    source_ref: str
    date: str
    engine: str
    model: str
    accelerator: str
    instance: str
    weights: str
    users: int
    tpot_ms: float
    includes: str

    def cite(self) -> str:
        """Title, place and date of the source, in one line."""
        return f"{self.source}, {self.source_ref}, {self.date}"


def int4_under_load(path: Path = _FILE) -> list[PublishedPoint]:
    """Llama-2-7B on one A10G, FP16 beside INT4 (GPTQ), at 1 to 20 users: eight published rows.

    Raises LabkitError where the table is not there or not readable.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [_point(row) for row in csv.DictReader(file)]
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise LabkitError(
            f"The table {path.name} cannot be read: install labkit afresh."
        ) from error


def _point(row: dict[str, str]) -> PublishedPoint:
    numbers = {"users": int(row["users"]), "tpot_ms": float(row["tpot_ms"])}
    texts = {name: row[name] for name in PublishedPoint.__slots__ if name not in numbers}
    return PublishedPoint(**texts, **numbers)  # type: ignore[arg-type]  # texts and numbers by name
