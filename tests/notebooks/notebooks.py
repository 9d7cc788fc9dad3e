"""Lab notebooks as learners hand them in: filled by exercise, run by papermill, graded for real."""

from __future__ import annotations

import csv
import functools
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat

from labkit.bench.records import recording
from labkit.contract import Record, Series
from labkit.contract.paths import answer_cell
from labkit.course.manifest import load_manifest
from labkit.course.resources import resources
from labkit.course.workspace import init
from labkit.exercises import Exercise, Facts, givens_for, load

LAB_FILES = {plan.number: plan.file for plan in load_manifest(resources().manifest).labs}


def learners_copy(folder: Path, learner: str, lab: str) -> Path:
    """A fresh workspace of this learner; returns the path of the lab in it."""
    init(folder, learner)
    return folder / LAB_FILES[lab]


def fill(notebook: Path, answers: Mapping[str, str]) -> None:
    """Replace the answer cells of the given exercises by these sources."""
    nb = nbformat.read(notebook, as_version=4)
    wanted = {answer_cell(exercise): source for exercise, source in answers.items()}
    for cell in nb.cells:
        if cell.id in wanted:
            cell.source = wanted.pop(cell.id)
    assert not wanted, f"no such answer cells: {sorted(wanted)}"
    nbformat.write(nb, notebook)


def solutions(lab: str) -> dict[str, str]:
    """Every exercise's own solution snippet."""
    return {number: exercise.solution for number, exercise in load(lab).items()}


def run(notebook: Path, learner: str) -> None:
    """Run it in place with papermill, in replay, as a process of its own."""
    env = {
        **os.environ,
        "LABKIT_REPLAY": "1",
        "LABKIT_WORKSPACE": str(notebook.parent),
        "LABKIT_LEARNER": learner,
        "PYTHONWARNINGS": "default",
    }
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", "--kernel", "python3"]
    done = subprocess.run(
        [*command, str(notebook), str(notebook), "--cwd", str(notebook.parent)],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def recordings(*names: str) -> dict[str, Record]:
    """The shipped recordings that a replay shows, by id."""
    return {name: recording(name) for name in names}


def givens(exercise: Exercise, learner: str) -> Any:
    """This learner's numbers, in replay."""
    records = recordings(*exercise.needs)
    return givens_for(exercise, _facts(), learner=learner, records=records)


@functools.cache
def _facts() -> Facts:
    return Facts.load()


def hand_in(inbox: Path, notebook: Path, learner: str) -> Path:
    """Put the notebook where a learner's submission lies; returns its path there."""
    folder = inbox / learner
    folder.mkdir(parents=True)
    target = folder / notebook.name
    target.write_bytes(notebook.read_bytes())
    return target


def rows(out: Path) -> dict[str, dict[str, str]]:
    """grades.csv by learner."""
    with (out / "grades.csv").open(encoding="utf-8", newline="") as file:
        return {row["learner"]: row for row in csv.DictReader(file)}


def outcomes(out: Path, learner: str, lab: str) -> dict[str, dict[str, Any]]:
    """What the result file says, by exercise."""
    data = json.loads((out / "results" / learner / f"{lab}.json").read_text(encoding="utf-8"))
    return {outcome["exercise"]: outcome for outcome in data["outcomes"]}


def slower(record: Record, factor: float) -> Record:
    """The same record of a machine `factor` times slower, as a live one."""
    series = tuple(
        Series(
            s.name,
            s.unit,
            tuple(x * factor if s.unit == "ms" else x / factor for x in s.samples),
            s.label,
        )
        for s in record.series
    )
    return Record.from_json({**record.to_json(), "live": True, "series": [
        {"name": s.name, "unit": s.unit, "samples": list(s.samples), "label": s.label}
        for s in series
    ]})  # fmt: skip
