"""`lab.carry` of another lab in the notebook: the value, and the card under which it travels."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from labkit.bench.records import recording
from labkit.contract import MIME_RECORD, Record
from labkit.contract.answer import encode
from labkit.contract.carried import MIME_CARRIED
from labkit.contract.events import Event
from labkit.contract.paths import LEARNER_FILE, STATE_DIR
from labkit.course import records
from labkit.course.journal import Journal
from labkit.course.lab import Lab
from labkit.exercises.registry import bench_of


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("LABKIT_REPLAY", raising=False)
    (tmp_path / STATE_DIR).mkdir()
    (tmp_path / STATE_DIR / LEARNER_FILE).write_text('[learner]\nid = "ada"\n', "utf-8")
    return tmp_path


def open_lab(root: Path, shown: list[Any], number: str = "02") -> Lab:
    lab = Lab(number, workspace=root, show=shown.append)
    shown.clear()  # the welcome
    return lab


def own_record() -> Record:
    return dataclasses.replace(recording("machine"), live=True)


def test_exercises_know_their_measurement_in_whatever_lab() -> None:
    assert bench_of("1.12") == "machine"
    assert bench_of("2.12") == "memory"
    assert bench_of("1.5") is None  # of Lab 01's numbers, asked in Lab 02
    assert bench_of("77.1") is None


def test_an_answer_of_another_lab_is_shown_so_that_it_travels(workspace: Path) -> None:
    shown: list[Any] = []
    lab = open_lab(workspace, shown)
    wire = encode({"format": "int8", "budget": 2.0})
    Journal(workspace).add(Event("check", "04", "4.99", status="passed", answer=wire))
    assert lab.carry("4.99") == {"format": "int8", "budget": 2.0}
    bundle = shown[0]._repr_mimebundle_()
    assert bundle[MIME_CARRIED] == {"exercise": "4.99", "answer": wire}
    assert "Your answer to 4.99" in bundle["text/plain"]


def test_an_answer_of_the_same_lab_needs_no_card(workspace: Path) -> None:
    shown: list[Any] = []
    lab = open_lab(workspace, shown)
    lab.check("2.1", 327_680)
    assert lab.carry("2.1") == 327_680
    assert shown == []


def test_a_measurement_of_another_lab_travels_as_a_record(workspace: Path) -> None:
    shown: list[Any] = []
    lab = open_lab(workspace, shown)
    said = str(lab.carry("1.12"))
    assert "measure it in its lab" in said
    assert "bench.machine(replay=True)" in said
    assert shown == []
    records.keep(own_record(), workspace)
    assert lab.carry("1.12") == own_record()
    assert shown[0]._repr_mimebundle_()[MIME_RECORD] == own_record().to_json()


def test_in_replay_a_measurement_is_the_recording(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABKIT_REPLAY", "1")
    assert open_lab(workspace, []).carry("1.12") == recording("machine")


def test_givens_from_a_record_of_another_notebook_bring_it_along(workspace: Path) -> None:
    """Exercise 1.13 works on `decode`; measured elsewhere, it must be in what is handed in."""
    shown: list[Any] = []
    lab = open_lab(workspace, shown, "01")
    for name in ("machine", "decode"):
        records.keep(dataclasses.replace(recording(name), live=True), workspace)
    lab.given("1.13")
    travelled = [thing._repr_mimebundle_()[MIME_RECORD]["id"] for thing in shown]
    assert "decode" in travelled
    shown.clear()
    for name in ("machine", "decode"):  # a recording is at hand when grading
        records.keep(recording(name), workspace)
    lab.given("1.13")
    assert shown == []
