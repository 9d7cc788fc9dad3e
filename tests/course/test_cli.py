from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.cli.main import main
from labkit.contract.events import Event
from labkit.course.journal import Journal


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("LABKIT_WORKSPACE", raising=False)
    monkeypatch.delenv("LABKIT_LEARNER", raising=False)
    assert main(["init", str(tmp_path / "ws"), "--learner", "ada"]) == 0
    monkeypatch.chdir(tmp_path / "ws")
    return tmp_path / "ws"


def test_init_says_what_it_did_and_what_next(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["init", "second", "--learner", "ada"]) == 0
    said = capsys.readouterr().out
    assert "Made the workspace second of learner 'ada'." in said
    assert "01_own_the_roofline.ipynb: added." in said
    assert main(["init", str(root), "--update"]) == 0
    assert "01_own_the_roofline.ipynb: up to date." in capsys.readouterr().out


def test_init_without_an_id_takes_the_environments_and_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LABKIT_LEARNER", "eve")
    assert main(["init", str(tmp_path / "w")]) == 0
    assert "of learner 'eve'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["init", ".", "--learner", "bob"], "is the workspace of 'ada', not of 'bob'"),
        (["init", ".", "--learner", "ada"], "add --update"),
        (["init", "new", "--learner", "../x"], "'../x' cannot be a learner id"),
        (["init", "new", "--learner", ""], "learner id is empty"),
        (["init", "01_own_the_roofline.ipynb"], "is a file"),
        (["init"], "DIR"),
        (["reset", "1.99"], "Unknown exercise '1.99'"),
        (["reset", "77"], "Unknown lab '77'"),
        (["lab", "77"], "There is no lab '77'"),
        (["lab", "--port", "99999"], "99999 is no port"),
        (["dev", "build", "--lab", "77"], "Unknown lab '77'"),
        (["dev", "check", "--lab", "x"], "Unknown lab 'x'"),
        (["dev", "check", "--seeds", "0"], "not 0"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(
    root: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    capsys.readouterr()
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    "command", [["progress"], ["progress", "--json"], ["reset", "01"], ["lab"]]
)
def test_without_a_workspace_the_remedy_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    monkeypatch.setenv("LABKIT_WORKSPACE", str(tmp_path))
    assert main(command) == 2
    assert "labkit init DIR --learner ID" in capsys.readouterr().err


def test_progress_reads_at_80_columns_without_colour(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    answer = {"kind": "quantity", "number": 1}
    journal = Journal(root)
    for i in range(1, 7):
        name = f"8.{i}"
        journal.add(Event("predict", "08", name, confidence=90, answer=answer))
        hit = {"hit": i > 5, "predicted": "1", "found": "2"}
        journal.add(Event("check", "08", name, status="passed", points=1.0, detail=hit))
    journal.add(Event("check", "01", "1.1", status="passed", points=1.0))
    journal.add(Event("check", "01", "1.2", status="failed", code="inverted"))
    capsys.readouterr()
    assert main(["progress"]) == 0
    said = capsys.readouterr().out
    assert max(len(line) for line in said.splitlines()) <= 80
    assert "\x1b" not in said
    for words in ("✓ Passed", "✗ Not yet", "○ Not attempted", "1 of 12 passed", "Next: 1.2"):
        assert words in " ".join(said.split())
    assert "You said 90 % and were right 1 of 6: over-confident." in " ".join(said.split())


def test_progress_as_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Journal(root).add(Event("check", "01", "1.1", status="passed", points=1.0))
    capsys.readouterr()
    assert main(["progress", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["learner"] == "ada"
    lab = next(lab for lab in report["labs"] if lab["lab"] == "01")
    assert (lab["lab"], lab["passed"], lab["points"], lab["next"]) == ("01", 1, 1.0, "1.2")
    row = next(row for row in lab["exercises"] if row["exercise"] == "1.1")
    assert (row["status"], row["ever_passed"], row["attempts"]) == ("passed", True, 1)
    assert report["calibration"]["bands"] == []


def test_reset_says_where_the_backup_is(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["reset", "01.9"]) == 0
    said = capsys.readouterr().out
    assert "It has new numbers (set 2)." in said
    assert "do not save it there: that would undo the reset" in said
    assert "save and close the notebook first" in said
    assert main(["reset", "--help"]) == 0
    assert "Save and close the notebook first" in " ".join(capsys.readouterr().out.split())
    assert main(["reset", "01"]) == 0
    assert ".labkit/backups/" in capsys.readouterr().out


def test_init_does_not_send_away_who_make_lab_is_about_to_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from labkit.cli.main import main

    main(["init", str(tmp_path / "own"), "--learner", "ada"])
    assert "Next: cd " in capsys.readouterr().out
    monkeypatch.setenv("LABKIT_SETUP", "1")
    main(["init", str(tmp_path / "made"), "--learner", "ada"])
    assert "Next: cd " not in capsys.readouterr().out
