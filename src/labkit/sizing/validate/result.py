"""What a prediction of one published row is: the measured value beside the band, or a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "unsupported"]


@dataclass(frozen=True, slots=True)
class RowResult:
    """One metric of one row, all values in the metric's own unit.

    `measured` is None where the row does not print the metric. `low`, `mid` and `high` are None
    where `status` is "unsupported"; `reason` then says why, in a sentence.
    """

    id: str
    metric: str
    measured: float | None
    low: float | None
    mid: float | None
    high: float | None
    status: Status
    reason: str = ""
