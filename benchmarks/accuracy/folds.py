"""`python -m benchmarks.accuracy.folds`: every row predicted by a fit that has not seen its source.

Fits all sources together and, for each source in turn, all but that one; the report's rows by
accelerator come from it. It takes half a minute, so the result is kept in data/folds.csv, and in
data/folds.mark what the shipped engine said when it was made: the report refuses a file of another
engine.
"""

from __future__ import annotations

import csv
import hashlib
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.accuracy.markdown import fine_percent, percent, table
from benchmarks.accuracy.statistics import WITHIN, Scored, relative_error
from benchmarks.calibrate import readable, usable
from benchmarks.rows import DATA, measurements, read
from labkit.sizing.calibrate import calibrate
from labkit.sizing.validate import RowResult, validate
from labkit.sizing.validate.quantities import THROUGHPUT

FILE = DATA / "folds.csv"
MARK = DATA / "folds.mark"
COLUMNS = ("id", "source", "log_ratio", "held_out")
RATES = (THROUGHPUT, "prompt rate")


class StaleError(Exception):
    """A kept file is older than what it was made from."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Rows whose accuracy is asked for by hardware or by how it is used."""

    name: str
    goal: float | None
    holds_for: Callable[[Scored], bool]


def _on(accelerator: str) -> Callable[[Scored], bool]:
    return lambda row: row.accelerator == accelerator


SUBJECTS = (
    Subject("tensor parallel on GPUs", 0.25, lambda r: r.devices > 1 and r.family != "neuron"),
    Subject("T4", None, _on("T4")),
    Subject("A10G", None, _on("A10G")),
    Subject("L4", None, _on("L4")),
    Subject("L40S", None, _on("L40S")),
    Subject("Inferentia2", None, _on("Inferentia2")),
    Subject("CPU", None, lambda r: r.hardware == "cpu"),
)


def mark(results: Sequence[RowResult]) -> str:
    """A digest of what the shipped engine says of every row: it changes when the engine does."""
    said = "".join(f"{r.id} {r.measured} {r.mid:.4g};" for r in results if r.mid is not None)
    return hashlib.sha256(said.encode()).hexdigest()[:12]


def make() -> list[dict[str, str]]:
    """Fit with each source left out; one record for each row that the engine can fit."""
    fitted = calibrate(readable([row for row in measurements() if usable(row)]))
    return [
        {
            "id": residual.id,
            "source": residual.source,
            "log_ratio": f"{residual.log_ratio:.5f}",
            "held_out": "1" if residual.held_out else "0",
        }
        for residual in fitted.residuals
    ]


@dataclass(frozen=True, slots=True)
class Held:
    """A row's error under a fit without its source; `left_out` false: no such fit is possible."""

    row: Scored
    error: float
    left_out: bool


def held(rows: Sequence[Scored], stamp: str) -> list[Held]:
    """The scored rows with their errors of the kept file.

    Raises `StaleError` where the file was made with another engine than `stamp` is the mark of.
    """
    if not MARK.exists() or MARK.read_text(encoding="utf-8").strip() != stamp:
        raise StaleError("data/folds.csv is out of date: run python -m benchmarks.accuracy.folds")
    kept = {record["id"]: record for record in read(FILE)}
    found = []
    for row in rows:
        record = kept.get(row.id)
        if record is None:
            continue
        # ln(time / predicted time); a throughput is a rate and is scored as one.
        sign = 1.0 if row.quantity in RATES else -1.0
        error = abs(math.exp(sign * float(record["log_ratio"])) - 1.0)
        found.append(Held(row, error, record["held_out"] == "1"))
    return found


def section(rows: Sequence[Scored], stamp: str) -> str:
    """The subjects by source: left out, or in-sample where nothing else speaks of them."""
    known = held(rows, stamp)
    head = ["rows on", "source", "fit", "n", "median error", "within 20 %", "naive"]
    lines = []
    for subject in SUBJECTS:
        mine = [one for one in known if subject.holds_for(one.row)]
        for source in sorted({one.row.source for one in mine}):
            part = [one for one in mine if one.row.source == source]
            lines.append([subject.name, *_line(source, part)])
        if len({one.row.source for one in mine}) > 1:
            lines.append([f"**{subject.name}, all**", *_line("", mine)])
    return table(head, lines, numbers_from=3)


def _line(source: str, part: Sequence[Held]) -> list[str]:
    left_out = sum(one.left_out for one in part)
    fit = "left out" if left_out == len(part) else "in-sample" if not left_out else "mixed"
    naive = [relative_error(o.row.others["naive"], o.row.measured) for o in part if o.row.others]
    return [
        source,
        fit,
        f"{len(part)}",
        fine_percent(median(one.error for one in part)),
        percent(sum(one.error <= WITHIN for one in part) / len(part)),
        percent(median(naive)) if naive else "–",
    ]


def main() -> int:
    """Fit and write the file."""
    stamp, records = mark(validate(measurements())), make()
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    MARK.write_text(stamp + "\n", encoding="utf-8")
    print(f"{FILE.name}: {len(records)} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
