"""One class of attackers and honest learners, graded together in the real sandbox.

Each attack must fail, cost nobody else anything, and leave the attacker the points of what was
answered honestly.
"""

from __future__ import annotations

import csv
import json
import os
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from labkit.grading.grade import grade
from labkit.grading.profile import Level
from labkit.grading.sandbox import open_sandbox
from labkit.runner.job import Limits
from tests.attacks.attacks import ATTACKS, FUNCTIONS, TRICKS, Attack
from tests.grading.toy_lab import RIGHT, examiner, hand_in, notebook

pytestmark = pytest.mark.sandbox

# Sizes for a small machine: what is tested is that a limit holds, not how large it is.
LIMITS = Limits(cell_s=4, total_s=40, probe_s=1.5, memory_total=900 << 20)
HONEST = ("aaron", "mary", "zoe")
MARKER = f"61.{os.getpid()}"  # what `sleep` is told: nobody else sleeps as long
REPO = Path(__file__).resolve().parents[2]


@dataclass
class Class:
    """What came of the class."""

    root: Path
    rows: dict[str, dict[str, str]]
    connections: int

    def outcomes(self, learner: str) -> dict[str, dict[str, Any]]:
        data = self.data(learner)
        return {outcome["exercise"]: outcome for outcome in data["outcomes"]}

    def data(self, learner: str) -> dict[str, Any]:
        path = self.root / "out" / "results" / learner / "90.json"
        loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return loaded


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Class]:
    """Everybody's submissions, graded two at a time."""
    root = tmp_path_factory.mktemp("attacked")
    key = root / "key"
    key.write_text("k" * 40)
    os.environ["LABKIT_ATTACK_SECRET"] = "only the instructor's"
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.01)
    places = {
        "{repo}": str(REPO),
        "{key}": str(key),
        "{submissions}": str(root / "in"),
        "{out}": str(root / "out"),
        "{home}": str(Path.home()),
        "{port}": str(listener.getsockname()[1]),
        "{marker}": MARKER,
        "{marker_file}": str(root / "payload ran"),
    }
    for learner in HONEST:
        hand_in(root / "in" / learner, notebook(learner=learner))
    for name, attack in everybody().items():
        hand_in(root / "in" / name, hostile(name, attack, places))
    (root / "in" / "linker").mkdir()
    (root / "in" / "linker" / "lab.ipynb").symlink_to(root / "in" / "mary" / "lab.ipynb")
    hand_in(root / "in" / "..%2f..%2fevil", notebook(learner=None))
    hand_in(root / "in" / "<img src=x onerror=alert(1)>", notebook(learner=None))
    hidden = (root / "in", root / "out", key)
    with open_sandbox(hidden=hidden) as sandbox:
        grade(
            root / "in", root / "out", key_file=key, examiner=examiner(), sandbox=sandbox,
            limits=LIMITS, jobs=2,
        )  # fmt: skip
    connections = 0
    try:
        listener.accept()
        connections = 1
    except TimeoutError:
        pass
    finally:
        listener.close()
        del os.environ["LABKIT_ATTACK_SECRET"]
    with (root / "out" / "grades.csv").open(encoding="utf-8", newline="") as file:
        yield Class(root, {row["learner"]: row for row in csv.DictReader(file)}, connections)


def everybody() -> dict[str, Attack]:
    tricks = {name: Attack(answers=(("90.1", code),), points=6) for name, code in TRICKS.items()}
    functions = {
        name: Attack(answers=(("90.3", code),), points=5) for name, code in FUNCTIONS.items()
    }
    return {**ATTACKS, **tricks, **functions}


def hostile(name: str, attack: Attack, places: dict[str, str]) -> dict[str, Any]:
    def filled(text: str) -> str:
        for mark, value in places.items():
            text = text.replace(mark, value)
        return text

    answers = {**RIGHT, **{id: filled(code) for id, code in attack.answers}}
    if attack.report:
        del answers["90.7"]  # where the attack reports
    return notebook(
        answers,
        learner=re.sub(r"[^a-z]", "", name.lower()),
        before=[filled(cell) for cell in attack.cells],
        after=[filled(cell) for cell in attack.after],
    )


@pytest.mark.parametrize("name", everybody())
def test_the_attack_fails_and_honest_answers_keep_their_points(attacked, name):
    attack = everybody()[name]
    row = attacked.rows[name]
    assert row["status"] in attack.status.split(" or ")
    if attack.report:
        shown = attacked.outcomes(name)["90.7"]["shown"]
        assert shown == attack.report
    if attack.error:
        assert attack.error in {error["ename"] for error in attacked.data(name)["errors"]}
    assert float(row["points"]) in {attack.points, min(attack.points, attack.or_points)}


@pytest.mark.parametrize("learner", HONEST)
def test_honest_learners_get_what_they_would_get_alone(attacked, tmp_path, learner, grade):
    assert attacked.rows[learner]["percent"] == "100"
    assert attacked.rows[learner]["warnings"] == ""
    hand_in(tmp_path / "in" / learner, notebook(learner=learner))
    grade(key_file=attacked.root / "key")
    alone = tmp_path / "out" / "results" / learner / "90.json"
    assert json.loads(alone.read_text()) == attacked.data(learner)


def test_no_connection_arrived(attacked):
    assert attacked.connections == 0


def test_no_payload_ran(attacked):
    assert not (attacked.root / "payload ran").exists()


def test_no_process_is_left(attacked):
    time.sleep(0.2)
    commands = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            commands.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    assert not [command for command in commands if f"sleep {MARKER}" in command]
    children = [Path(f"/proc/{pid}/comm").read_text() for pid in _children()]
    assert not [name for name in children if name.strip() in ("bwrap", "choom", "setpriv")]


def _children() -> list[str]:
    tasks = Path("/proc/self/task").iterdir()
    return [pid for task in tasks for pid in (task / "children").read_text().split()]


def test_links_and_names_lead_nowhere(attacked):
    assert attacked.rows["linker"]["status"] == "refused"
    assert attacked.rows["..%2f..%2fevil"]["status"] == "graded"
    out = (attacked.root / "out").resolve()
    for path in out.rglob("*"):
        assert path.resolve().is_relative_to(out)
    assert {path.name for path in attacked.root.iterdir()} == {"in", "out", "key"}


def test_pages_hold_no_markup_of_the_learners(attacked):
    pages = list((attacked.root / "out" / "feedback").rglob("*.html"))
    assert len(pages) > 60
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert "<script" not in text
        assert "<img" not in text
    assert "&lt;script&gt;alert(1)" in (
        attacked.root / "out" / "feedback" / "markup" / "90.html"
    ).read_text(encoding="utf-8")


def test_this_machine_isolates_as_its_user_allows(attacked):
    levels = {row["isolation"] for row in attacked.rows.values()}
    assert levels == {Level.FULL if os.geteuid() == 0 else Level.NAMESPACES}
