"""A toy lab and toy notebooks, so that grading is tested on more than the labs that ship."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labkit.contract import Code, Given, Record, Series
from labkit.course.manifest import LabPlan
from labkit.course.material import Material
from labkit.exercises import Exercise, Mistake, Tier
from labkit.exercises.kinds import Choice, FunctionKind, MeasurementKind, Option, Quantity
from labkit.exercises.spec import Draw
from labkit.grading.examiner import CourseExaminer

LAB = "90"
VERSION = "7"
MISTAKE = "You halved it: twice was asked."

RECORDING = Record(
    id="speed",
    title="Toy speed",
    live=False,
    made_on="2026-01-02",
    hardware={"summary": "another machine"},
    versions={},
    series=(Series("rate", "GB/s", (10.0, 12.0, 11.0)),),
)
OWN_RECORD = Record(
    id="speed",
    title="Toy speed",
    live=True,
    made_on="2026-03-04",
    hardware={"summary": "my laptop"},
    versions={},
    series=(Series("rate", "GB/s", (20.0, 22.0, 21.0)),),
)


def toy_exercise(id: str, **changes: Any) -> Exercise:
    fields: dict[str, Any] = {
        "id": id,
        "title": f"Toy {id}",
        "objective": "count",
        "points": 1,
        "tier": Tier.CORE,
        "kind": Quantity("GB"),
        "statement": "How much is it?",
        "answer_name": f"answer_{id.replace('.', '_')}",
        "draw": lambda draw: (Given("size", 40, "GB", "size"),),
        "reference": lambda g: 2 * g.size,
        "mistakes": (Mistake(Code.INVERTED, MISTAKE, lambda g: g.size / 2),),
        "hints": ("Look.", "Look closer.", "Twice the size."),
        "solution": "",
        "praise": "Twice it is.",
    }
    return Exercise(**{**fields, **changes})


def _personal(draw: Draw) -> tuple[Given, ...]:
    return (Given("size", draw.rng.randrange(1000, 1_000_000), "GB", "size"),)


EXERCISES = (
    toy_exercise("90.1"),
    toy_exercise("90.2", tier=Tier.PERSONAL, draw=_personal),
    toy_exercise(
        "90.3",
        tier=Tier.TRANSFER,
        points=2,
        kind=FunctionKind("double(size)", "Twice the size.", ("size",)),
        answer_name="double",
        draw=_personal,
        reference=lambda g: lambda size: 2 * size,
        mistakes=(Mistake(Code.INVERTED, MISTAKE, lambda g: lambda size: size / 2),),
        forbids=("labkit.sizing",),
    ),
    toy_exercise(
        "90.4",
        kind=Choice((Option("a", "yes"), Option("b", "no"))),
        reference=lambda g: "a",
        mistakes=(Mistake(Code.WRONG_ROOF, "No is wrong.", lambda g: "b"),),
    ),
    toy_exercise("90.5", tier=Tier.OWN, kind=MeasurementKind("speed", ("rate",), ())),
    toy_exercise(
        "90.6",
        tier=Tier.OWN,
        needs=("speed",),
        draw=lambda draw: (Given("size", draw.records["speed"].median("rate"), "GB", "size"),),
    ),
    toy_exercise("90.7", points=0),
)

RIGHT: Mapping[str, str] = {
    "90.1": "answer_90_1 = 80",
    "90.2": "answer_90_2 = 2 * lab.given('90.2').size",
    "90.3": "def double(size):\n    return 2 * size",
    "90.4": "answer_90_4 = 'a'",
    "90.5": (
        "import json, os\nfrom labkit.contract import Record\n"
        "answer_90_5 = Record.from_json(json.load(open(os.environ['LABKIT_RECORDS']))['speed'])"
    ),
    "90.6": "answer_90_6 = 2 * lab.given('90.6').size",
    "90.7": "answer_90_7 = 80",
}
BLANK: Mapping[str, str] = {
    **{f"90.{n}": f"answer_90_{n} = ..." for n in range(1, 8)},
    "90.3": "def double(size):\n    return ...",
}
ALL = 7.0


def examiner(exercises: Sequence[Exercise] = EXERCISES, version: str = VERSION) -> CourseExaminer:
    ids = tuple(exercise.id for exercise in exercises)
    plan = LabPlan(LAB, "90_toy.ipynb", "Toy", 5, ("count",), ids)
    material = Material(plan, version, {e.id: e for e in exercises}, object, ids)  # type: ignore[arg-type]

    def load(lab: str) -> Material:
        if lab != LAB:
            raise ModuleNotFoundError(name=f"labkit.exercises.lab{lab}")
        return material

    return CourseExaminer(load, lambda _name: RECORDING)


def code_cell(cell_id: str, source: str, outputs: Sequence[Any] = ()) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": cell_id,
        "metadata": {},
        "source": source,
        "outputs": list(outputs),
        "execution_count": None,
    }


def record_output(record: Record) -> dict[str, Any]:
    return {
        "output_type": "display_data",
        "metadata": {},
        "data": {"application/vnd.labkit.record.v1+json": record.to_json()},
    }


def notebook(
    answers: Mapping[str, str] = RIGHT,
    *,
    learner: str | None = "ann",
    before: Sequence[str] = (),
    after: Sequence[str] = (),
    record: Record | None = OWN_RECORD,
    version: str = VERSION,
) -> dict[str, Any]:
    """A notebook of the toy lab: a set-up cell, then an answer and a check cell per exercise."""
    outputs = [record_output(record)] if record else []
    cells = [code_cell("setup", f"from labkit import Lab\nlab = Lab('{LAB}')", outputs)]
    cells += [code_cell(f"before-{i}", source) for i, source in enumerate(before)]
    for exercise, source in answers.items():
        stem = f"ex-{exercise.replace('.', '-')}"
        name = "double" if exercise == "90.3" else f"answer_{exercise.replace('.', '_')}"
        cells.append(code_cell(f"{stem}-answer", source))
        cells.append(code_cell(f"{stem}-check", f'lab.check("{exercise}", {name})'))
    cells += [code_cell(f"after-{i}", source) for i, source in enumerate(after)]
    mine: dict[str, Any] = {"schema": 1, "lab": LAB, "course_version": version}
    if learner is not None:
        mine["learner"] = learner
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"labkit": mine}, "cells": cells}


def hand_in(folder: Path, content: Mapping[str, Any] | bytes, name: str = "lab.ipynb") -> Path:
    """Write a notebook into a learner's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    path.write_bytes(raw)
    return path
