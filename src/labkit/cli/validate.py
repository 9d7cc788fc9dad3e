"""`labkit validate FILE`: the engine against rows that others measured or logged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labkit.cli.common import console, emit_json, fail


def validate(
    file: Annotated[
        Path,
        typer.Argument(help="Measurements or KV-cache logs as CSV; `docs/accuracy.md` lists both."),
    ],
    worst: Annotated[int, typer.Option(min=0, help="How many of the worst rows to show.")] = 8,
    json: Annotated[bool, typer.Option("--json", help="Print JSON: every row.")] = False,
) -> None:
    """Predict every row of FILE and say how far off the engine is.

    Two tables are known by their columns: measurements of speed (engine, model, gpu, metric,
    value, …) and what engines logged about their KV cache (weights_gib, util, kv_gib, …).

    A row that the engine does not model is "unsupported" with a reason. A row whose notes say
    SUSPECT is predicted and not scored.
    """
    from labkit.cli.csv_table import read_csv
    from labkit.sizing.validate import SchemaError, schema_of, score
    from labkit.sizing.validate import validate as predict_rows

    table = read_csv(file)
    try:
        schema = schema_of(table.columns)
    except SchemaError as error:
        fail(f"{file}: {error}")
    results = predict_rows(table.rows, table.columns)
    summary = score(results)
    if json:
        emit_json(
            {
                "file": str(file),
                "schema": schema,
                "rows": [result.as_json() for result in results],
                "summary": summary.as_json(),
            }
        )
        return
    from labkit.cli.validate_view import render

    title = f"{file.name} ({schema})"
    render(results, summary, console(), title=title, rows=len(table.rows), worst=worst)
