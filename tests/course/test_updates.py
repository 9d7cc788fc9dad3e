"""A course that grows while its learners work: what an update does with a workspace in use."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.contract.paths import LEARNER_FILE, STATE_DIR
from labkit.course import notebooks, workspace
from labkit.course.identity import identify
from labkit.course.resources import Resources
from tests.course.test_workspace import FILE, ship, work_on

NEW = "03_new.ipynb"


def grow(shipped: Resources) -> None:
    """Version 2 of the course: one more lab."""
    ship(shipped.labs, version="2")
    raw = (shipped.labs / FILE).read_bytes()
    (shipped.labs / NEW).write_bytes(raw)
    manifest = shipped.manifest.read_text(encoding="utf-8")
    more = f'''
[[labs]]
number = "03"
file = "{NEW}"
title = "New"
minutes = 5
objectives = ["count on"]
exercises = []
'''
    shipped.manifest.write_text(manifest + more, encoding="utf-8")


@pytest.fixture
def shipped(tmp_path: Path) -> Resources:
    return ship(tmp_path / "labs")


@pytest.fixture
def root(tmp_path: Path, shipped: Resources) -> Path:
    workspace.init(tmp_path / "ws", "ada", shipped=shipped)
    return tmp_path / "ws"


def deliveries(root: Path, shipped: Resources) -> dict[str, str]:
    return {d.file: d.done for d in workspace.init(root, "", update=True, shipped=shipped)}


def test_a_new_lab_is_added_and_work_in_an_old_one_stays(root: Path, shipped: Resources) -> None:
    mine = work_on(root / FILE)
    grow(shipped)
    done = deliveries(root, shipped)
    assert done[NEW] == "added"
    assert (root / FILE).read_bytes() == mine
    about = notebooks.metadata(notebooks.read(root / NEW))
    assert about == {"schema": 1, "lab": "03", "course_version": "2", "learner": "ada"}
    # What was worked on keeps the version it was worked in; grading goes by exercise id.
    assert notebooks.metadata(notebooks.read(root / FILE))["course_version"] == "1"
    assert workspace.read_state(root).version == "2"


def test_an_untouched_lab_carries_the_new_version(root: Path, shipped: Resources) -> None:
    grow(shipped)
    assert deliveries(root, shipped)[FILE] == "replaced"
    assert notebooks.metadata(notebooks.read(root / FILE))["course_version"] == "2"


def test_a_second_update_changes_nothing(root: Path, shipped: Resources) -> None:
    grow(shipped)
    work_on(root / FILE)
    deliveries(root, shipped)
    before = {p.name: p.read_bytes() for p in root.glob("*.ipynb")}
    assert set(deliveries(root, shipped).values()) <= {"current", "kept", "theirs"}
    assert {p.name: p.read_bytes() for p in root.glob("*.ipynb")} == before


def test_a_workspace_that_moved_is_the_same_workspace(
    root: Path, shipped: Resources, tmp_path: Path
) -> None:
    """A new release is unpacked elsewhere and the folder copied into it."""
    mine = work_on(root / FILE)
    moved = root.rename(tmp_path / "Ordner 2")
    grow(shipped)
    assert deliveries(moved, shipped)[NEW] == "added"
    assert (moved / FILE).read_bytes() == mine
    assert identify("01", FILE, moved).learner == "ada"
    assert (moved / STATE_DIR / LEARNER_FILE).is_file()
