"""Reading a "machine" record's sweep: the FLOPs, bytes and intensity behind each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labkit.contract import LabkitError, Record


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """One pass of `batch` rows through the sweep's matrices: seconds, FLOPs, bytes.

    The bytes are those that must move: every weight once, each row read and written once per
    matrix.
    """

    dtype: str
    batch: int
    seconds: float
    flop: float
    bytes: float

    @property
    def intensity(self) -> float:
        """Arithmetic intensity, FLOP per byte: about B/2 for FP32, B for BF16."""
        return self.flop / self.bytes

    @property
    def flop_per_s(self) -> float:
        """Achieved FLOP/s: the point's height on a roofline."""
        return self.flop / self.seconds

    @property
    def bytes_per_s(self) -> float:
        """Achieved bytes/s."""
        return self.bytes / self.seconds


def sweep_points(record: Record, dtype: str = "fp32") -> list[SweepPoint]:
    """The points of `dtype` ("fp32" or "bf16") by rising batch, from the medians.

    Raises LabkitError when the record has no such sweep.
    """
    sweep: dict[str, Any] = record.facts.get("sweep", {})
    if dtype not in sweep:
        known = ", ".join(sweep) or "none"
        raise LabkitError(f"This record has no sweep for {dtype!r}; it has: {known}.")
    facts = sweep[dtype]
    return [
        SweepPoint(
            dtype=dtype,
            batch=batch,
            seconds=record.median(f"sweep.{dtype}.b{batch}") / 1e3,
            flop=float(facts["flop_per_row"] * batch),
            bytes=float(facts["weight_bytes"] + facts["activation_bytes_per_row"] * batch),
        )
        for batch in facts["batches"]
    ]
