"""Lab 01 from open to grade: blank, solved, with typed constants, with every known mistake.

The notebooks run under papermill in replay, then the real sandbox grades what was handed in.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.contract import Code, Status
from labkit.exercises import Tier, load
from labkit.grading.grade import grade
from labkit.grading.sandbox import Sandbox
from tests.notebooks.mistakes import TYPED
from tests.notebooks.notebooks import (
    fill,
    givens,
    hand_in,
    learners_copy,
    outcomes,
    recordings,
    rows,
    run,
    slower,
    solutions,
)

pytestmark = pytest.mark.sandbox

LAB = load("01")
LEARNERS = ("ada", "grace", "katherine")


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_blank_lab_runs_to_its_end_and_earns_nothing(
    learner: str, tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    notebook = learners_copy(tmp_path / "ws", learner, "01")
    run(notebook, learner)
    hand_in(tmp_path / "in", notebook, learner)
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    row = rows(tmp_path / "out")[learner]
    assert (float(row["points"]), float(row["percent"])) == (0, 0)
    results = outcomes(tmp_path / "out", learner, "01")
    assert set(results) == set(LAB)
    assert {r["status"] for r in results.values()} == {Status.NOT_ATTEMPTED}


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_solved_lab_earns_everything(
    learner: str, tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    notebook = learners_copy(tmp_path / "ws", learner, "01")
    fill(notebook, solutions("01"))
    run(notebook, learner)
    hand_in(tmp_path / "in", notebook, learner)
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    row = rows(tmp_path / "out")[learner]
    assert float(row["percent"]) == 100, outcomes(tmp_path / "out", learner, "01")
    assert float(row["max_points"]) == LAB.max_points
    assert row["warnings"] == ""
    # The page never tells what was drawn.
    page = (tmp_path / "out" / "feedback" / learner / "01.html").read_text(encoding="utf-8")
    assert "Passed" in page


def test_typed_constants_keep_the_personal_tier_and_fail_transfer(
    tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    notebook = learners_copy(tmp_path / "ws", "ada", "01")
    typed = solutions("01")
    for number, exercise in LAB.items():
        if exercise.tier in (Tier.CORE, Tier.PERSONAL):
            value = exercise.reference(givens(exercise, "ada"))
            typed[number] = f"{exercise.answer_name} = {value!r}"
    typed["1.7"] = "def roofline(ai, peak, bw):\n    return 5.4e13"
    typed["1.11"] = "def decode_rate(*numbers):\n    return 318.2"
    typed["1.8"] = "ax = ..."
    fill(notebook, typed)
    run(notebook, "ada")
    hand_in(tmp_path / "in", notebook, "ada")
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    results = outcomes(tmp_path / "out", "ada", "01")
    for number, exercise in LAB.items():
        if exercise.tier in (Tier.CORE, Tier.PERSONAL):
            assert results[number]["status"] == Status.PASSED, results[number]
        if exercise.tier is Tier.TRANSFER:
            assert results[number]["status"] == Status.FAILED
            assert results[number]["code"] == Code.TYPED_CONSTANT


def test_another_learners_numbers_do_not_pass(tmp_path: Path, sandbox: Sandbox, key: Path) -> None:
    notebook = learners_copy(tmp_path / "ws", "ada", "01")
    personal = [n for n, e in LAB.items() if e.tier is Tier.PERSONAL]
    other = {number: LAB[number].reference(givens(LAB[number], "grace")) for number in personal}
    own = {number: LAB[number].reference(givens(LAB[number], "ada")) for number in personal}
    assert all(other[n] != own[n] for n in personal), "choose learners with other draws"
    fill(notebook, {n: f"{LAB[n].answer_name} = {other[n]!r}" for n in personal})
    hand_in(tmp_path / "in", notebook, "ada")
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    results = outcomes(tmp_path / "out", "ada", "01")
    assert [results[n]["status"] for n in personal] == [Status.FAILED] * len(personal)


def test_every_known_mistake_is_told_in_grading(
    tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    """One submission holds one mistake of each exercise; as many submissions as it takes."""
    most = max(len(exercise.mistakes) for exercise in LAB.values())
    expected: dict[str, dict[str, tuple[str, str]]] = {}
    for i in range(most):
        learner = f"mistaken-{i}"
        answers, told = solutions("01"), {}
        for number, exercise in LAB.items():
            made = [
                (m, m.value(givens(exercise, learner)))
                for m in exercise.mistakes
                if m.value(givens(exercise, learner)) is not None
            ]
            if i >= len(made):
                continue
            mistake, value = made[i]
            typed = TYPED.get((number, mistake.code), f"{exercise.answer_name} = {value!r}")
            answers[number] = typed
            told[number] = (mistake.code, mistake.says)
        # A wrong roofline() must not spoil the figure that is drawn with it.
        figure = "import numpy as np\nroofline = lambda a, p, b: np.minimum(p, np.asarray(a) * b)\n"
        answers["1.8"] = figure + answers["1.8"]
        notebook = learners_copy(tmp_path / learner, learner, "01")
        fill(notebook, answers)
        hand_in(tmp_path / "in", notebook, learner)
        expected[learner] = told
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox, jobs=2)
    seen = 0
    for learner, told in expected.items():
        results = outcomes(tmp_path / "out", learner, "01")
        for number, (code, says) in told.items():
            got = results[number]
            assert (got["status"], got["code"], got["message"]) == (Status.FAILED, code, says)
            seen += 1
    assert seen >= 35


def test_the_learners_own_record_travels_and_decides(
    tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    """Grading uses the record in the notebook's outputs, not the shipped recording."""
    notebook = learners_copy(tmp_path / "ws", "ada", "01")
    fill(notebook, solutions("01"))
    run(notebook, "ada")
    data = json.loads(notebook.read_text(encoding="utf-8"))
    mine = {name: slower(record, 3.0) for name, record in recordings().items()}
    swapped = 0
    for cell in data["cells"]:
        for output in cell.get("outputs", []):
            bundle = output.get("data", {})
            record = bundle.get("application/vnd.labkit.record.v1+json")
            if record:
                bundle["application/vnd.labkit.record.v1+json"] = mine[record["id"]].to_json()
                swapped += 1
    assert swapped >= 2
    fixed = f"share = {100 * 1.234}"  # a number that fits no record
    for cell in data["cells"]:
        if cell.get("id") == "ex-1-13-answer":
            cell["source"] = fixed
    target = hand_in(tmp_path / "in", notebook, "ada")
    target.write_text(json.dumps(data), encoding="utf-8")
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    results = outcomes(tmp_path / "out", "ada", "01")
    assert results["1.12"]["status"] == Status.PASSED
    assert "measured live" in results["1.12"]["shown"]
    assert results["1.13"]["status"] == Status.FAILED
    for number in ("1.14", "1.15", "1.8"):
        assert results[number]["status"] == Status.PASSED, results[number]
