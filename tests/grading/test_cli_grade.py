"""`labkit grade` on the course's own Lab 01: the command as an instructor types it."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.cli.main import main
from labkit.course.resources import resources
from tests.grading.toy_lab import hand_in, notebook

pytestmark = pytest.mark.sandbox

LAB_01 = resources().labs / "01_own_the_roofline.ipynb"


def blank(learner: str) -> bytes:
    content = json.loads(LAB_01.read_text(encoding="utf-8"))
    content["metadata"]["labkit"]["learner"] = learner
    return json.dumps(content).encode()


def grades(out: Path) -> dict[str, dict[str, str]]:
    with (out / "grades.csv").open(encoding="utf-8", newline="") as file:
        return {row["learner"]: row for row in csv.DictReader(file)}


def test_blank_labs_and_what_else_lies_there(tmp_path, capsys):
    hand_in(tmp_path / "in" / "ann", blank("ann"), "lab(1).ipynb")
    hand_in(tmp_path / "in" / "123 (abc)", b"nonsense")
    (tmp_path / "in" / "cem").mkdir()
    code = main(["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert code == 1  # one could not be graded
    assert report["counts"] == {"unreadable": 1, "graded": 1, "missing": 1}
    row = grades(tmp_path / "out")["ann"]
    assert (row["lab"], row["points"], row["status"]) == ("01", "0", "graded")
    assert float(row["max_points"]) > 0
    data = json.loads((tmp_path / "out" / "results" / "ann" / "01.json").read_text())
    assert {outcome["status"] for outcome in data["outcomes"]} == {"not attempted"}
    page = tmp_path / "out" / "feedback" / "123 (abc)" / "not graded lab.ipynb.html"
    assert "its JSON breaks at byte 0" in page.read_text(encoding="utf-8")


def test_a_table_and_a_summary_for_people(tmp_path, capsys):
    hand_in(tmp_path / "in" / "ann", blank("ann"))
    assert main(["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--jobs", "1"]) == 0
    said = capsys.readouterr()
    assert "1 graded. Isolation:" in said.out
    assert said.err.startswith("[1/1] ann 01 graded 0/")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{in}/nothing"], "no such file or folder"),
        (["{in}", "--jobs", "-1"], "--jobs -1 is not possible"),
        (["{in}", "--key", "{in}/none"], "cannot be read: No such file"),
        (["{in}", "--key", "{short}"], "has 3 bytes; it needs at least 16"),
        (["{in}", "--roster", "{short}"], "lacks the column 'lms_id'"),
        (["{in}", "--out", "{in}/out"], "must not lie in each other"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, capsys, arguments, words):
    hand_in(tmp_path / "in" / "ann", notebook())
    (tmp_path / "short").write_text("abc")
    places = {"{in}": str(tmp_path / "in"), "{short}": str(tmp_path / "short")}
    filled = [places.get(a, a.replace("{in}", places["{in}"])) for a in arguments]
    assert main(["grade", "--out", str(tmp_path / "out"), *filled]) == 2
    said = capsys.readouterr().err.strip()
    assert words in said
    assert "\n" not in said


def test_without_isolation_it_refuses_and_names_the_packages(tmp_path, capsys, monkeypatch):
    hand_in(tmp_path / "in" / "ann", notebook())
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "Grading needs bubblewrap and util-linux" in said
    assert "apt-get install bubblewrap util-linux" in said
    assert not (tmp_path / "out" / "grades.csv").exists()


def test_unsafe_says_what_it_gives_up_and_marks_every_grade(tmp_path, capsys, monkeypatch):
    hand_in(tmp_path / "in" / "ann", blank("ann"))
    monkeypatch.setenv("PATH", str(tmp_path))
    arguments = ["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out")]
    assert main([*arguments, "--unsafe-no-sandbox"]) == 0
    assert "WARNING: Without a sandbox a notebook runs as you" in capsys.readouterr().err
    assert grades(tmp_path / "out")["ann"]["isolation"] == "none"
    page = (tmp_path / "out" / "feedback" / "ann" / "01.html").read_text(encoding="utf-8")
    assert "made without a sandbox" in page


def test_a_killed_batch_goes_on_where_it_was(tmp_path):
    for learner in ("ann", "bob", "cem", "dan"):
        hand_in(tmp_path / "in" / learner, blank(learner))
    out = tmp_path / "out"
    command = [
        sys.executable, "-m", "labkit.cli.main", "grade", str(tmp_path / "in"),
        "--out", str(out), "--jobs", "1",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("[1/4] ann")
        process.send_signal(signal.SIGKILL)
    assert not (out / "grades.csv").exists()
    first = out / "results" / "ann" / "01.json"
    first.write_text(first.read_text().replace("Nothing is filled in yet.", "Kept."))
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert "[4/4] dan" in done.stderr
    assert "Kept." in first.read_text()  # it was read, not graded again
    assert list(grades(out)) == ["ann", "bob", "cem", "dan"]
    assert not list(out.rglob("*.part"))


def test_the_sandbox_runs_what_the_labs_import(tmp_path, capsys):
    """The runner's rooms suffice for the whole solution, and it earns every point."""
    solution = resources().solutions / LAB_01.name
    for learner in ("ann", "bo.b+x"):
        content = json.loads(solution.read_text(encoding="utf-8"))
        content["metadata"]["labkit"]["learner"] = learner
        hand_in(tmp_path / "in" / learner, content)
    key = tmp_path / "key"
    key.write_text("a key for this test alone")
    arguments = ["grade", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--json"]
    assert main([*arguments, "--key", str(key)]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["percent"] for row in rows] == [100.0, 100.0]
    assert [row["warnings"] for row in rows] == ["", ""]


def test_the_tools_are_there():
    """The tests above are worth nothing where they cannot run: then this one fails first."""
    for program in ("bwrap", "setpriv", "choom"):
        assert shutil.which(program), f"install {program}"
    assert os.name == "posix"
