"""A measurement and its provenance, as it travels inside a notebook.

The record is the learner's word: the judge tests it for plausibility (relations, order, physical
limits), never for an absolute speed.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from labkit.contract.errors import LabkitError
from labkit.contract.view import number, prose, table, text_table

MIME_RECORD = "application/vnd.labkit.record.v1+json"
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Series:
    """Repeated samples of one figure: `name` is its key ("gemm.fp32"), `unit` its unit."""

    name: str
    unit: str
    samples: tuple[float, ...]
    label: str = ""

    @property
    def median(self) -> float:
        """The middle sample."""
        return statistics.median(self.samples)

    @property
    def iqr(self) -> float:
        """Distance between the quartiles; 0 for fewer than two samples."""
        if len(self.samples) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.samples, n=4, method="inclusive")
        return high - low


@dataclass(frozen=True, slots=True)
class Record:
    """One measurement.

    `id` names the bench ("machine", "decode"); `live` is False for a replayed recording, which
    is always shown with the machine that made it. `hardware` describes the machine without host
    name, user or path. `facts` holds counted, unsampled numbers (bytes per token, thread count).
    """

    id: str
    title: str
    live: bool
    made_on: str  # ISO date, UTC
    hardware: Mapping[str, Any]
    versions: Mapping[str, str]
    series: tuple[Series, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    wall_s: float = 0.0
    cpu_s: float = 0.0
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Series:
        for series in self.series:
            if series.name == name:
                return series
        raise KeyError(f"{name!r} is not in this record; it has {', '.join(self.names())}")

    def __contains__(self, name: object) -> bool:
        return any(series.name == name for series in self.series)

    def names(self) -> list[str]:
        """The keys of the series, in order."""
        return [series.name for series in self.series]

    def median(self, name: str) -> float:
        """Median of one series, in its own unit."""
        return self[name].median

    def machine(self) -> str:
        """The machine in one line."""
        return str(self.hardware.get("summary", "unknown machine"))

    def origin(self) -> str:
        """Who measured: this machine now, or a recording and its machine."""
        if self.live:
            return f"measured live on {self.machine()}, {self.made_on}"
        return f"REPLAYED, not your machine: recorded on {self.machine()}, {self.made_on}"

    def to_json(self) -> dict[str, Any]:
        """A JSON object that `from_json` reads back."""
        return {"schema": SCHEMA, **asdict(self)}

    @classmethod
    def from_json(cls, data: object) -> Record:
        """A record from untrusted JSON. Raises LabkitError when it is not one."""
        if not isinstance(data, dict):
            raise LabkitError("This is not a record: expected a JSON object.")
        if data.get("schema") != SCHEMA:
            raise LabkitError(f"This record has schema {data.get('schema')!r}; known: {SCHEMA}.")
        try:
            series = tuple(_series(item) for item in _list(data["series"], "series"))
            if not series:
                raise LabkitError("This record holds no measured series.")
            return cls(
                id=_text(data["id"], "id"),
                title=_text(data["title"], "title"),
                live=_flag(data["live"]),
                made_on=_text(data["made_on"], "made_on"),
                hardware=_mapping(data["hardware"], "hardware"),
                versions=_mapping(data["versions"], "versions"),
                series=series,
                facts=_mapping(data.get("facts", {}), "facts"),
                wall_s=_real(data.get("wall_s", 0.0), "wall_s"),
                cpu_s=_real(data.get("cpu_s", 0.0), "cpu_s"),
                notes=tuple(_text(n, "notes") for n in _list(data.get("notes", []), "notes")),
            )
        except KeyError as error:
            raise LabkitError(f"This record lacks the field {error.args[0]!r}.") from None

    def _rows(self) -> tuple[list[str], list[list[object]], str]:
        rows: list[list[object]] = [
            [
                s.label or s.name,
                f"{number(s.median)} {s.unit}",
                f"{100 * s.iqr / s.median:.1f} %" if s.median and len(s.samples) > 1 else "–",
                len(s.samples),
            ]
            for s in self.series
        ]
        return ["What", "Median", "Spread (IQR)", "Samples"], rows, self.title

    def __repr__(self) -> str:
        tail = [self.origin(), *self.notes]
        return "\n".join([text_table(*self._rows()), *tail])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        tail = "".join(f"<div>{prose(line)}</div>" for line in (self.origin(), *self.notes))
        return {
            "text/plain": repr(self),
            "text/html": f"{table(*self._rows())}<div style='opacity:.8'>{tail}</div>",
            MIME_RECORD: self.to_json(),
        }


def _series(item: object) -> Series:
    data = _mapping(item, "series")
    samples = tuple(_real(x, "samples") for x in _list(data["samples"], "samples"))
    if not samples:
        raise LabkitError("This record has a series without samples.")
    return Series(
        name=_text(data["name"], "name"),
        unit=_text(data["unit"], "unit"),
        samples=samples,
        label=_text(data.get("label", ""), "label"),
    )


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise LabkitError(f"This record's field {name!r} is not text.")
    return value


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise LabkitError("This record's field 'live' is not true or false.")
    return value


def _real(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise LabkitError(f"This record's field {name!r} holds something that is not a number.")
    return float(value)


def _list(value: object, name: str) -> Sequence[Any]:
    if not isinstance(value, (list, tuple)):
        raise LabkitError(f"This record's field {name!r} is not a list.")
    return value


def _mapping(value: object, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise LabkitError(f"This record's field {name!r} is not an object.")
    return value
