"""Where the facts lie: one folder of tables per snapshot date, shipped inside the package.

A snapshot never changes once released: a course pins one, so that its numbers stay what they
were when the exercises were written, whatever newer facts a machine has fetched since.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from labkit.catalog.errors import CatalogError
from labkit.contract.errors import UnknownNameError


def _root() -> Traversable:
    return resources.files("labkit.catalog").joinpath("data")


@cache
def snapshots() -> tuple[str, ...]:
    """The shipped snapshots' dates, oldest first."""
    return tuple(sorted(entry.name for entry in _root().iterdir() if entry.is_dir()))


def resolve(snapshot: str | None) -> str:
    """The snapshot's id; None is the newest shipped one. Unknown ids raise `LabkitError`."""
    known = snapshots()
    if not known:
        raise CatalogError("The catalogue's tables are missing: install labkit again.")
    if snapshot is None:
        return known[-1]
    if snapshot not in known:
        raise UnknownNameError("catalogue snapshot", snapshot, known)
    return snapshot


def _text(snapshot: str, file: str) -> str:
    try:
        return _root().joinpath(snapshot, *file.split("/")).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CatalogError(f"Snapshot {snapshot} has no table {file}.") from None


def rows(snapshot: str, table: str) -> Iterator[dict[str, str]]:
    """The rows of a CSV table; empty cells are empty texts."""
    yield from csv.DictReader(_text(snapshot, f"{table}.csv").splitlines())


def records(snapshot: str, table: str) -> list[dict[str, Any]]:
    """The records of a JSON table: one folder with a file for each publisher, in that order."""
    folder = _root().joinpath(snapshot, table)
    if not folder.is_dir():
        raise CatalogError(f"Snapshot {snapshot} has no table {table}.")
    files = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".json"))
    found: list[dict[str, Any]] = []
    for file in files:
        found += json.loads(_text(snapshot, f"{table}/{file}"))
    return found
