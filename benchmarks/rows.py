"""The published measurements: rows as text, and which source may be used for what."""

from __future__ import annotations

import csv
from pathlib import Path

DATA = Path(__file__).parent / "data"
MEASUREMENTS = DATA / "measurements.csv"
SPLIT = DATA / "measurements-split.csv"


def measurements() -> list[dict[str, str]]:
    """Every row, in the file's order."""
    return read(MEASUREMENTS)


def purposes() -> dict[str, str]:
    """Source id -> "calibration" or "visible validation"."""
    return {row["source_id"]: row["purpose"] for row in read(SPLIT)}


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file with a header."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
