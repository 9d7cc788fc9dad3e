"""One number of an explanation, and how it becomes JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from labkit.sizing.bands import Band
from labkit.sizing.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Term:
    """One number with unit and source, under the heading `section`.

    `value` None: no source gives it, and `source` says so. A term with a range carries `low` and
    `high` beside its value.
    """

    section: str
    name: str
    value: float | None
    unit: str
    source: str
    low: float | None = None
    high: float | None = None

    def entries(self) -> Iterator[dict[str, Any]]:
        """The term as JSON entries: one, or three where it has a range."""
        yield {"name": self.name, "value": self.value, "unit": self.unit, "source": self.source}
        for label, value in (("low", self.low), ("high", self.high)):
            if value is not None:
                yield {
                    "name": f"{self.name} ({label})",
                    "value": value,
                    "unit": self.unit,
                    "source": self.source,
                }


def band_term(section: str, name: str, band: Band, unit: str, source: str) -> Term:
    """A term whose value is the band's mid."""
    return Term(section, name, band.mid, unit, source, low=band.low, high=band.high)


def row_of(e: Estimate) -> str:
    """Where the device's figures stand; `usable memory` carries the sources in full."""
    accelerator = e.instance.accelerator
    name = accelerator.name if accelerator else e.instance.name
    provenance = accelerator.provenance if accelerator else e.instance.provenance
    return f"catalogue row {name}, as of {provenance.as_of.isoformat()}"
