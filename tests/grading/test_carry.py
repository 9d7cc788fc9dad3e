"""`lab.carry` of another lab in grading: what the notebook brought along, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from labkit.contract import LabkitError, Q, Record
from labkit.contract.answer import encode
from labkit.contract.carried import MIME_CARRIED, value_of
from labkit.grading.submission import MAX_CARRIED, parse
from tests.grading.toy_lab import OWN_RECORD, RECORDING, RIGHT, examiner, hand_in, notebook

pytestmark = pytest.mark.sandbox


def brought(exercise: Any, answer: Any) -> dict[str, Any]:
    """The output of the cell that carried an answer."""
    data = {MIME_CARRIED: {"exercise": exercise, "answer": answer}, "text/plain": "brought"}
    return {"output_type": "display_data", "metadata": {}, "data": data}


def carrying(
    source: str, outputs: list[dict[str, Any]], record: Record | None = OWN_RECORD
) -> dict[str, Any]:
    answers: Mapping[str, str] = {**RIGHT, "90.1": f"answer_90_1 = {source}"}
    book = notebook(answers, record=record)
    book["cells"][0]["outputs"] += outputs
    return book


def measured(name: str) -> str | None:
    """Exercise 89.5 of another toy lab asks for the toy measurement."""
    return {"89.5": "speed"}.get(name)


@pytest.fixture
def graded(
    tmp_path: Path, grade: Callable[..., Any], outcomes: Callable[[str], Any]
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def run(book: dict[str, Any]) -> dict[str, Any]:
        hand_in(tmp_path / "in" / "ann", book)
        course = examiner()
        course.bench_of = measured  # type: ignore[method-assign]
        grade(examiner=course)
        found: dict[str, Any] = outcomes("ann")["90.1"]
        return found

    return run


@pytest.mark.parametrize(
    "source",
    [
        "lab.carry('89.1') * 2",
        "lab.carry('89.2').number * 2",
        "lab.carry('89.3')['size'] * 2",
        "lab.carry('89.4').sum() * 2",
    ],
)
def test_an_answer_of_another_lab_is_what_the_notebook_brought(
    source: str, graded: Callable[..., Any]
) -> None:
    import numpy as np

    answers = {"89.1": 40, "89.2": Q(40, "GB"), "89.3": {"size": 40}, "89.4": np.full(4, 10.0)}
    outputs = [brought(name, encode(value)) for name, value in answers.items()]
    assert graded(carrying(source, outputs))["status"] == "passed"


@pytest.mark.parametrize(("record", "rate"), [(OWN_RECORD, 21.0), (None, 11.0)])
def test_a_measurement_is_the_notebooks_record_else_the_recording(
    record: Record | None, rate: float, graded: Callable[..., Any]
) -> None:
    source = f"80 if lab.carry('89.5').median('rate') == {rate} else 1"
    assert graded(carrying(source, [], record))["status"] == "passed"
    assert RECORDING.median("rate") == 11.0


def test_what_was_not_brought_is_said_plainly(graded: Callable[..., Any]) -> None:
    found = graded(carrying("lab.carry('89.1') * 2", []))
    assert found["status"] == "error"
    assert "Nothing to carry from exercise '89.1'" in found["message"]
    assert "hand in again" in found["message"]


def test_forged_carries_are_left_out_with_a_warning() -> None:
    big = {"kind": "text", "text": "x" * MAX_CARRIED}
    forged = [
        brought("89.1", 3),
        brought("../etc", {"kind": "none"}),
        brought(None, None),
        brought("89.1", big),
    ]
    forged.append({"output_type": "display_data", "metadata": {}, "data": {MIME_CARRIED: [1]}})
    book = carrying("1", [*forged, brought("89.2", {"kind": "quantity", "number": 1})])
    submission = parse(json.dumps(book).encode())
    assert dict(submission.carried) == {"89.2": {"kind": "quantity", "number": 1}}
    assert any("carried" in warning for warning in submission.warnings)


def test_functions_and_figures_cannot_be_carried() -> None:
    for kind in ("function", "figure", "raised", "?"):
        with pytest.raises(LabkitError, match="copy its cell"):
            value_of("89.1", {"kind": kind})
