"""Lab 02 from open to grade: blank, solved, with typed constants, with every known mistake.

The notebooks run under papermill in replay, then the real sandbox grades what was handed in.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import nbformat
import pytest

from labkit.bench.jobs.memory import device_memory
from labkit.contract import Code, Record, Status
from labkit.contract.record import MIME_RECORD
from labkit.exercises import Tier, load
from labkit.grading.grade import grade
from labkit.grading.sandbox import Sandbox
from tests.notebooks.mistakes import TYPED
from tests.notebooks.notebooks import (
    LAB_FILES,
    fill,
    givens,
    hand_in,
    learners_copy,
    outcomes,
    recordings,
    rows,
    run,
    solutions,
)

pytestmark = pytest.mark.sandbox

LAB = load("02")
ROOT = Path(__file__).parents[2]
LEARNERS = ("ada", "grace", "katherine")
FUNCTIONS = ("2.8", "2.11")


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_blank_lab_runs_to_its_end_and_earns_nothing(
    learner: str, tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    notebook = learners_copy(tmp_path / "ws", learner, "02")
    run(notebook, learner)
    hand_in(tmp_path / "in", notebook, learner)
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    row = rows(tmp_path / "out")[learner]
    assert (float(row["points"]), float(row["percent"])) == (0, 0)
    results = outcomes(tmp_path / "out", learner, "02")
    assert set(results) == set(LAB)
    assert {r["status"] for r in results.values()} == {Status.NOT_ATTEMPTED}


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_solved_lab_earns_everything(
    learner: str, tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    notebook = learners_copy(tmp_path / "ws", learner, "02")
    fill(notebook, solutions("02"))
    run(notebook, learner)
    hand_in(tmp_path / "in", notebook, learner)
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    row = rows(tmp_path / "out")[learner]
    assert float(row["percent"]) == 100, outcomes(tmp_path / "out", learner, "02")
    assert float(row["max_points"]) == LAB.max_points
    assert row["warnings"] == ""
    page = (tmp_path / "out" / "feedback" / learner / "02.html").read_text(encoding="utf-8")
    assert "Passed" in page


def test_typed_constants_keep_the_personal_tier_and_fail_transfer(
    tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    notebook = learners_copy(tmp_path / "ws", "ada", "02")
    typed = solutions("02")
    plain = [n for n, e in LAB.items() if e.tier in (Tier.CORE, Tier.PERSONAL) and n != "2.9"]
    for number in plain:
        value = LAB[number].reference(givens(LAB[number], "ada"))
        typed[number] = f"{LAB[number].answer_name} = {value!r}"
    typed["2.8"] = "def kv_bytes_per_token(config, kv_bits=16):\n    return 131072"
    typed["2.11"] = "def count_parameters(config):\n    return 8030261248"
    fill(notebook, typed)
    run(notebook, "ada")
    hand_in(tmp_path / "in", notebook, "ada")
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    results = outcomes(tmp_path / "out", "ada", "02")
    assert [results[n]["status"] for n in plain] == [Status.PASSED] * len(plain)
    for number in FUNCTIONS:
        assert results[number]["status"] == Status.FAILED
        assert results[number]["code"] == Code.TYPED_CONSTANT


@pytest.mark.parametrize(
    ("number", "source"),
    [
        ("2.8", "from labkit.sizing import kv_bytes_per_token as engine\n\n\n"
                "def kv_bytes_per_token(config, kv_bits=16):\n    return engine(config)"),
        ("2.11", "from labkit.catalog import ModelSpec\n\n\n"
                 "def count_parameters(config):\n"
                 "    return ModelSpec.from_config(config).params.total"),
    ],
)  # fmt: skip
def test_asking_the_engine_is_no_answer(
    number: str, source: str, tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    notebook = learners_copy(tmp_path / "ws", "ada", "02")
    fill(notebook, {number: source})
    hand_in(tmp_path / "in", notebook, "ada")
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    got = outcomes(tmp_path / "out", "ada", "02")[number]
    assert (got["status"], got["code"]) == (Status.FAILED, Code.FORBIDDEN_MODULE)


def test_another_learners_numbers_do_not_pass(tmp_path: Path, sandbox: Sandbox, key: Path) -> None:
    exercise = LAB["2.13"]
    other, own = (exercise.reference(givens(exercise, who)) for who in ("grace", "ada"))
    assert other != own, "choose learners with other draws"
    notebook = learners_copy(tmp_path / "ws", "ada", "02")
    fill(notebook, {"2.13": f"{exercise.answer_name} = {other!r}"})
    hand_in(tmp_path / "in", notebook, "ada")
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    assert outcomes(tmp_path / "out", "ada", "02")["2.13"]["status"] == Status.FAILED


def test_every_known_mistake_is_told_in_grading(
    tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    """One submission holds one mistake of each exercise; as many submissions as it takes."""
    most = max(len(exercise.mistakes) for exercise in LAB.values())
    expected: dict[str, dict[str, tuple[str, str]]] = {}
    for i in range(most):
        learner = f"mistaken-{i}"
        answers, told = solutions("02"), {}
        for number, exercise in LAB.items():
            g = givens(exercise, learner)
            made = [(m, m.value(g)) for m in exercise.mistakes]
            possible = [(mistake, value) for mistake, value in made if value is not None]
            if i >= len(possible):
                continue
            mistake, value = possible[i]
            typed = TYPED.get((number, mistake.code), f"{exercise.answer_name} = {value!r}")
            answers[number] = typed
            told[number] = (mistake.code, mistake.says)
        notebook = learners_copy(tmp_path / learner, learner, "02")
        fill(notebook, answers)
        hand_in(tmp_path / "in", notebook, learner)
        expected[learner] = told
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox, jobs=2)
    seen = 0
    for learner, told in expected.items():
        results = outcomes(tmp_path / "out", learner, "02")
        for number, (code, says) in told.items():
            got = results[number]
            assert (got["status"], got["code"], got["message"]) == (Status.FAILED, code, says)
            seen += 1
    assert seen >= 55


def test_the_learners_own_record_travels_and_is_judged(
    tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    """Grading uses the record in the notebook's outputs: a live one is told as live."""
    notebook = learners_copy(tmp_path / "ws", "ada", "02")
    fill(notebook, solutions("02"))
    run(notebook, "ada")
    replayed = recordings()["memory"].to_json()
    mine = Record.from_json({**replayed, "live": True}).to_json()
    impossible = json.loads(json.dumps(mine))
    impossible["facts"]["kv"]["bf16"]["bytes"][-1] += 2
    for learner, record in (("ada", mine), ("eve", impossible)):
        data = json.loads(notebook.read_text(encoding="utf-8"))
        bundles = [
            output["data"]
            for cell in data["cells"]
            for output in cell.get("outputs", [])
            if MIME_RECORD in output.get("data", {})
        ]
        assert bundles
        for bundle in bundles:
            bundle[MIME_RECORD] = record
        hand_in(tmp_path / "in", notebook, learner).write_text(json.dumps(data), encoding="utf-8")
    grade(tmp_path / "in", tmp_path / "out", key_file=key, sandbox=sandbox)
    honest = outcomes(tmp_path / "out", "ada", "02")["2.12"]
    assert honest["status"] == Status.PASSED
    assert "measured live" in honest["shown"]
    forged = outcomes(tmp_path / "out", "eve", "02")["2.12"]
    assert (forged["status"], forged["code"]) == (Status.FAILED, Code.UNPLAUSIBLE)


def test_the_gpu_cell_shows_what_the_bench_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """The cell about one's own GPU, on the facts that the bench writes where there is one."""

    class Cuda:
        def mem_get_info(self) -> tuple[int, int]:
            return 20 * 2**30, 24 * 2**30

        def memory_allocated(self) -> int:
            return 600 * 2**20

        def max_memory_allocated(self) -> int:
            return 700 * 2**20

    class Model:
        def parameters(self) -> list[object]:
            return []

    held = device_memory(Cuda(), Model(), kv_bytes=23_592_960)
    record = dataclasses.replace(recordings()["memory"], facts={"cuda": held})
    cells = nbformat.read(ROOT / "labs" / LAB_FILES["02"], as_version=4).cells
    exec(next(cell.source for cell in cells if cell.id == "own-gpu"), {"record": record})
    said = capsys.readouterr().out
    for words in ("90 % of the card", "22.5 MiB", "600.0 MiB", "700.0 MiB"):
        assert words in said
