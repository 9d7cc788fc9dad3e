"""Gains of batching that others published and Lab 05 shows: each with its conditions and source."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from labkit.contract import LabkitError
from labkit.sizing.lengths import Lengths, parse_lengths

_FILE = Path(__file__).parent / "data" / "batching-gains.csv"


@dataclass(frozen=True, slots=True)
class PublishedGain:
    """One published ratio, `low` to `high`, of `system` over `baseline`.

    `outputs` are the answers' lengths, where only the baseline batches statically; `slots` is the
    size of its batches, our assumption where the source gives none. Else None and 0.
    """

    id: str
    source: str
    date: str
    system: str
    baseline: str
    model: str
    hardware: str
    workload: str
    outputs: Lengths | None
    slots: int
    low: float
    high: float
    as_printed: str
    conditions: str

    def from_scheduling(self) -> float | None:
        """What the lengths alone can give: E[longest of `slots`] / E[length].

        For a queue that never runs dry, with the same slots and step times on both sides. None
        where static batching is no part of the comparison.
        """
        if self.outputs is None:
            return None
        longest = (1.0 - self.outputs.cdf(k) ** self.slots for k in range(self.outputs.largest))
        return sum(longest) / self.outputs.mean


def published_gains(path: Path = _FILE) -> list[PublishedGain]:
    """The seven rows, in the table's order.

    Raises LabkitError where the table is not there or not readable.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [_gain(row) for row in csv.DictReader(file)]
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise LabkitError(
            f"The table {path.name} cannot be read: install labkit afresh."
        ) from error


def _gain(row: dict[str, str]) -> PublishedGain:
    outputs, slots = row.pop("outputs"), row.pop("slots")
    low, high = float(row.pop("low")), float(row.pop("high"))
    return PublishedGain(
        **row,
        outputs=parse_lengths(outputs) if outputs else None,
        slots=int(slots) if slots else 0,
        low=low,
        high=high,
    )
