"""`labkit validate FILE`: the engine against rows that others measured or logged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labkit.cli.common import console, emit_json, fail


def validate(
    file: Annotated[
        Path,
        typer.Argument(help="Measurements of speed, or logs of the KV cache, as CSV."),
    ],
    worst: Annotated[int, typer.Option(min=0, help="How many of the worst rows to show.")] = 8,
    json: Annotated[bool, typer.Option("--json", help="Print JSON: every row.")] = False,
) -> None:
    """Predict every row of FILE and say how far off the engine is.

    Two tables are known by their columns. Measurements: id, engine, model, weights_dtype, gpu,
    gpu_count, tensor_parallel, batch_or_concurrency, prompt_tokens, output_tokens, metric, value;
    better with kv_dtype, engine_version, instance_type and notes. Logs: id, engine, model, gpu,
    tp, util, weights_gib, kv_gib; better with total_gib_log, kv_tokens and engine_version.

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
