"""Reads a submitted notebook as data, whatever its bytes are.

A notebook is known by its metadata (lab, learner, course version), never by its file's name.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.contract.answer import Wire
from labkit.contract.carried import MIME_CARRIED
from labkit.contract.errors import LabkitError
from labkit.contract.paths import valid_exercise
from labkit.contract.record import MIME_RECORD, Record
from labkit.course import notebooks
from labkit.course.identity import ANONYMOUS, Identity, from_metadata
from labkit.runner.job import Cell

MAX_BYTES = 32 << 20
MAX_CELLS = 2000
MAX_CELL = 1 << 20
MAX_RECORDS = 64
MAX_RECORD = 256 << 10
MAX_CARRIED = 16 << 10

_LAB = re.compile(r"[0-9]{1,2}")
_LAB_CALL = re.compile(r"""\bLab\(\s*["']([0-9]{1,2})["']""")
_CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class UnreadableError(LabkitError):
    """This file is no notebook; the message says why, for the learner and the instructor."""


class RefusedError(LabkitError):
    """This file is not opened at all: it is a link or no ordinary file."""


@dataclass(frozen=True, slots=True)
class Submission:
    """One notebook. `lab` is "" where nothing tells it; `records` are the learner's own."""

    sha256: str
    lab: str
    identity: Identity
    course_version: str
    cells: tuple[Cell, ...]
    other_cells: frozenset[str]  # ids of cells that are not code
    records: Mapping[str, Record]
    carried: Mapping[str, Wire]  # answers to other labs' exercises, as `lab.carry` showed them
    warnings: tuple[str, ...]
    claimed: bool  # whether it carries labkit metadata at all


def read_bytes(path: Path) -> bytes:
    """The bytes of an ordinary file. Raises RefusedError or UnreadableError."""
    try:
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            raise RefusedError("is a symbolic link; hand in the notebook itself")
        if not stat.S_ISREG(info.st_mode):
            raise RefusedError("is no ordinary file")
        if info.st_size > MAX_BYTES:
            raise UnreadableError(
                f"has {info.st_size / 1e6:,.0f} MB; the limit is {MAX_BYTES >> 20} MiB: "
                "clear its outputs and hand it in again"
            )
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise UnreadableError(f"cannot be opened: {reason}") from None


def parse(raw: bytes) -> Submission:
    """The submission in these bytes. Raises UnreadableError with what is wrong."""
    notebook = _notebook(raw)
    warnings: list[str] = []
    cells = list(_cells(notebook, warnings))
    metadata = notebooks.metadata(notebook)
    code = tuple(Cell(cell_id, source) for cell_id, kind, source in cells if kind == "code")
    identity = from_metadata(metadata)
    learner = metadata.get("learner")
    if isinstance(learner, str) and learner and not identity.learner:
        warnings.append(f"The notebook's learner id {learner[:64]!r} is not valid; it is ignored.")
    return Submission(
        sha256=hashlib.sha256(raw).hexdigest(),
        lab=_lab(metadata, code, warnings),
        identity=identity,
        course_version=str(metadata.get("course_version", ""))[:40],
        cells=code,
        other_cells=frozenset(cell_id for cell_id, kind, _ in cells if kind != "code"),
        records=_records(notebook, warnings),
        carried=_carried(notebook, warnings),
        warnings=tuple(dict.fromkeys(warnings)),
        claimed=bool(metadata),
    )


def numbers_of(submission: Submission, owner: str) -> tuple[Identity, str]:
    """Whose personal numbers the notebook works with, and a warning where that is a guess."""
    identity = submission.identity
    if identity.learner:
        return identity, ""
    if submission.claimed:
        return Identity(ANONYMOUS, identity.variants), (
            "The notebook names no learner, so it is graded on the numbers of 'anonymous'."
        )
    return Identity(owner, identity.variants), (
        f"The notebook has lost its metadata; it is graded on the numbers of {owner!r}."
    )


def _notebook(raw: bytes) -> notebooks.Notebook:
    if not raw.strip():
        raise UnreadableError("is empty: save the notebook and hand it in again")
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UnreadableError("is UTF-16 text; a notebook is UTF-8: save it from JupyterLab")
    try:
        data = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UnreadableError(f"is no UTF-8 text (byte {error.start:,})") from None
    except json.JSONDecodeError as error:
        offset = len(error.doc[: error.pos].encode("utf-8", "replace"))
        raise UnreadableError(
            f"is not a notebook: its JSON breaks at byte {offset:,} of {len(raw):,}"
        ) from None
    except (ValueError, RecursionError, MemoryError):
        raise UnreadableError("is not a notebook: its JSON cannot be read") from None
    if not isinstance(data, dict):
        raise UnreadableError(f"is not a notebook: it is a JSON {type(data).__name__}")
    if isinstance(data.get("worksheets"), list):  # nbformat 3 and older
        sheets = [sheet for sheet in data["worksheets"] if isinstance(sheet, dict)]
        lists = [sheet["cells"] for sheet in sheets if isinstance(sheet.get("cells"), list)]
        data = {**data, "cells": [cell for cells in lists for cell in cells]}
    if not isinstance(data.get("cells"), list):
        raise UnreadableError("is not a notebook: it has no list of cells")
    if len(data["cells"]) > MAX_CELLS:
        raise UnreadableError(f"has {len(data['cells']):,} cells; the limit is {MAX_CELLS:,}")
    return data


def _cells(notebook: notebooks.Notebook, warnings: list[str]) -> Iterator[tuple[str, str, str]]:
    """Id, type and source of each cell; ids are made up where missing and told apart where not."""
    seen: dict[str, int] = {}
    for number, cell in enumerate(notebook["cells"], start=1):
        if not isinstance(cell, dict):
            warnings.append(f"Cell {number} is no cell; it is left out.")
            continue
        source = _text(cell.get("source", cell.get("input", "")))
        if source is None:
            warnings.append(f"Cell {number} has no text as its source; it is left out.")
            continue
        given = cell.get("id")
        cell_id = (
            given if isinstance(given, str) and _CELL_ID.fullmatch(given) else f"cell {number}"
        )
        seen[cell_id] = seen.get(cell_id, 0) + 1
        if seen[cell_id] > 1:
            warnings.append(f"The cell id {cell_id} occurs more than once; all copies are run.")
            cell_id = f"{cell_id} (copy {seen[cell_id]})"
        if len(source) > MAX_CELL:
            warnings.append(f"{cell_id} has {len(source):,} characters; it is not run.")
            continue
        yield cell_id, str(cell.get("cell_type", ""))[:20], source


def _text(source: object) -> str | None:
    if isinstance(source, str):
        return source
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    return None


def _lab(metadata: Mapping[str, Any], cells: tuple[Cell, ...], warnings: list[str]) -> str:
    lab = metadata.get("lab")
    if isinstance(lab, str) and _LAB.fullmatch(lab):
        return lab.zfill(2)
    found: set[str] = {match.zfill(2) for cell in cells for match in _LAB_CALL.findall(cell.source)}
    if len(found) != 1:
        return ""
    warnings.append("The notebook's metadata do not name its lab; it is told by its code.")
    return found.pop()


def _records(notebook: notebooks.Notebook, warnings: list[str]) -> dict[str, Record]:
    """The learner's measurements in the outputs; of two with the same id the later one."""
    found: dict[str, Record] = {}
    for data in _outputs(notebook, MIME_RECORD):
        try:
            if len(json.dumps(data)) > MAX_RECORD:
                raise LabkitError("it is too large")
            record = Record.from_json(data)
        except (LabkitError, ValueError, TypeError, RecursionError, OverflowError) as error:
            why = str(error)[:120] if isinstance(error, LabkitError) else "it is malformed"
            warnings.append(f"A measurement in the notebook is not read: {why}")
            continue
        if record.id not in found and len(found) >= MAX_RECORDS:
            warnings.append(f"The notebook holds more than {MAX_RECORDS} measurements.")
            break
        found[record.id] = record
    return found


def _carried(notebook: notebooks.Notebook, warnings: list[str]) -> dict[str, Wire]:
    """Answers that the notebook brought from other labs; of two to one exercise the later one."""
    found: dict[str, Wire] = {}
    for data in _outputs(notebook, MIME_CARRIED):
        read = _answer_of(data)
        if read is None:
            warnings.append("An answer that was carried from another lab is not read.")
        elif read[0] in found or len(found) < MAX_RECORDS:
            found[read[0]] = read[1]
    return found


def _answer_of(data: object) -> tuple[str, Wire] | None:
    """Exercise and answer of one carried message; None where it is malformed or large."""
    exercise = data.get("exercise") if isinstance(data, dict) else None
    answer = data.get("answer") if isinstance(data, dict) else None
    if not isinstance(exercise, str) or not valid_exercise(exercise):
        return None
    try:
        fits = isinstance(answer, dict) and len(json.dumps(answer)) <= MAX_CARRIED
    except (ValueError, TypeError, RecursionError):
        fits = False
    return (exercise, answer) if isinstance(answer, dict) and fits else None


def _outputs(notebook: notebooks.Notebook, mime: str) -> Iterator[object]:
    """What stands in the cells' outputs under this MIME type."""
    for cell in notebook["cells"]:
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        for output in outputs if isinstance(outputs, list) else ():
            data = output.get("data") if isinstance(output, dict) else None
            if isinstance(data, dict) and mime in data:
                yield data[mime]
