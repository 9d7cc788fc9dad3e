"""A CSV file that a command is given: its rows, or one sentence on what is wrong with it."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from labkit.cli.common import CommandError

MAX_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A table's columns in order, and its rows as column -> text ("" where a row ends early)."""

    columns: tuple[str, ...]
    rows: list[dict[str, str]]


def read_csv(path: Path) -> CsvTable:
    """The table in `path`, UTF-8 with a row of column names first.

    Raises `CommandError`, one sentence, for a file that is missing, too large, binary, empty or
    no CSV.
    """
    text = _text(path)
    lines = csv.reader(text.splitlines(keepends=True), strict=True)
    try:
        table = [cells for cells in lines if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise CommandError(f"{path} is no CSV: line {lines.line_num}: {error}.") from None
    if not table:
        raise CommandError(f"{path} is empty: a first line with the columns' names is needed.")
    columns = tuple(name.strip() for name in table[0])
    twice = sorted({name for name in columns if name and columns.count(name) > 1})
    if twice:
        raise CommandError(f"{path} has the column {twice[0]!r} more than once.")
    if len(table) == 1:
        raise CommandError(f"{path} has columns and no rows.")
    # Cells beyond the last column belong to no name and are left out.
    rows = [
        dict(zip(columns, cells + [""] * (len(columns) - len(cells)), strict=False))
        for cells in table[1:]
    ]
    return CsvTable(columns, rows)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise CommandError(f"No such file: {str(path)!r}.") from None
    except OSError as error:
        raise CommandError(f"Cannot read {str(path)!r}: {error.strerror}.") from None
    if len(data) > MAX_BYTES:
        raise CommandError(f"{path} is larger than {MAX_BYTES >> 20} MiB.")
    if b"\0" in data:
        raise CommandError(f"{path} is a binary file, not a CSV.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8 text: byte {error.start} is not.") from None
