"""A table's rows -> `RowResult`s: each is predicted, or unsupported with a reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from labkit.contract.errors import LabkitError
from labkit.sizing.validate.cells import measured, text_of
from labkit.sizing.validate.hardware_names import hardware_of
from labkit.sizing.validate.kv_logs import predict_kv
from labkit.sizing.validate.predict import predict
from labkit.sizing.validate.quantities import quantity_of
from labkit.sizing.validate.result import RowResult, Unsupported
from labkit.sizing.validate.runs import MeasuredRun, read_run
from labkit.sizing.validate.schema import Schema, schema_of

Row = Mapping[str, str]


def validate(rows: Iterable[Row], columns: Iterable[str] | None = None) -> list[RowResult]:
    """Predict every row of a table of measurements or of KV-cache logs.

    `columns` default to those of the first row. Raises `SchemaError`, one sentence, for a table
    that is neither; nothing that a row says raises.
    """
    table = list(rows)
    if columns is None:
        columns = table[0].keys() if table else ()
    read = _READERS[schema_of(columns)]
    return [result for row in table for result in read(row)]


def predict_row(row: Row) -> list[RowResult]:
    """The one result of a row of the measurements' schema."""
    name, metric = text_of(row, "id") or "?", text_of(row, "metric") or "?"
    try:
        run = read_run(row)
    except Unsupported as error:
        return [_unsupported(name, metric, _value(row), error)]
    try:
        band = predict(run)
    except (Unsupported, LabkitError) as error:
        return [_unsupported(name, metric, run.measured, error, run)]
    if not 0 <= band.low <= band.mid <= band.high or not math.isfinite(band.high):
        out_of_range = Unsupported("the prediction is out of the range of numbers.")
        return [_unsupported(name, metric, run.measured, out_of_range, run)]
    return [
        RowResult(
            id=name,
            metric=metric,
            measured=run.measured,
            low=band.low,
            mid=band.mid,
            high=band.high,
            status="suspect" if run.suspect else "ok",
            reason="its notes mark the number as suspect: not scored" if run.suspect else "",
            assumptions=run.assumptions,
            accelerator=run.accelerator,
            engine=run.engine_name,
            weights=run.weights.name,
            sequences=sequences_of(run),
            devices=run.devices,
            quantity=quantity_of(run.metric, run.batch),
        )
    ]


def predict_log(row: Row) -> list[RowResult]:
    """The results of a row of the KV logs' schema: `kv_gib` and `kv_tokens`."""
    return [
        replace(
            result,
            accelerator=_catalogued(text_of(row, "gpu")),
            engine=text_of(row, "engine"),
            quantity=quantity_of(result.metric, 1),
        )
        for result in predict_kv(row)
    ]


def sequences_of(run: MeasuredRun) -> str:
    """ "1", "> 1" or "saturated": the groups that batches are reported in."""
    if run.saturated:
        return "saturated"
    return "1" if run.batch == 1 else "> 1"


_READERS: Mapping[Schema, Callable[[Row], list[RowResult]]] = MappingProxyType(
    {"measurements": predict_row, "kv-logs": predict_log}
)


def _catalogued(gpu: str) -> str:
    """The catalogue's name of a GPU where it has one, else the log's own."""
    try:
        return hardware_of(gpu, 1).name
    except Unsupported:
        return gpu


def _value(row: Row) -> float | None:
    try:
        return measured(text_of(row, "value"))
    except Unsupported:
        return None  # the reason of the row is already being told


def _unsupported(
    name: str,
    metric: str,
    value: float | None,
    error: Exception,
    run: MeasuredRun | None = None,
) -> RowResult:
    return RowResult(
        id=name,
        metric=metric,
        measured=value,
        low=None,
        mid=None,
        high=None,
        status="unsupported",
        reason=str(error),
        accelerator=run.accelerator if run else "",
        engine=run.engine_name if run else "",
    )
