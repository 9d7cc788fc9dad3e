"""Fixtures of the grading and the attack tests: the real sandbox, a toy course, its outputs."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.grading.grade import Report
from labkit.grading.grade import grade as grade_submissions
from labkit.grading.sandbox import Sandbox, open_sandbox
from tests.grading.toy_lab import examiner


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """The real sandbox of this machine, made once."""
    with open_sandbox() as opened:
        yield opened


@pytest.fixture
def grade(tmp_path: Path, sandbox: Sandbox) -> Callable[..., Report]:
    """Grade tmp_path/in to tmp_path/out in the real sandbox, with the toy lab's examiner."""

    def run(**options: Any) -> Report:
        chosen = {"examiner": examiner(), "sandbox": sandbox, "jobs": 2, **options}
        return grade_submissions(tmp_path / "in", tmp_path / "out", **chosen)

    return run


@pytest.fixture
def rows(tmp_path: Path) -> Callable[[], dict[str, dict[str, str]]]:
    """The rows of grades.csv by learner."""

    def read() -> dict[str, dict[str, str]]:
        with (tmp_path / "out" / "grades.csv").open(encoding="utf-8", newline="") as file:
            return {row["learner"]: row for row in csv.DictReader(file)}

    return read


@pytest.fixture
def outcomes(tmp_path: Path) -> Callable[[str], dict[str, dict[str, Any]]]:
    """The outcomes of one learner's toy lab, by exercise."""

    def read(learner: str) -> dict[str, dict[str, Any]]:
        path = tmp_path / "out" / "results" / learner / "90.json"
        data = json.loads(path.read_text(encoding="utf-8"))
        return {outcome["exercise"]: outcome for outcome in data["outcomes"]}

    return read
