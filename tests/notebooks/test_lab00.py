"""Lab 00 from open to grade: nothing to earn, nothing to lose, and no crash on the way."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from labkit.cli.main import main
from labkit.contract import Status
from labkit.course.workload import FILE
from labkit.course.workspace import init
from labkit.exercises import load
from labkit.grading.grade import grade
from labkit.grading.sandbox import Sandbox, open_sandbox
from tests.notebooks.notebooks import fill, outcomes, run, solutions

pytestmark = pytest.mark.sandbox

LAB = load("00")
NOTEBOOK = "00_start_here.ipynb"


@pytest.fixture(scope="module")
def isolated() -> Iterator[Sandbox]:
    with open_sandbox() as opened:
        yield opened


def handed_in(tmp_path: Path, answers: dict[str, str]) -> Path:
    init(tmp_path / "ws", "ada")
    notebook = tmp_path / "ws" / NOTEBOOK
    fill(notebook, answers)
    run(notebook, "ada")
    inbox = tmp_path / "in" / "ada"
    inbox.mkdir(parents=True)
    (inbox / NOTEBOOK).write_bytes(notebook.read_bytes())
    return notebook


def graded(tmp_path: Path, sandbox: Sandbox) -> dict[str, str]:
    grade(tmp_path / "in", tmp_path / "out", sandbox=sandbox)
    with (tmp_path / "out" / "grades.csv").open(encoding="utf-8", newline="") as file:
        [row] = csv.DictReader(file)
    return row


def said_by(notebook: Path, cell_id: str) -> str:
    cells = {cell.id: cell for cell in nbformat.read(notebook, as_version=4).cells}
    return "".join(
        output.get("data", {}).get("text/plain", "") for output in cells[cell_id].outputs
    )


def test_solved_it_is_zero_of_zero(tmp_path: Path, isolated: Sandbox) -> None:
    notebook = handed_in(tmp_path, solutions("00"))
    for number in LAB:
        assert "Passed" in said_by(notebook, f"ex-{number.replace('.', '-')}-check")
    row = graded(tmp_path, isolated)
    assert (float(row["points"]), float(row["max_points"]), float(row["percent"])) == (0, 0, 0)
    assert (row["lab"], row["status"], row["warnings"]) == ("00", "graded", "")
    found = outcomes(tmp_path / "out", "ada", "00")
    assert {one["status"] for one in found.values()} == {Status.PASSED}
    page = (tmp_path / "out" / "feedback" / "ada" / "00.html").read_text(encoding="utf-8")
    assert "Ungraded lab" in page
    assert "0 of 0" not in page


def test_blank_it_runs_to_its_end_and_prices_the_example(tmp_path: Path, isolated: Sandbox) -> None:
    notebook = handed_in(tmp_path, {})
    assert "Your use case" in said_by(notebook, "my-workload")
    priced = said_by(notebook, "reprice")
    assert "USD per 1M output tokens" in priced
    assert "still the example" in priced
    row = graded(tmp_path, isolated)
    assert float(row["percent"]) == 0
    found = outcomes(tmp_path / "out", "ada", "00")
    assert {one["status"] for one in found.values()} == {Status.NOT_ATTEMPTED}


def test_progress_calls_it_ungraded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    handed_in(tmp_path, solutions("00"))
    assert (tmp_path / "ws" / FILE).is_file()
    monkeypatch.chdir(tmp_path / "ws")
    monkeypatch.setenv("LABKIT_WORKSPACE", str(tmp_path / "ws"))
    assert main(["progress"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Lab 00 · Start here: 5 of 5 passed, ungraded" in said
    assert main(["progress", "--json"]) == 0
    labs = json.loads(capsys.readouterr().out)["labs"]
    assert (labs[0]["points"], labs[0]["max_points"], labs[0]["next"]) == (0, 0, None)
