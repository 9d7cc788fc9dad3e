"""From a lab's source to its two notebooks: blank in `labs/`, solved in `solutions/`.

The same source gives the same bytes, wherever and whenever it is built: cell ids come from the
exercise, or from the heading above, and nothing else enters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.contract import LabkitError
from labkit.contract.paths import METADATA_KEY, METADATA_SCHEMA
from labkit.course import notebooks
from labkit.course.manifest import LabPlan
from labkit.course.material import Material
from labkit.course.source import (
    ROLES,
    SourceCell,
    SourceError,
    order_problems,
    parse,
    text_of,
)
from labkit.exercises import Exercise

SOLUTION_LEARNER = "solution"
_MAX_ID = 64
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "pygments_lexer": "ipython3",
}


@dataclass(frozen=True, slots=True)
class Built:
    """The two notebooks of one lab, not yet executed, and the cells they came from."""

    plan: LabPlan
    blank: notebooks.Notebook
    solved: notebooks.Notebook
    cells: tuple[SourceCell, ...]


def build(material: Material, source: str) -> Built:
    """Build a lab from its source's text. Raises SourceError naming the first broken rule."""
    name = material.plan.source
    cells = parse(source, name)
    for problem in order_problems(cells, material.exercises):
        raise SourceError(f"{name}: {problem}")
    ids = cell_ids(cells, name)
    return Built(
        material.plan,
        _notebook(material, cells, ids, solved=False),
        _notebook(material, cells, ids, solved=True),
        tuple(cells),
    )


def read_source(solutions: Path, plan: LabPlan) -> str:
    """The text of a lab's source. Raises SourceError where it is missing."""
    try:
        return (solutions / plan.source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"The source {plan.source} cannot be read: {error}.") from None


def cell_ids(cells: list[SourceCell], name: str) -> list[str]:
    """One id per cell: the exercise's, the heading's, or the section's with a running number.

    Raises SourceError when two cells would share one.
    """
    ids: list[str] = []
    section, n = "top", 0
    for cell in cells:
        heading = _heading(cell)
        if heading:
            section, n = heading, 0
        if "id" in cell.options:
            ids.append(str(cell.options["id"]))
        elif cell.role in ROLES:
            ids.append(f"ex-{cell.exercise.replace('.', '-')}-{cell.role}")
        elif cell.role:
            ids.append(cell.role)
        elif heading:
            ids.append(heading)
        else:
            n += 1
            ids.append(f"{section[: _MAX_ID - 4]}-{n}")
    for cell_id in ids:
        if ids.count(cell_id) > 1:
            raise SourceError(f'{name}: two cells would have the id {cell_id!r}; set id="…".')
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", cell_id):
            raise SourceError(f"{name}: {cell_id!r} is no cell id (letters, digits, - and _).")
    return ids


def _heading(cell: SourceCell) -> str:
    match = re.match(r"#{1,6}\s+(.+)", cell.body.lstrip()) if cell.markdown else None
    if match is None:
        return ""
    slug = re.sub(r"[^a-z0-9]+", "-", match.group(1).lower()).strip("-")
    return f"text-{slug}"[:_MAX_ID].rstrip("-")


def _notebook(
    material: Material, cells: list[SourceCell], ids: list[str], *, solved: bool
) -> notebooks.Notebook:
    about: dict[str, Any] = {
        "schema": METADATA_SCHEMA,
        "lab": material.plan.number,
        "course_version": material.version,
    }
    if solved:
        about["learner"] = SOLUTION_LEARNER
    return {
        "cells": [
            _cell(cell, cell_id, material, solved) for cell, cell_id in zip(cells, ids, strict=True)
        ],
        "metadata": {"kernelspec": KERNEL, "language_info": LANGUAGE, METADATA_KEY: about},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(cell: SourceCell, cell_id: str, material: Material, solved: bool) -> dict[str, Any]:
    markdown = cell.markdown or cell.role == "statement"
    text = text_of(cell, material.exercises, number=material.plan.number, solved=solved)
    built: dict[str, Any] = {
        "cell_type": "markdown" if markdown else "code",
        "id": cell_id,
        "metadata": cell_metadata(cell, cell_id, material.exercises),
        "source": text.splitlines(keepends=True),
    }
    if not markdown:
        built |= {"execution_count": None, "outputs": []}
    return built


def cell_metadata(
    cell: SourceCell, cell_id: str, exercises: Mapping[str, Exercise]
) -> dict[str, Any]:
    """Tags, what labkit knows of the cell, and nbgrader's view of answer and check cells."""
    metadata: dict[str, Any] = {}
    tags = cell.options.get("tags")
    if tags:
        metadata["tags"] = list(tags)
    if cell.role not in ROLES:
        return metadata
    metadata[METADATA_KEY] = {"exercise": cell.exercise, "role": cell.role}
    nbgrader = {"schema_version": 3, "grade_id": cell_id, "task": False}
    if cell.role == "answer":
        metadata["nbgrader"] = nbgrader | {"grade": False, "locked": False, "solution": True}
        metadata["deletable"] = False
    elif cell.role == "check":
        points = exercises[cell.exercise].points
        graded = {"grade": True, "locked": True, "solution": False, "points": points}
        metadata["nbgrader"] = nbgrader | graded
        metadata |= {"deletable": False, "editable": False}
    return metadata


def stale(built: Built, labs: Path, solutions: Path) -> list[str]:
    """Sentences about files in `labs/` and `solutions/` that are not what the source gives.

    `labs/` is compared byte for byte; the executed solution by its cells' ids and sources.
    """
    said = []
    target = labs / built.plan.file
    if not target.is_file():
        said.append(f"labs/{built.plan.file} is missing.")
    elif target.read_bytes() != notebooks.dumps(built.blank):
        said.append(
            f"labs/{built.plan.file} is not what its source gives: {_change(target, built.blank)}"
        )
    solved = solutions / built.plan.file
    if not solved.is_file():
        said.append(f"solutions/{built.plan.file} is missing.")
    else:
        change = _change(solved, built.solved)
        if change != _SAME_CELLS:
            said.append(f"solutions/{built.plan.file} is not what its source gives: {change}")
    return said


_SAME_CELLS = "the cells agree, the rest of the file does not."


def _change(path: Path, fresh: notebooks.Notebook) -> str:
    """What differs, in one sentence that names the first cells."""
    try:
        old = {str(c.get("id")): _text(c) for c in notebooks.read(path)["cells"]}
    except (LabkitError, AttributeError):
        return "it cannot be read as a notebook."
    new = {cell["id"]: _text(cell) for cell in fresh["cells"]}
    parts = []
    for word, names in (
        ("new", [name for name in new if name not in old]),
        ("gone", [name for name in old if name not in new]),
        ("changed", [name for name in new if name in old and old[name] != new[name]]),
    ):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            parts.append(f"{word}: {', '.join(names[:3])}{more}")
    if not parts and list(old) != list(new):
        parts.append("the cells stand in another order")
    return f"{'; '.join(parts)}." if parts else _SAME_CELLS


def _text(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)
