"""`labkit calibrate FILE`: fit the engine to runs of one's own, and say how far off it is."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.cli.common import console, emit_json, fail
from labkit.cli.csv_table import read_csv

if TYPE_CHECKING:
    from labkit.sizing.calibrate import Calibration

FEWEST_ROWS = 8


def calibrate(
    file: Annotated[
        Path,
        typer.Argument(help="Measured runs as CSV, in the columns that `labkit validate` reads."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the calibration here, for `estimate --calibration`."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fit the engine's parameters to the runs in FILE.

    What the runs cannot tell stays at its prior. Nothing that ships is changed: give the
    result to `labkit estimate --calibration`.
    """
    from labkit.sizing.calibrate import calibrate as fit
    from labkit.sizing.calibration_text import as_json
    from labkit.sizing.validate.result import Unsupported
    from labkit.sizing.validate.runs import read_run
    from labkit.sizing.validate.schema import schema_of

    table = read_csv(file)
    if schema_of(table.columns) != "measurements":
        fail(f"{file} holds memory logs; calibrating needs measured times or rates.")
    runs, reasons = [], []
    for row in table.rows:
        try:
            runs.append(read_run(row))
        except Unsupported as why:
            reasons.append(f"{row.get('id', '?')}: {why}")
    if len(runs) < FEWEST_ROWS:
        first = f" The first that was not: {reasons[0]}" if reasons else ""
        fail(f"{file} has {len(runs)} rows that can be read; {FEWEST_ROWS} are needed.{first}")
    if not json:
        console(stderr=True).print(f"Fitting {len(runs)} runs …", style="dim")
    found = fit(runs)
    result = as_json(found)
    if out is not None:
        out.write_text(json_module.dumps(result, indent=2) + "\n", encoding="utf-8")
    if json:
        emit_json({**result, "unread": reasons})
        return
    _render(found, len(reasons), out)


def _render(found: Calibration, unread: int, out: Path | None) -> None:
    from rich import box
    from rich.table import Table

    from labkit.sizing.efficiency import shipped
    from labkit.sizing.priors import PRIORS

    screen = console()
    ours = shipped()
    table = Table(box=box.SIMPLE, title="Parameters", title_justify="left")
    for name in ("parameter", "prior", "shipped", "these runs"):
        table.add_column(name, justify="left" if name == "parameter" else "right")
    for name in PRIORS:
        if name in found.values:
            values = (PRIORS[name], ours.value(name), found.values[name])
            table.add_row(name, *(f"{value:.4g}" for value in values))
    screen.print(table)
    spreads = Table(
        box=box.SIMPLE, title="Time ÷ predicted time, middle 90 %", title_justify="left"
    )
    for name in ("engine", "hardware", "step", "low", "high", "rows"):
        spreads.add_column(name, justify="right" if name in {"low", "high", "rows"} else "left")
    for (variant, hardware), steps in found.spreads.items():
        for step, one in steps.items():
            spreads.add_row(
                variant, hardware, step, f"{one.low:.2f}", f"{one.high:.2f}", str(one.rows)
            )
    screen.print(spreads)
    screen.print(
        f"{sum(found.rows.values())} rows of {len(found.sources)} sources fitted, {unread} not "
        "readable (labkit validate says why)."
    )
    if out is not None:
        screen.print(
            f"Written to {out}. Use it: labkit estimate MODEL INSTANCE --calibration {out}"
        )
