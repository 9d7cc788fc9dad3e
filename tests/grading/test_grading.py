"""A class graded in the real sandbox: right, blank, wrong, odd; and the same grade every time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.contract.errors import LabkitError
from tests.grading.toy_lab import (
    ALL,
    BLANK,
    MISTAKE,
    RIGHT,
    code_cell,
    examiner,
    hand_in,
    notebook,
)

pytestmark = pytest.mark.sandbox


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below, by its path."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_right_blank_and_mistaken_submissions(tmp_path, grade, rows, outcomes):
    hand_in(tmp_path / "in" / "right", notebook())
    hand_in(tmp_path / "in" / "blank", notebook(BLANK, learner="blank"))
    wrong = {
        **RIGHT,
        "90.1": "answer_90_1 = 20",
        "90.3": "def double(size):\n    return size / 2",
        "90.4": "answer_90_4 = 'b'",
    }
    hand_in(tmp_path / "in" / "wrong", notebook(wrong, learner="wrong"))
    report = grade()
    assert rows()["right"]["percent"] == "100"
    assert rows()["right"]["warnings"] == ""
    assert rows()["blank"]["points"] == "0"
    assert {o["status"] for o in outcomes("blank").values()} == {"not attempted"}
    assert outcomes("wrong")["90.1"]["message"] == MISTAKE
    assert outcomes("wrong")["90.3"]["code"] == "inverted"
    assert outcomes("wrong")["90.4"]["code"] == "wrong-roof"
    assert rows()["wrong"]["points"] == "3"
    assert rows()["right"]["isolation"] == report.level.value
    assert report.troubled == []


def test_typed_constants_pass_the_personal_tier_and_fail_the_transfer_tier(
    tmp_path, grade, outcomes
):
    given = examiner().givens("90", examiner().exercises("90")["90.2"], "ann", {}).size
    typed = {
        **RIGHT,
        "90.2": f"answer_90_2 = {2 * given}",
        "90.3": f"def double(size):\n    return {2 * given}",
    }
    hand_in(tmp_path / "in" / "ann", notebook(typed))
    grade()
    assert outcomes("ann")["90.2"]["status"] == "passed"
    assert outcomes("ann")["90.3"]["status"] == "failed"
    assert outcomes("ann")["90.3"]["code"] == "typed-constant"


def test_a_copied_personal_answer_fails(tmp_path, grade, outcomes):
    given = examiner().givens("90", examiner().exercises("90")["90.2"], "ann", {}).size
    hand_in(
        tmp_path / "in" / "bob", notebook({"90.2": f"answer_90_2 = {2 * given}"}, learner="bob")
    )
    grade()
    assert outcomes("bob")["90.2"]["status"] == "failed"


def test_own_records_count_and_recordings_stand_in(tmp_path, grade, outcomes):
    own = {"90.6": "answer_90_6 = 42"}  # twice the median of OWN_RECORD
    replayed = {"90.6": "answer_90_6 = 22"}  # twice the median of RECORDING
    hand_in(tmp_path / "in" / "ann", notebook(own))
    hand_in(tmp_path / "in" / "bob", notebook(replayed, record=None))
    hand_in(tmp_path / "in" / "cem", notebook(replayed))
    grade()
    assert outcomes("ann")["90.6"]["status"] == "passed"
    assert outcomes("bob")["90.6"]["status"] == "passed"
    assert outcomes("cem")["90.6"]["status"] == "failed"


def test_the_same_bytes_and_key_give_the_same_results_byte_for_byte(tmp_path, grade):
    noisy = {**RIGHT, "90.1": "import random\nanswer_90_1 = random.random()"}
    hand_in(tmp_path / "in" / "ann", notebook(noisy))
    hand_in(tmp_path / "in" / "bob", notebook(BLANK, learner="bob"))
    key = tmp_path / "key"
    key.write_text("k" * 40)
    grade(key_file=key)
    first = tree(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "before")
    grade(key_file=key, jobs=1)
    assert tree(tmp_path / "out") == first
    assert "key" not in first


def test_another_key_draws_other_hidden_numbers(tmp_path, grade, outcomes):
    # Right on even givens only: how many of five draws pass depends on the draws alone.
    fickle = {"90.3": "def double(size):\n    return 2 * size if size % 2 else 0"}
    hand_in(tmp_path / "in" / "ann", notebook(fickle))
    shown = set()
    for n in range(6):
        key = tmp_path / f"key{n}"
        key.write_text(f"{n}" * 40)
        grade(key_file=key)
        shown.add(outcomes("ann")["90.3"]["shown"])
    assert len(shown) > 1


def test_the_key_is_made_once_private_and_kept_out_of_everything(tmp_path, grade):
    hand_in(tmp_path / "in" / "ann", notebook())
    grade()
    key = tmp_path / "out" / "key"
    secret = key.read_text().strip()
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(secret) == 64
    grade()
    assert key.read_text().strip() == secret
    others = {name: raw for name, raw in tree(tmp_path / "out").items() if name != "key"}
    assert not [name for name, raw in others.items() if secret.encode() in raw]


def test_feedback_never_quotes_hidden_numbers(tmp_path, grade):
    telling = "def double(size):\n    raise type('E%s' % size, (Exception,), {})(f'got {size}')"
    typed = "def double(size):\n    return type('T%s' % size, (), {})()"
    hand_in(tmp_path / "in" / "ann", notebook({"90.3": telling}))
    hand_in(tmp_path / "in" / "bob", notebook({"90.3": typed}, learner="bob"))
    hand_in(tmp_path / "in" / "cem", notebook({"90.3": "def double(size):\n    return size + 1"}))
    key = tmp_path / "key"
    key.write_text("k" * 40)
    report = grade(key_file=key)
    from labkit.grading.keys import load_key

    for result in report.results:
        seeds = load_key(key, tmp_path).seeds(result.origin.submission_sha256, "90.3")
        probe = examiner().probe("90", examiner().exercises("90")["90.3"], seeds, {})
        assert probe is not None
        page = (tmp_path / "out" / "feedback" / result.learner / "90.html").read_text()
        data = (tmp_path / "out" / "results" / result.learner / "90.json").read_text()
        for _, (size,) in probe.calls:
            assert str(size) not in page
            assert str(size) not in data
            assert str(2 * size) not in page


def test_forbidden_module_fails_the_exercise_but_a_demonstration_does_not(
    tmp_path, grade, outcomes
):
    using = "def double(size):\n    from labkit import estimate\n    return 2 * size"
    hand_in(tmp_path / "in" / "using", notebook({"90.3": using}))
    demonstration = notebook(before=["from labkit.sizing import roofline as shown"])
    hand_in(tmp_path / "in" / "showing", demonstration)
    grade()
    assert outcomes("using")["90.3"]["code"] == "forbidden-module"
    assert outcomes("showing")["90.3"]["status"] == "passed"


def test_the_last_answer_that_is_not_blank_counts(tmp_path, grade, outcomes, rows):
    first_right = notebook(after=['lab.check("90.1", 1)'])
    last_right = notebook({"90.1": "answer_90_1 = 1"}, after=['lab.check("90.1", 80)'])
    then_blank = notebook(
        after=[
            'lab.check("90.1", ...)',
            "def nothing(size): return ...",
            'lab.check("90.3", nothing)',
        ]
    )
    hand_in(tmp_path / "in" / "a", first_right)
    hand_in(tmp_path / "in" / "b", last_right)
    hand_in(tmp_path / "in" / "c", then_blank)
    grade()
    assert outcomes("a")["90.1"]["status"] == "failed"
    assert "90.1 was answered 2 times; the last answer counts." in rows()["a"]["warnings"]
    assert outcomes("b")["90.1"]["status"] == "passed"
    assert outcomes("c")["90.1"]["status"] == "passed"
    assert outcomes("c")["90.3"]["status"] == "passed"


def test_an_answer_is_judged_as_it_was_when_it_was_checked(tmp_path, grade, rows):
    # B38: t is right at its check and overwritten later; the function's global changes as well.
    answers = {**RIGHT, "90.3": "factor = 2\ndef double(size):\n    return factor * size"}
    hand_in(tmp_path / "in" / "ann", notebook(answers, after=["factor = 5", "answer_90_1 = 0"]))
    grade()
    assert float(rows()["ann"]["points"]) == ALL


def test_errors_name_the_cell_that_stopped(tmp_path, grade, outcomes):
    hand_in(tmp_path / "in" / "ann", notebook({**RIGHT, "90.1": "answer_90_1 = 1 / 0"}))
    grade()
    assert outcomes("ann")["90.1"]["status"] == "error"
    assert "ex-90-1-answer stopped with ZeroDivisionError" in outcomes("ann")["90.1"]["message"]
    assert outcomes("ann")["90.2"]["status"] == "passed"


def test_missing_and_changed_cells_are_told_apart_from_blank(tmp_path, grade, outcomes):
    content = notebook()
    content["cells"] = [c for c in content["cells"] if "90-1" not in c["id"]]
    for cell in content["cells"]:
        if cell["id"] == "ex-90-4-check":  # B05: the cell's type was changed
            cell["cell_type"] = "markdown"
    hand_in(tmp_path / "in" / "ann", content)
    grade()
    assert outcomes("ann")["90.1"]["message"].startswith("Not found: no cell")
    assert "ex-90-4-check is no code cell" in outcomes("ann")["90.4"]["message"]
    assert outcomes("ann")["90.2"]["status"] == "passed"


def test_inserted_moved_and_copied_cells_change_nothing(tmp_path, grade, rows):
    content = notebook()
    setup, *rest = content["cells"]
    extra = code_cell("mine", "x = 1")
    copied = dict(rest[0])  # B02, B09: a copied cell keeps its id
    content["cells"] = [setup, extra, *rest[2:], *rest[:2], copied, {"cell_type": "raw"}, 7]
    hand_in(tmp_path / "in" / "ann", content)
    grade()
    assert float(rows()["ann"]["points"]) == ALL
    assert "occurs more than once" in rows()["ann"]["warnings"]


def test_an_unknown_lab_has_a_row_and_the_others_are_graded(tmp_path, grade, rows):
    other = notebook()
    other["metadata"]["labkit"]["lab"] = "77"
    hand_in(tmp_path / "in" / "ann", other)
    hand_in(tmp_path / "in" / "bob", notebook(learner="bob"))
    report = grade()
    assert rows()["ann"]["status"] == "unknown lab"
    assert "lacks labkit.exercises.lab77" in rows()["ann"]["warnings"]
    assert rows()["bob"]["percent"] == "100"
    assert [r.learner for r in report.troubled] == ["ann"]


def test_the_lab_is_known_by_its_metadata_and_else_by_its_code(tmp_path, grade, rows):
    hand_in(tmp_path / "in" / "ann", notebook(), name="WMS q3 (1).ipynb")
    bare = notebook()
    bare["metadata"] = {}
    hand_in(tmp_path / "in" / "bob", bare)
    grade()
    assert rows()["ann"]["lab"] == rows()["bob"]["lab"] == "90"
    assert "lost its metadata" in rows()["bob"]["warnings"]
    assert rows()["bob"]["percent"] == "100"  # bob's numbers, in the folder bob


def test_kernels_widgets_and_old_minor_versions_do_not_matter(tmp_path, grade, rows):
    content = notebook()
    content["nbformat_minor"] = 2  # B63, B64: ids are unexpected there, and harmless
    content["metadata"] |= {
        "kernelspec": {"name": "otter-env", "display_name": "Python [root]"},
        "widgets": {"application/vnd.jupyter.widget-state+json": {}},
    }
    content["cells"].append(code_cell("w", "import ipywidgets\nipywidgets.interact(print, x=3)"))
    hand_in(tmp_path / "in" / "ann", content)
    grade()
    assert rows()["ann"]["percent"] == "100"


def test_a_learner_s_page_names_no_other_learner(tmp_path, grade, rows):
    hand_in(tmp_path / "in" / "ann", notebook())
    hand_in(tmp_path / "in" / "copycat", notebook())
    grade()
    assert "is also used by copycat" in rows()["ann"]["warnings"]
    assert "The same file was handed in by copycat" in rows()["ann"]["warnings"]
    page = (tmp_path / "out" / "feedback" / "ann" / "90.html").read_text(encoding="utf-8")
    assert "copycat" not in page


def test_an_older_course_version_is_graded_with_a_warning(tmp_path, grade, rows):
    hand_in(tmp_path / "in" / "ann", notebook(version="3"))
    grade()
    assert rows()["ann"]["percent"] == "100"
    assert "is from course version 3; it is graded by version 7" in rows()["ann"]["warnings"]


def test_resume_grades_only_what_changed(tmp_path, grade):
    hand_in(tmp_path / "in" / "ann", notebook())
    hand_in(tmp_path / "in" / "bob", notebook(learner="bob"))
    grade()
    untouched = tmp_path / "out" / "results" / "ann" / "90.json"
    marked = untouched.read_text().replace("Twice it is.", "Read from the file.")
    untouched.write_text(marked)
    hand_in(tmp_path / "in" / "bob", notebook(BLANK, learner="bob"))
    report = grade()
    by_learner = {result.learner: result for result in report.results}
    assert by_learner["ann"].outcomes[0]["message"] == "Read from the file."
    assert by_learner["bob"].points == 0
    other = grade(examiner=examiner(version="8"))  # another course version is another grade
    assert other.results[0].outcomes[0]["message"] == "Twice it is."


def test_a_torn_result_is_made_again(tmp_path, grade):
    hand_in(tmp_path / "in" / "ann", notebook())
    grade()
    path = tmp_path / "out" / "results" / "ann" / "90.json"
    whole = path.read_bytes()
    path.write_bytes(whole[:200])
    (path.parent / ".x.part").write_text("left by a killed run")
    grade()
    assert path.read_bytes() == whole
    assert not (path.parent / ".x.part").exists()


def test_output_among_the_submissions_is_refused(tmp_path):
    from labkit.grading.grade import grade

    (tmp_path / "in").mkdir()
    with pytest.raises(LabkitError, match="must not lie in each other"):
        grade(tmp_path / "in", tmp_path / "in" / "out")


def test_results_list_each_exercise_and_hold_no_time(tmp_path, grade):
    hand_in(tmp_path / "in" / "ann", notebook())
    grade()
    data = json.loads((tmp_path / "out" / "results" / "ann" / "90.json").read_text())
    assert [o["exercise"] for o in data["outcomes"]] == [f"90.{n}" for n in range(1, 8)]
    assert data["percent"] == 100
    assert data["origin"]["key_fingerprint"]
    assert "time" not in " ".join(data)
