"""Fit the engine to the calibration sources and write the module that ships.

    python -m benchmarks.calibrate          rewrites src/labkit/sizing/fitted.py
    python -m benchmarks.calibrate --check  only says how far a fresh fit is from what ships

Only sources that `data/measurements-split.csv` marks for calibration are fitted; the others check
(`python -m benchmarks.accuracy`). Rows of `EXCLUDED` contradict their own source.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from labkit.sizing.calibrate import Calibration, calibrate
from labkit.sizing.calibration_text import as_python
from labkit.sizing.fitted import FITTED
from labkit.sizing.validate.result import Unsupported
from labkit.sizing.validate.runs import MeasuredRun, read_run

DATA = Path(__file__).parent / "data"
SHIPPED = Path(__file__).parents[1] / "src" / "labkit" / "sizing" / "fitted.py"

EXCLUDED = {
    "M0733": "19.1 tok/s beside 1,323 GB/s: those are the bytes of a 70B, not of the 7B it names",
    "M0734": "25.3 tok/s beside 1,098 GB/s: those are the bytes of a 70B, not of the 7B it names",
    "M0737": "18.0 tok/s beside 1,254 GB/s: those are the bytes of a 70B, not of the 8B it names",
    **dict.fromkeys(
        ("M0019", "M0020", "M0081", "M0082", "M0089", "M0090", "M0117", "M0118"),
        "8 x A10G is measured twice for this model; here it is 3 to 6 times slower than there",
    ),
    **dict.fromkeys(
        ("M0047", "M0048", "M0073", "M0074", "M0099", "M0100", "M0111", "M0112"),
        "8 x A100 is measured twice for this model; here it is 1.4 to 1.8 times slower than there",
    ),
}


def calibration_rows() -> list[dict[str, str]]:
    """The rows of the calibration sources, the excluded ones left out."""
    with (DATA / "measurements-split.csv").open(newline="") as file:
        chosen = {
            row["source_id"] for row in csv.DictReader(file) if row["purpose"] == "calibration"
        }
    with (DATA / "measurements.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["source_id"] in chosen and usable(row)]


def usable(row: dict[str, str]) -> bool:
    """Whether a row is to be fitted. GPTQ over several GPUs in TGI 1.0.3 is a known defect."""
    broken = row["source_id"] == "S01" and row["weights_dtype"] == "gptq4"
    return row["id"] not in EXCLUDED and not (broken and row["tensor_parallel"] != "1")


def readable(rows: list[dict[str, str]]) -> Iterator[MeasuredRun]:
    """The rows that the engine can read as runs."""
    for row in rows:
        try:
            yield read_run(row)
        except Unsupported:
            continue


def fresh() -> Calibration:
    """A calibration from the rows of this checkout."""
    return calibrate(readable(calibration_rows()))


def main() -> None:
    """Fit; then write the module, or compare with it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    found = fresh()
    if parser.parse_args().check:
        for name, value in found.values.items():
            shipped = FITTED.get(name)
            off = f"{value / shipped - 1:+.1%}" if shipped else "not shipped"
            print(f"{name:40} {value:10.4g}  {off}")
        return
    SHIPPED.write_text(as_python(found, date.today()))
    print(f"{SHIPPED.name}: {len(found.values)} parameters from {sum(found.rows.values())} rows")


if __name__ == "__main__":
    main()
