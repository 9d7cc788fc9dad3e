"""Every published row beside what labkit and the public tools say: the frame of all tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.accuracy.statistics import Scored
from benchmarks.peers.run import newest
from benchmarks.rows import measurements, purposes, read
from labkit.sizing.efficiency import format_class, hardware_class
from labkit.sizing.validate import RowResult, read_run, validate
from labkit.sizing.validate.predict import efficiency_for_run
from labkit.sizing.validate.quantities import is_inverted


@dataclass(frozen=True, slots=True)
class Frame:
    """The scored rows, and what was left out of them.

    `suspect` and `unsupported`: labkit's results with their rows, in the file's order. `results`:
    all of them.
    """

    scored: list[Scored]
    suspect: list[tuple[dict[str, str], RowResult]]
    unsupported: list[tuple[dict[str, str], RowResult]]
    results: list[RowResult]

    @property
    def total(self) -> int:
        """Rows in the file."""
        return len(self.results)


def frame() -> Frame:
    """Predict every row and join what the tools answered."""
    rows = measurements()
    results = validate(rows)
    others, purpose = answers(), purposes()
    scored, suspect, unsupported = [], [], []
    for row, result in zip(rows, results, strict=True):
        if result.status == "suspect":
            suspect.append((row, result))
        elif result.status == "unsupported":
            unsupported.append((row, result))
        else:
            scored.append(_scored(row, result, purpose[row["source_id"]], others[row["id"]]))
    return Frame(scored, suspect, unsupported, results)


def answers() -> Mapping[str, dict[str, float]]:
    """Row id -> tool -> its answer, in the row's own unit; rows it does not support left out."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for record in read(newest()):
        if record["status"] == "ok":
            found[record["id"]][record["peer"]] = float(record["predicted"])
    return found


def _scored(
    row: Mapping[str, str], result: RowResult, purpose: str, others: Mapping[str, float]
) -> Scored:
    if result.measured is None or result.low is None or result.mid is None or result.high is None:
        raise ValueError(f"{result.id} is scored without all its values")
    run = read_run(row)
    inverted = is_inverted(result.metric, result.quantity)

    def unit(value: float) -> float:
        return 1e3 / value if inverted else value

    low, high = sorted((unit(result.low), unit(result.high)))
    return Scored(
        id=row["id"],
        source=row["source_id"],
        purpose=purpose,
        quantity=result.quantity,
        model=run.model.name,
        accelerator=result.accelerator,
        hardware=hardware_class(run.device.accelerator),
        engine=row["engine"],
        family=run.variant,
        weights=format_class(run.weights).replace("-", " "),
        batch=run.batch,
        devices=run.devices,
        measured=unit(result.measured),
        low=low,
        mid=unit(result.mid),
        high=high,
        kind=efficiency_for_run(run).kind,
        others={tool: unit(value) for tool, value in others.items()},
    )
