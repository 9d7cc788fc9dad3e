"""Bands: every output is low / mid / high, and `kind` says where the range comes from.

"fit": the residuals of a calibration on published measurements; "prior": a published range.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Band:
    """A value with its range: low <= mid <= high, in one stated unit.

    kind: "fit" (a calibration's residuals) or "prior" (a published range).
    """

    low: float
    mid: float
    high: float
    kind: str = "prior"

    def times(self, factor: float) -> Band:
        """The band in another unit: all three values times a positive factor."""
        return Band(self.low * factor, self.mid * factor, self.high * factor, self.kind)

    def under(self, numerator: float) -> Band:
        """numerator / value: the order turns over, so the highest value gives the low end."""
        return Band(numerator / self.high, numerator / self.mid, numerator / self.low, self.kind)

    def as_dict(self) -> dict[str, float]:
        """{low, mid, high}."""
        return {"low": self.low, "mid": self.mid, "high": self.high}

    @classmethod
    def worst_kind(cls, *bands: Band) -> str:
        """The kind of a result made of several bands: "prior" if any of them is one."""
        return "prior" if any(band.kind == "prior" for band in bands) else "fit"
