"""Lab 00's preflight table, and which lab opens first."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from labkit.cli import doctor_checks
from labkit.contract import LabkitError
from labkit.contract.events import Event
from labkit.course import preflight
from labkit.course.cards import Card, Table
from labkit.course.journal import Journal
from labkit.course.manifest import load_manifest
from labkit.course.resources import resources
from labkit.course.resume import lab_to_open

FINDINGS: list[dict[str, Any]] = [
    {"name": "Python", "status": "ok", "text": "3.11.7", "remedy": "", "data": {}},
    {
        "name": "Workspace",
        "status": "ok",
        "text": "/srv/ada/course/workspace",
        "remedy": "",
        "data": {"path": "/srv/ada/course/workspace"},
    },
    {
        "name": "Weights",
        "status": "ok",
        "text": "The small model. A long remark.",
        "remedy": "",
        "data": {"label": "The small model"},
    },
    {"name": "torch", "status": "missing", "text": "none", "remedy": "Run it.", "data": {}},
]


def answering(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    def run(command: list[str], **_options: Any) -> Any:
        return subprocess.CompletedProcess(command, 0, said, "")

    monkeypatch.delenv("LABKIT_REPLAY", raising=False)
    monkeypatch.setattr(preflight.subprocess, "run", run)


def test_the_doctors_findings_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, json.dumps({"findings": FINDINGS}))
    shown = preflight.preflight()
    assert isinstance(shown, Table)
    assert "✗ missing" in str(shown)
    assert "torch: Run it." in str(shown)
    assert "The small model" in str(shown)
    assert "A long remark" not in str(shown)
    # The notebook is handed in: whose home it is stays out.
    assert "the folder workspace" in str(shown)
    assert "ada" not in shown._repr_mimebundle_()["text/html"]


def test_a_doctor_that_does_not_answer_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, "no JSON")
    with pytest.raises(LabkitError, match=r"`labkit doctor` did not answer .*in a terminal\."):
        preflight.preflight()


def test_nothing_is_asked_in_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_REPLAY", "1")
    monkeypatch.setattr(preflight, "_findings", lambda: pytest.fail("asked the machine"))
    assert isinstance(preflight.preflight(), Card)


def test_every_check_of_the_doctor_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real program, once: the same lines in the same order."""
    monkeypatch.delenv("LABKIT_REPLAY", raising=False)
    found = preflight._findings()
    assert [finding["name"] for finding in found] == list(preflight.WHY)
    assert len(found) == len(doctor_checks.CHECKS)
    assert {finding["status"] for finding in found} <= set(preflight.MARKS)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".labkit").mkdir()
    return tmp_path


def passed(root: Path, lab: str, *exercises: str, status: str = "passed") -> None:
    for exercise in exercises:
        Journal(root).add(Event("check", lab, exercise, status=status))


def opened(root: Path) -> str:
    return lab_to_open(root, load_manifest(resources().manifest))


def test_a_newcomer_starts_at_the_start(root: Path) -> None:
    assert opened(root) == "00"
    passed(root, "01", "1.1", status="not attempted")  # "Run all" in a blank notebook
    assert opened(root) == "00"


def test_a_learner_goes_on_where_she_stopped(root: Path) -> None:
    passed(root, "01", "1.1")
    assert opened(root) == "01"  # Lab 00 was skipped; nobody is sent back
    passed(root, "00", "0.1", status="failed")
    assert opened(root) == "00"
    passed(root, "01", "1.2", status="failed")
    assert opened(root) == "01"


def test_after_a_finished_lab_the_next_one_not_begun(root: Path) -> None:
    manifest = load_manifest(resources().manifest)
    passed(root, "00", *manifest.lab("00").exercises)
    assert opened(root) == "01"
    passed(root, "01", *manifest.lab("01").exercises)
    rest = [plan.number for plan in manifest.labs if plan.number > "01"]
    assert opened(root) == (rest[0] if rest else "01")
