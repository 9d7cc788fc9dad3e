"""The engine against published rows: measurements of speed, and memory that engines logged.

`validate` predicts the rows of a table, `score` sums up how far off they are.
"""

from labkit.sizing.validate.result import RowResult, Unsupported
from labkit.sizing.validate.rows import validate
from labkit.sizing.validate.runs import MeasuredRun, read_run
from labkit.sizing.validate.schema import SchemaError, schema_of
from labkit.sizing.validate.score import Score, Summary, score

__all__ = [
    "MeasuredRun",
    "RowResult",
    "SchemaError",
    "Score",
    "Summary",
    "Unsupported",
    "read_run",
    "schema_of",
    "score",
    "validate",
]
