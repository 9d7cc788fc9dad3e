"""From the wheel: `[labs]` works Lab 01 in a kernel of its own, `[grade]` grades it to 100 %."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from tests.wheel.environments import ROOT, Environment, absent, bare
from tests.wheel.filled import LAB, execute, fill, solutions_in

pytestmark = [pytest.mark.heavy, pytest.mark.sandbox]

# What a hostile notebook tries from inside the sandbox; each line that finds something is printed.
SPY = """
import importlib.util, pathlib, sys
found = []
for name in ("exercises", "course", "grading", "cli"):
    try:
        if importlib.util.find_spec(f"labkit.{name}") is not None:
            found.append(name)
    except ImportError as error:
        found.append(repr(error))
for folder in map(pathlib.Path, [*sys.path, "/usr/lib", "/usr/local/lib"]):
    for path in folder.glob("labkit/*"):
        if path.name in ("exercises", "course", "grading", "cli"):
            found.append(str(path))
    found += [str(path) for path in folder.glob("*/site-packages/labkit/*")]
"""


@pytest.fixture(scope="module")
def labs(tmp_path_factory: pytest.TempPathFactory, wheel_file: Path, pins: Path) -> Environment:
    made = bare(tmp_path_factory.mktemp("labs"))
    made.pip_install(f"{wheel_file}[labs]", "--constraint", str(pins))
    return made


@pytest.fixture(scope="module")
def grading(tmp_path_factory: pytest.TempPathFactory, wheel_file: Path, pins: Path) -> Environment:
    made = bare(tmp_path_factory.mktemp("grade"))
    made.pip_install(f"{wheel_file}[grade]", "--constraint", str(pins))
    return made


@pytest.fixture(scope="module")
def solved(labs: Environment) -> Path:
    """Lab 01 of a fresh workspace, filled from the wheel's solution snippets and run in replay."""
    labs.says("labkit", "init", "my desk", "--learner", "ada")
    notebook = labs.work / "my desk" / LAB
    fill(notebook, solutions_in(labs))
    execute(labs, notebook)
    return notebook


def test_the_labs_run_without_torch_and_every_check_passes(labs: Environment, solved: Path) -> None:
    assert absent(labs, ["torch", "boto3"]) == ["torch", "boto3"]
    env = {"LABKIT_WORKSPACE": str(solved.parent)}
    report = json.loads(labs.says("labkit", "progress", "--json", env=env))
    [lab] = [lab for lab in report["labs"] if lab["lab"] == "01"]
    assert lab["passed"] == len(lab["exercises"]) > 10
    assert lab["points"] == lab["max_points"]


def test_the_grading_environment_gives_it_everything_and_hides_the_references(
    grading: Environment, solved: Path
) -> None:
    # Outside the sandbox the spy finds them: it can see what there is to see.
    assert "exercises" in grading.says("python", "-c", f"{SPY}\nprint(found)")
    inbox = grading.work / "in"
    for learner in ("ada", "mallory"):
        (inbox / learner).mkdir(parents=True)
        shutil.copy(solved, inbox / learner / LAB)
    spy(inbox / "mallory" / LAB)
    grading.says("labkit", "grade", "in", "--out", "out", "--jobs", "2")
    with (grading.work / "out" / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["learner"]: row for row in csv.DictReader(file)}
    ada = rows["ada"]
    assert (ada["percent"], ada["status"]) == ("100", "graded"), ada
    assert ada["isolation"] in ("full", "namespaces")
    page = grading.work / "out" / "feedback" / "ada" / "01.html"
    assert "Passed" in page.read_text(encoding="utf-8")
    # The spy's answer to 1.2 is what it found; the page shows what was read.
    path = grading.work / "out" / "results" / "mallory" / "01.json"
    result = json.loads(path.read_text(encoding="utf-8"))
    [seen] = [o for o in result["outcomes"] if o["exercise"] == "1.2"]
    assert seen["shown"] == "4,242 FLOP/B", seen


def spy(notebook: Path) -> None:
    """Answer 1.2 with 4242 when nothing was found, else fail the cell with what was found."""
    fill(
        notebook,
        {"1.2": f"{SPY}\nintensity = 4242.0\nif found:\n    raise SystemExit(str(found)[:900])"},
    )


def test_neither_environment_sees_the_clone(labs: Environment, grading: Environment) -> None:
    for made in (labs, grading):
        code = "import labkit, sys; print(labkit.__file__, *sys.path, sep='\\n')"
        assert str(ROOT) not in made.says("python", "-c", code)
