"""Playing a lab's solution through, cell by cell, in this process, in replay.

Before each answer cell the names that a learner would have are kept, so that the exercise can be
solved again there on other learners' numbers. Only for authors: it executes the lab's source.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.bench.records import recording
from labkit.contract import LabkitError, Q, Record
from labkit.contract.paths import ENV_LEARNER, ENV_REPLAY, ENV_WORKSPACE
from labkit.course.build import SOLUTION_LEARNER
from labkit.course.lab import Lab
from labkit.course.material import Material
from labkit.course.source import SourceCell, text_of
from labkit.exercises import Exercise, givens_for

Names = dict[str, Any]


class RehearsalError(LabkitError):
    """A cell of the source raised; the message names the cell and the error."""


@dataclass(slots=True)
class Stage:
    """What a rehearsal leaves: names before each answer, and the records that were replayed."""

    before: dict[str, Names] = field(default_factory=dict)
    has_given: set[str] = field(default_factory=set)
    records: dict[str, Record] = field(default_factory=dict)


@contextlib.contextmanager
def replaying() -> Iterator[None]:
    """An empty folder and an environment in which benches replay and no workspace is found.

    What the lab prints, draws and saves stays in there; everything is put back afterwards.
    """
    with (
        tempfile.TemporaryDirectory() as nowhere,
        contextlib.chdir(nowhere),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        wanted = {
            ENV_REPLAY: "1",
            ENV_WORKSPACE: str(Path(nowhere) / "none"),
            ENV_LEARNER: SOLUTION_LEARNER,
            "MPLBACKEND": "Agg",
        }
        before = {name: os.environ.get(name) for name in wanted}
        os.environ.update(wanted)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            pyplot = sys.modules.get("matplotlib.pyplot")
            if pyplot is not None:
                pyplot.close("all")


def rehearse(material: Material, cells: Sequence[SourceCell]) -> Stage:
    """Run every code cell of the solution in order. Raises RehearsalError.

    Call it inside `replaying()`.
    """
    stage = Stage(records=recordings(material.exercises))
    lab = Lab(material.plan.number, strict=True, material=material, show=lambda _thing: None)
    names: Names = {
        "__name__": "__main__",
        "lab": lab,
        "Q": Q,
        "bench": importlib.import_module("labkit.bench"),
        "display": lambda *_things, **_options: None,
    }
    for cell in cells:
        if cell.markdown or cell.role in ("statement", "predict", "check"):
            continue
        if cell.role == "answer":
            stage.before[cell.exercise] = dict(names)
        if cell.role == "given":
            stage.has_given.add(cell.exercise)
        if cell.role == "setup" and not cell.body.strip():
            continue
        run(
            text_of(cell, material.exercises, number=material.plan.number, solved=True),
            names,
            cell.where,
        )
        names["lab"] = lab
    return stage


def recordings(exercises: Mapping[str, Exercise]) -> dict[str, Record]:
    """The shipped recordings that the exercises need. Raises NoRecord for a missing one."""
    needed = sorted({name for exercise in exercises.values() for name in exercise.needs})
    return {name: recording(name) for name in needed}


def names_for(stage: Stage, material: Material, exercise: Exercise, learner: str) -> Names:
    """The names before this exercise's answer, with another learner's givens in `g`."""
    names = dict(stage.before[exercise.id])
    if exercise.id in stage.has_given:
        names["g"] = givens_for(exercise, material.facts, learner=learner, records=stage.records)
    return names


def run(source: str, names: Names, where: str) -> None:
    """Execute a cell's text, without its IPython magics. Raises RehearsalError."""
    lines = [line for line in source.splitlines() if not line.lstrip().startswith(("%", "!"))]
    try:
        exec(compile("\n".join(lines), f"<{where}>", "exec"), names)  # noqa: S102  # the author's own cell
    except Exception as error:  # an author's cell may raise anything
        raise RehearsalError(
            f"The cell {where!r} raises {type(error).__name__}: {error}"
        ) from error
