"""What a prediction of one published row is: the measured value beside the band, or a reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from labkit.sizing.validate.quantities import is_inverted

Status = Literal["ok", "unsupported", "suspect"]


class Unsupported(Exception):  # noqa: N818 - an answer to a row, not a failure of the program
    """A row, or a part of one, that the engine does not model; `str` is the reason, a sentence."""

    @property
    def reason(self) -> str:
        """Why, in one sentence that names the value."""
        return str(self)


@dataclass(frozen=True, slots=True)
class RowResult:
    """One metric of one row, all values in the metric's own unit.

    `measured` is None where the row does not print the metric. `low`, `mid` and `high` are None
    where `status` is "unsupported"; `reason` then says why, in a sentence. A "suspect" row
    contradicts itself or the hardware by its own notes: it is predicted and not scored.
    `assumptions` are readings of what the row leaves open. The fields after it are for grouping;
    `quantity` is what the number is, whatever its source calls it (`quantities`).
    """

    id: str
    metric: str
    measured: float | None
    low: float | None
    mid: float | None
    high: float | None
    status: Status
    reason: str = ""
    assumptions: tuple[str, ...] = ()
    accelerator: str = ""
    engine: str = ""
    weights: str = ""
    sequences: str = ""  # "1", "> 1" or "saturated"
    devices: int = 0  # the tensor-parallel size, 0 unknown
    quantity: str = ""

    @property
    def error(self) -> float | None:
        """Relative error of a scored row in the unit of its quantity; None for all others.

        A rate that stands for a time per token is scored as that time: measured / mid - 1.
        """
        if self.status != "ok" or not self.measured or not self.mid:
            return None
        if is_inverted(self.metric, self.quantity):
            return abs(self.measured / self.mid - 1.0)
        return abs(self.mid - self.measured) / self.measured

    @property
    def half_width(self) -> float | None:
        """Half the band over its middle; None where there is no prediction."""
        if self.low is None or self.high is None or not self.mid:
            return None
        return (self.high - self.low) / 2 / self.mid

    @property
    def covered(self) -> bool | None:
        """Whether the band holds the measured value; None where the row is not scored."""
        if self.error is None or self.low is None or self.high is None or self.measured is None:
            return None
        return self.low <= self.measured <= self.high

    def as_json(self) -> dict[str, Any]:
        """The row as `labkit validate --json` prints it."""
        return {
            "id": self.id,
            "metric": self.metric,
            "measured": self.measured,
            "low": self.low,
            "mid": self.mid,
            "high": self.high,
            "status": self.status,
            "reason": self.reason,
            "assumptions": list(self.assumptions),
        }
