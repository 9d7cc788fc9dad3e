"""Lab 01 as a learner hands it in: filled from the wheel's own solution snippets and executed."""

from __future__ import annotations

import json
import os
from pathlib import Path

from labkit.contract.paths import answer_cell
from tests.wheel.environments import Environment

LAB = "01_own_the_roofline.ipynb"
SOLUTIONS = """
import json
from labkit.exercises import load
print(json.dumps({name: exercise.solution for name, exercise in load("01").items()}))
"""


def solutions_in(environment: Environment) -> dict[str, str]:
    """Every exercise's snippet, as the installed wheel has it."""
    found: dict[str, str] = json.loads(environment.says("python", "-c", SOLUTIONS))
    return found


def fill(notebook: Path, answers: dict[str, str]) -> None:
    data = json.loads(notebook.read_text(encoding="utf-8"))
    wanted = {answer_cell(name): source for name, source in answers.items()}
    for cell in data["cells"]:
        if cell["id"] in wanted:
            cell["source"] = wanted.pop(cell["id"])
    assert wanted == {}
    notebook.write_text(json.dumps(data), encoding="utf-8")


def execute(labs: Environment, notebook: Path) -> None:
    """All cells, in this environment's own kernel, from the notebook's folder."""
    options = ["--to", "notebook", "--execute", "--inplace", str(notebook)]
    workspace = str(notebook.parent)
    labs.says(
        "jupyter-nbconvert",
        *options,
        env={
            "LABKIT_REPLAY": "1",
            "LABKIT_WORKSPACE": workspace,
            "JUPYTER_PREFER_ENV_PATH": "1",
            "PATH": f"{labs.folder / 'bin'}:{os.defpath}",
        },
    )
