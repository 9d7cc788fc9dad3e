"""Who handed in what: folders, loose files, rosters, links, duplicates, odd names."""

from __future__ import annotations

import os

import pytest

from labkit.contract.errors import LabkitError
from labkit.grading.collect import collect
from labkit.grading.names import csv_text, file_name, identity
from labkit.grading.plan import make_plan
from labkit.grading.roster import load_roster
from tests.grading.toy_lab import BLANK, hand_in, notebook


def plan(root, roster=None):
    return make_plan(collect(root)[0], roster)


def test_a_folder_per_learner_whatever_the_files_are_called(tmp_path):
    hand_in(tmp_path / "ann", notebook(), "WMS q3.ipynb")
    hand_in(tmp_path / "bob" / "ps1" / "inner", notebook(learner="bob"))
    hand_in(tmp_path / "bob" / ".ipynb_checkpoints", notebook(BLANK, learner="bob"))
    hand_in(tmp_path / "__MACOSX", b"x", "._lab.ipynb")
    (tmp_path / ".DS_Store").write_text("x")
    (tmp_path / "cem").mkdir()
    tasks = plan(tmp_path)
    assert [(t.learner, t.lab, t.status) for t in tasks] == [
        ("ann", "90", ""),
        ("bob", "90", ""),
        ("cem", "", "missing"),
    ]


def test_loose_notebooks_go_by_the_learner_they_claim(tmp_path):
    hand_in(tmp_path, notebook(learner="ann"), "Doe_123_assignsubmission_file_lab.ipynb")
    hand_in(tmp_path, notebook(learner=None), "bob.ipynb")
    assert [task.learner for task in plan(tmp_path)] == ["ann", "bob"]


def test_two_loose_notebooks_with_one_claim_go_by_their_files(tmp_path):
    hand_in(tmp_path, notebook(learner="ann"), "one.ipynb")
    hand_in(tmp_path, notebook(BLANK, learner="ann"), "two.ipynb")
    tasks = plan(tmp_path)
    assert [task.learner for task in tasks] == ["one", "two"]
    assert "is also used by two" in tasks[0].private[0]


def test_one_notebook_alone(tmp_path):
    path = hand_in(tmp_path, notebook())
    assert [task.learner for task in plan(path)] == ["ann"]


def test_the_same_learner_id_or_file_in_two_folders_is_flagged(tmp_path):
    hand_in(tmp_path / "ann", notebook())
    hand_in(tmp_path / "bob", notebook())
    ann, bob = plan(tmp_path)
    assert ann.private == (
        "The learner id 'ann' is also used by bob.",
        "The same file was handed in by bob.",
    )
    assert bob.private[0] == "The learner id 'ann' is also used by ann."


def test_of_several_notebooks_of_a_lab_the_last_by_name_counts(tmp_path):
    for name in ("lab.ipynb", "lab (2).ipynb", "lab (10).ipynb"):
        hand_in(tmp_path / "ann", notebook(), name)
    (task,) = plan(tmp_path)
    assert task.path is not None
    assert task.path.name == "lab (10).ipynb"
    assert "lab (10).ipynb was graded, not lab.ipynb, lab (2).ipynb" in task.remarks[0]


def test_a_second_unreadable_file_does_not_touch_the_good_one(tmp_path):
    hand_in(tmp_path / "ann", notebook())
    hand_in(tmp_path / "ann", b"nope", "scratch.ipynb")
    assert sorted(task.status for task in plan(tmp_path)) == ["", "unreadable"]


def test_links_are_refused_everywhere(tmp_path):
    hand_in(tmp_path / "in" / "ann", notebook())
    (tmp_path / "in" / "bob").mkdir()
    (tmp_path / "in" / "bob" / "lab.ipynb").symlink_to(tmp_path / "in" / "ann" / "lab.ipynb")
    (tmp_path / "in" / "cem").symlink_to(tmp_path / "in" / "ann")
    (tmp_path / "in" / "dot.ipynb").symlink_to(tmp_path / "in" / "ann" / "lab.ipynb")
    (tmp_path / "in" / "eve").mkdir()
    (tmp_path / "in" / "eve" / "labs").symlink_to(tmp_path / "in" / "ann")
    statuses = {task.learner: task.status for task in plan(tmp_path / "in")}
    assert statuses == {
        "ann": "",
        "bob": "refused",
        "cem": "refused",
        "dot": "refused",
        "eve": "missing",
    }


@pytest.mark.parametrize("name", ["nothing", "notes.txt"])
def test_nothing_to_grade_is_one_sentence(tmp_path, name):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(LabkitError, match=name):
        collect(tmp_path / name)
    with pytest.raises(LabkitError, match="no folder and no notebook"):
        collect(tmp_path)


def test_an_archive_is_named_and_not_opened(tmp_path):
    hand_in(tmp_path / "ann", notebook())
    (tmp_path / "all.zip").write_bytes(b"PK")
    assert "all.zip is an archive" in collect(tmp_path)[1][0]


def test_the_order_is_the_same_whatever_the_file_system_says(tmp_path):
    for name in ("c", "a", "B", "ä"):
        hand_in(tmp_path / name, notebook(learner="x"))
    assert [task.learner for task in plan(tmp_path)] == ["B", "a", "c", "ä"]


# --- roster ---------------------------------------------------------------------------------


def roster_file(tmp_path, text):
    path = tmp_path / "roster.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_roster_names_learners_and_flags_mismatches_and_absentees(tmp_path):
    roster = load_roster(roster_file(tmp_path, "lms_id,learner\nDoe_1,ann\nRoe_2,bob\nPoe_3,cem\n"))
    hand_in(tmp_path / "in" / "Doe_1", notebook(learner="ann"))
    hand_in(tmp_path / "in" / "Roe_2", notebook(learner="ann"))
    hand_in(tmp_path / "in" / "stranger", notebook(BLANK, learner="eve"))
    tasks = {task.learner: task for task in plan(tmp_path / "in", roster)}
    assert list(tasks) == ["ann", "bob", "cem", "stranger"]
    assert "The roster says 'bob', the notebook 'ann'." in tasks["bob"].private
    assert tasks["cem"].status == "missing"
    assert "'stranger' is not in the roster." in tasks["stranger"].private


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "lacks the column 'lms_id'"),
        ("lms_id\nx\n", "lacks the column 'learner'"),
        ("lms_id,learner\nx,\n", "line 2: lms_id and learner must both be given"),
        ("lms_id,learner\nx,../a\n", "'../a' cannot be a learner id"),
        ("lms_id,learner\nx,a\nx,b\n", "line 3: 'x' is listed twice"),
        ("lms_id,learner\nx,a\ny,a\n", "'a' is listed twice"),
    ],
)
def test_a_bad_roster_is_one_sentence_with_its_line(tmp_path, text, words):
    with pytest.raises(LabkitError, match=words.replace(".", r"\.")):
        load_roster(roster_file(tmp_path, text))


# --- names ----------------------------------------------------------------------------------

ODD = ["a.b+c", "123 (abc)", "..", ".", ".hidden", "../../etc/passwd", "a/b", "a\\b", "x" * 300,
       "C:con", "-rf", "a\nb", "ä", "%2E", "=1+1", "😀", "a ", "", "a\0b"]  # fmt: skip


def test_every_name_gets_a_file_name_of_its_own_inside_its_folder(tmp_path):
    names = [file_name(name) for name in ODD]
    assert len(set(names)) == len(ODD)
    for name in names:
        path = (tmp_path / name).resolve()
        assert path.parent == tmp_path.resolve()
        path.write_text("x")
    assert file_name("a.b+c") == "a.b+c"
    assert file_name("123 (abc)") == "123 (abc)"


def test_folders_with_odd_names_are_learners_like_any_other(tmp_path):
    names = ["a.b+c", "123 (abc)", "=1+1", "x.*", "two\nlines"]
    for name in names:
        hand_in(tmp_path / name, notebook(learner=None))
    (tmp_path / os.fsdecode(b"caf\xe9")).mkdir()
    assert {task.learner for task in plan(tmp_path)} == {
        *names[:4],
        "two%0Alines",
        "caf%E9",
    }


def test_identity_is_always_printable_text():
    for name in [*ODD, os.fsdecode(b"caf\xe9")]:
        assert identity(name).isprintable()
        identity(name).encode("utf-8")


def test_a_spreadsheet_sees_no_formula():
    assert csv_text("=HYPERLINK(1)") == "'=HYPERLINK(1)"
    assert csv_text("ann") == "ann"
