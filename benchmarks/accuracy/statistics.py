"""What is said of a set of rows: median error, share within 20 %, how often the band holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Scored:
    """One measurement beside what was predicted, in one unit (that of its quantity).

    `family` is the variant of the step-time model, `hardware` its class of hardware. `others`:
    what each public tool answers, in the same unit; a tool that does not support the row is not
    in it. `kind`: "fit" or "prior", where labkit's parameters come from.
    """

    id: str
    source: str
    purpose: str
    quantity: str
    model: str
    accelerator: str
    hardware: str
    engine: str
    family: str
    weights: str
    batch: int
    devices: int
    measured: float
    low: float
    mid: float
    high: float
    kind: str
    others: dict[str, float]

    @property
    def error(self) -> float:
        """labkit's relative error, always positive."""
        return relative_error(self.mid, self.measured)

    @property
    def held(self) -> bool:
        """Whether the measurement lies in the band."""
        return self.low <= self.measured <= self.high

    @property
    def half_width(self) -> float:
        """Half the band's width, relative to its middle."""
        return (self.high - self.low) / (2 * self.mid)


@dataclass(frozen=True, slots=True)
class Summary:
    """Of n rows: medians and shares as fractions."""

    n: int
    error: float
    within: float
    held: float
    half_width: float


WITHIN = 0.20


def relative_error(predicted: float, measured: float) -> float:
    """|predicted / measured - 1|."""
    return abs(predicted / measured - 1.0)


def summary(rows: Sequence[Scored]) -> Summary | None:
    """labkit on these rows; None where there are none."""
    if not rows:
        return None
    return Summary(
        n=len(rows),
        error=median(row.error for row in rows),
        within=sum(row.error <= WITHIN for row in rows) / len(rows),
        held=sum(row.held for row in rows) / len(rows),
        half_width=median(row.half_width for row in rows),
    )


def median_error(rows: Sequence[Scored], tool: str) -> float | None:
    """A public tool's median error on the rows it supports; None where it supports none."""
    errors = [relative_error(row.others[tool], row.measured) for row in rows if tool in row.others]
    return median(errors) if errors else None


def shared(rows: Sequence[Scored], tool: str) -> list[Scored]:
    """The rows that both labkit and the tool predict."""
    return [row for row in rows if tool in row.others]
