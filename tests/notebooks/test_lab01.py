"""Lab 01: the learner's own record decides. What holds of every lab is in test_every_lab."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.contract import Status
from labkit.grading.grade import grade
from labkit.grading.sandbox import Sandbox
from tests.notebooks.notebooks import (
    fill,
    hand_in,
    learners_copy,
    outcomes,
    recordings,
    run,
    slower,
    solutions,
)

pytestmark = pytest.mark.sandbox


def test_the_learners_own_record_travels_and_decides(
    tmp_path: Path, sandbox: Sandbox, key: Path
) -> None:
    """Grading uses the record in the notebook's outputs, not the shipped recording."""
    notebook = learners_copy(tmp_path / "ws", "ada", "01")
    fill(notebook, solutions("01"))
    run(notebook, "ada")
    data = json.loads(notebook.read_text(encoding="utf-8"))
    mine = {name: slower(record, 3.0) for name, record in recordings("machine", "decode").items()}
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
