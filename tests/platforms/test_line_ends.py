"""Files that went through Windows: CRLF, and names that differ in case only."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from labkit.contract import events
from labkit.contract.paths import EVENTS_FILE, LEARNER_FILE, STATE_DIR
from labkit.course import notebooks, workspace
from labkit.course.identity import workspace_learner
from tests.grading.toy_lab import RIGHT, hand_in, notebook

ROOT = Path(__file__).resolve().parents[2]
LAB = "01_own_the_roofline.ipynb"


def windows(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    workspace.init(tmp_path / "desk", "ada")
    return tmp_path / "desk"


def test_a_notebook_whose_line_ends_alone_changed_holds_no_work(desk: Path) -> None:
    windows(desk / LAB)
    assert notebooks.metadata(notebooks.read(desk / LAB))["learner"] == "ada"
    done = {d.file: d.done for d in workspace.init(desk, "", update=True)}
    assert done[LAB] == "replaced"
    assert b"\r\n" not in (desk / LAB).read_bytes()


def test_the_state_of_a_workspace_is_read_with_any_line_ends(desk: Path) -> None:
    log = desk / STATE_DIR / EVENTS_FILE
    for exercise in ("1.1", "1.2"):
        events.append(log, events.Event("check", "01", exercise, status="passed"))
    windows(log)
    windows(desk / STATE_DIR / LEARNER_FILE)
    events.append(log, events.Event("check", "01", "1.9", status="passed"))
    assert [event.exercise for event in events.read(log)] == ["1.1", "1.2", "1.9"]
    assert workspace_learner(desk) == "ada"
    assert workspace.read_state(desk).learner == "ada"


def crlf(value: Any) -> Any:
    """The same notebook with CRLF inside its cells, as some editors save them."""
    if isinstance(value, str):
        return value.replace("\n", "\r\n")
    if isinstance(value, list):
        return [crlf(item) for item in value]
    return {k: crlf(v) for k, v in value.items()} if isinstance(value, dict) else value


@pytest.mark.sandbox
def test_a_submission_is_graded_alike_with_any_line_ends(grade: Any, rows: Any, tmp_path: Path):
    plain = notebook(RIGHT, learner=None)
    hand_in(tmp_path / "in" / "unix", plain)
    raw = json.dumps(plain, indent=1).replace("\n", "\r\n").encode()
    hand_in(tmp_path / "in" / "file", raw)
    hand_in(tmp_path / "in" / "mark", b"\xef\xbb\xbf" + raw)
    inside = {**plain, "cells": [{**c, "source": crlf(c["source"])} for c in plain["cells"]]}
    assert inside != plain
    hand_in(tmp_path / "in" / "cells", inside)
    grade()
    assert {name: row["percent"] for name, row in rows().items()} == {
        "unix": "100", "file": "100", "mark": "100", "cells": "100",
    }  # fmt: skip


def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [name for name in listed.stdout.split("\0") if name]


def test_no_two_files_differ_in_case_alone_and_every_name_is_legal_on_windows() -> None:
    names = tracked()
    assert len(names) > 200
    twice = [name for name, n in Counter(n.casefold() for n in names).items() if n > 1]
    assert twice == []
    assert [
        name for name in names if set(name) & set('<>:"\\|?*') or name.endswith((" ", "."))
    ] == []


def test_git_keeps_unix_line_ends_whatever_its_settings() -> None:
    """A Windows git would otherwise break the Makefile and the hashes of the labs."""
    asked = subprocess.run(
        ["git", "check-attr", "eol", "--", "Makefile", f"labs/{LAB}", ".ci/run"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert [line.rpartition(": ")[2] for line in asked.stdout.splitlines()] == ["lf"] * 3
