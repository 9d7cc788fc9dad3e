from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from labkit.contract import LabkitError, events
from labkit.contract.paths import BACKUPS_DIR, EVENTS_FILE, LEARNER_FILE, STATE_DIR
from labkit.course import notebooks, reset, workspace
from labkit.course.build import build
from labkit.course.identity import draw_name, from_metadata, identify
from labkit.course.journal import Journal
from labkit.course.manifest import load_manifest
from labkit.course.resources import Resources
from labkit.exercises import givens_for
from tests.course.toy import SOURCE, TOYS, material

TOY = material()
FILE = TOY.plan.file


def ship(folder: Path, source: str = SOURCE, version: str = "1") -> Resources:
    folder.mkdir(exist_ok=True)
    built = build(material(version=version), source)
    notebooks.write(folder / FILE, built.blank)
    (folder / "course.toml").write_text(
        f'''[course]
title = "Toys"
version = "{version}"
snapshot = "2026-11-30"
checked_on = 2026-11-30

[[labs]]
number = "01"
file = "{FILE}"
title = "Toy"
minutes = 5
objectives = ["count"]
exercises = ["1.1", "1.2", "1.3", "1.4"]
''',
        "utf-8",
    )
    return Resources(folder, folder)


@pytest.fixture
def shipped(tmp_path: Path) -> Resources:
    return ship(tmp_path / "labs")


@pytest.fixture
def root(tmp_path: Path, shipped: Resources) -> Path:
    workspace.init(tmp_path / "ws", "ada", shipped=shipped)
    return tmp_path / "ws"


def work_on(path: Path) -> bytes:
    notebook = notebooks.read(path)
    notebook["cells"][-1]["source"] = ["mine = 1"]
    notebooks.write(path, notebook)
    return path.read_bytes()


def test_init_copies_the_labs_and_writes_the_learner_into_each(root: Path) -> None:
    about = notebooks.metadata(notebooks.read(root / FILE))
    assert about == {"schema": 1, "lab": "01", "course_version": "1", "learner": "ada"}
    assert workspace.read_state(root).learner == "ada"


def test_an_update_replaces_what_nobody_touched(root: Path, shipped: Resources) -> None:
    ship(shipped.labs, SOURCE.replace("Some prose.", "Better prose."), "2")
    delivery = workspace.init(root, "", update=True, shipped=shipped)[0]
    assert delivery.done == "replaced"
    assert b"Better prose." in (root / FILE).read_bytes()
    assert workspace.init(root, "ada", update=True, shipped=shipped)[0].done == "current"


def test_an_update_never_overwrites_work(root: Path, shipped: Resources) -> None:
    mine = work_on(root / FILE)
    assert workspace.init(root, "", update=True, shipped=shipped)[0].done == "kept"
    beside = root / "01_toy.new.ipynb"
    assert not beside.exists()

    ship(shipped.labs, SOURCE.replace("Some prose.", "Better prose."), "2")
    delivery = workspace.init(root, "", update=True, shipped=shipped)[0]
    assert delivery.done == "beside"
    assert "lies beside it" in delivery.sentence()
    assert (root / FILE).read_bytes() == mine
    assert b"Better prose." in beside.read_bytes()
    assert notebooks.metadata(notebooks.read(beside))["learner"] == "ada"

    theirs = work_on(beside)
    ship(shipped.labs, SOURCE.replace("Some prose.", "Best prose."), "3")
    workspace.init(root, "", update=True, shipped=shipped)
    assert (root / FILE).read_bytes() == mine
    assert beside.read_bytes() == theirs
    assert b"Best prose." in (root / "01_toy.new-2.ipynb").read_bytes()


def test_an_update_brings_back_a_deleted_lab_and_keeps_foreign_files(
    root: Path, shipped: Resources
) -> None:
    (root / FILE).unlink()
    (root / "notes.txt").write_text("mine", "utf-8")
    assert workspace.init(root, "", update=True, shipped=shipped)[0].done == "added"
    assert (root / "notes.txt").read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    "learner", ["a/b", "../x", "a..b", "a b", "-a", "x" * 65, "é", "a\n", "#1", "a#1", 'a"b']
)
def test_bad_ids_are_refused_in_one_sentence(
    tmp_path: Path, shipped: Resources, learner: str
) -> None:
    with pytest.raises(workspace.WorkspaceError, match="cannot be a learner id") as raised:
        workspace.init(tmp_path / "new", learner, shipped=shipped)
    assert repr(learner) in str(raised.value)
    assert not (tmp_path / "new").exists()


def test_folders_in_the_way_are_named(tmp_path: Path, root: Path, shipped: Resources) -> None:
    file = tmp_path / "file"
    file.write_text("x", "utf-8")
    used = tmp_path / "used"
    used.mkdir()
    (used / "thesis.tex").write_text("x", "utf-8")
    for folder, learner, update, words in [
        (file, "ada", False, "is a file"),
        (used, "ada", False, "is not empty"),
        (used, "ada", True, "is not empty"),
        (root, "ada", False, "add --update"),
        (root, "bob", True, "is the workspace of 'ada', not of 'bob'"),
        (tmp_path / "none", "", True, "--learner ID"),
        (file / "below", "ada", False, "cannot be written"),
    ]:
        with pytest.raises(LabkitError, match=re.escape(words)):
            workspace.init(folder, learner, update=update, shipped=shipped)


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_a_folder_that_refuses_writing_is_named(
    root: Path, shipped: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: object, **_kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    (root / FILE).unlink()
    with pytest.raises(LabkitError, match="cannot be written: Permission denied"):
        workspace.init(root, "", update=True, shipped=shipped)


@pytest.mark.parametrize(
    "text", ["", "[learner]\n", "learner = 3\n", '[learner]\nid = "a b"\n', "="]
)
def test_a_damaged_learner_file_is_named(root: Path, shipped: Resources, text: str) -> None:
    (root / STATE_DIR / LEARNER_FILE).write_text(text, "utf-8")
    with pytest.raises(workspace.WorkspaceError, match="learner"):
        workspace.init(root, "", update=True, shipped=shipped)


def test_reset_of_a_lab_keeps_a_backup_and_forgets_its_progress(
    root: Path, shipped: Resources
) -> None:
    mine = work_on(root / FILE)
    Journal(root).add(events.Event("check", "01", "1.1", status="passed", points=1.0))
    said = reset.reset_lab(root, TOY.plan, "1", shipped)
    [backup] = (root / STATE_DIR / BACKUPS_DIR).glob(f"*/{FILE}")
    assert backup.read_bytes() == mine
    assert backup.relative_to(root).as_posix() in said[0]
    assert b"mine = 1" not in (root / FILE).read_bytes()
    assert Journal(root).standings == {}
    assert '"what": "check"' in (root / STATE_DIR / EVENTS_FILE).read_text("utf-8")
    assert workspace.init(root, "", update=True, shipped=shipped)[0].done == "current"
    work_on(root / FILE)
    reset.reset_lab(root, TOY.plan, "1", shipped)
    assert len(list((root / STATE_DIR / BACKUPS_DIR).glob(f"*/{FILE}"))) == 2


def test_reset_of_a_personal_exercise_gives_numbers_that_travel_in_the_notebook(
    root: Path, shipped: Resources
) -> None:
    personal = TOYS[1]
    before = notebooks.read(root / FILE)
    first = identify("01", FILE, root)
    said = reset.reset_exercise(root, TOY.plan, personal)
    assert "It has new numbers (set 2)." in " ".join(said)
    second = identify("01", FILE, root)
    assert (first.draw("1.2"), second.draw("1.2")) == ("ada", "ada#1")
    assert second.draw("1.1") == "ada"
    drawn = {
        givens_for(personal, object(), learner=who.draw("1.2"))["size"] for who in (first, second)
    }
    assert len(drawn) == 2
    after = notebooks.read(root / FILE)
    assert after["cells"] == before["cells"]
    # What grading reads is what the notebook showed, and nothing but the submission decides it.
    assert from_metadata(notebooks.metadata(after)).draw("1.2") == second.draw("1.2")
    reset.reset_lab(root, TOY.plan, "1", shipped)
    assert identify("01", FILE, root).draw("1.2") == "ada#1"


def test_reset_of_a_core_exercise_keeps_its_numbers(root: Path) -> None:
    before = (root / FILE).read_bytes()
    said = reset.reset_exercise(root, TOY.plan, TOYS[0])
    assert "Its numbers stay: they are the same for everybody." in said
    assert (root / FILE).read_bytes() == before


@pytest.mark.parametrize("what", ["1.7", "01.7", " 01.7 "])
def test_an_exercise_may_be_named_with_its_labs_number(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LABKIT_WORKSPACE", raising=False)
    workspace.init(tmp_path / "real", "ada")
    said = reset.reset(tmp_path / "real", what)
    assert said[0].startswith("Progress of 1.7 is forgotten")


@pytest.mark.parametrize(
    "what", ["001.7", "0.7", "01.07", "1.99", "99", "x", "", "1.", "../01", "1.4.2"]
)
def test_reset_of_what_is_not_there_names_what_is(
    root: Path, shipped: Resources, what: str
) -> None:
    with pytest.raises(LabkitError, match=r"Unknown (lab|exercise)"):
        reset.reset(root, what, shipped=shipped)


def test_hostile_metadata_is_no_identity() -> None:
    for about in (
        {},
        {"learner": 3},
        {"learner": "../x"},
        {"learner": ["ada"]},
        {"variants": []},
        {"variants": {"1.2": -1, "1.3": True, "x": 1, "1.4": 10**9, "1.5": "1", "1.6": None}},
    ):
        found = from_metadata(about)
        assert (found.learner, dict(found.variants)) == ("", {})
    assert draw_name("ada", 0) != draw_name("ada", 1)


def test_the_notebook_says_who_it_is_for_and_a_mismatch_is_said(root: Path) -> None:
    path = root / FILE
    notebooks.write(path, notebooks.with_metadata(notebooks.read(path), learner="bob"))
    found = identify("01", FILE, root)
    assert found.learner == "bob"
    assert "belongs to 'bob', the workspace to 'ada'" in found.notices[0]


def test_identity_falls_back_to_the_workspace_then_the_environment_then_says_anonymous(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABKIT_LEARNER", "eve")
    (root / FILE).unlink()
    assert identify("01", FILE, root).learner == "ada"
    assert identify("01", FILE, None).learner == "eve"
    monkeypatch.setenv("LABKIT_LEARNER", "../x")
    found = identify("01", FILE, None)
    assert found.learner == "anonymous"
    assert "'../x', which cannot be a learner id" in found.notices[0]
    assert "those of 'anonymous'" in found.notices[1]


def test_the_running_notebook_is_found_by_jupyters_word_only_if_it_is_this_lab(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copy = tmp_path / "01_toy-Copy1.ipynb"
    notebooks.write(copy, notebooks.with_metadata(notebooks.read(root / FILE), learner="bob"))
    monkeypatch.setenv("JPY_SESSION_NAME", str(copy))
    assert identify("01", FILE, root).learner == "bob"
    assert identify("02", "02_x.ipynb", root).learner == "ada"
    copy.write_text("not JSON", "utf-8")
    assert identify("01", FILE, root).learner == "ada"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('number = "01"', 'number = "1"', "labs.0.number"),
        ('file = "01_toy.ipynb"', 'file = "02_toy.ipynb"', "file '02_toy.ipynb' of another number"),
        ('"1.1", "1.2"', '"1.1", "1.1"', "exercise 1.1 is listed twice"),
        ('"1.1", "1.2"', '"1.1", "L1.2"', "'L1.2', which is no exercise id"),
        ("minutes = 5", "minutes = 0", "labs.0.minutes"),
        ("minutes = 5", "minutes = 5\nhours = 1", "labs.0.hours"),
        ("checked_on = 2026-11-30", 'checked_on = "soon"', "course.checked_on"),
        ("[course]", "[course", "is not TOML"),
    ],
)
def test_a_wrong_manifest_is_one_sentence(
    shipped: Resources, old: str, new: str, words: str
) -> None:
    path = shipped.manifest
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(LabkitError, match=re.escape(words)) as raised:
        load_manifest(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff\xfe", b'{"cells": {}}', b'"x"'])
def test_what_is_no_notebook_is_one_sentence(raw: bytes) -> None:
    with pytest.raises(notebooks.NotebookError, match=r"x\.ipynb is not a notebook"):
        notebooks.loads(raw, "x.ipynb")


def test_a_notebook_with_a_byte_order_mark_is_read(root: Path) -> None:
    raw = b"\xef\xbb\xbf" + (root / FILE).read_bytes()
    assert notebooks.loads(raw) == json.loads((root / FILE).read_bytes())
