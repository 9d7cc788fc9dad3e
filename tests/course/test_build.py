from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.course import notebooks
from labkit.course.build import build, cell_ids, stale
from labkit.course.execute import ExecutionError, environment, execute
from labkit.course.source import BEGIN, END, SourceCell, SourceError, parse
from tests.course.toy import SOURCE, TOYS, material

TOY = material()


def texts(notebook: notebooks.Notebook) -> dict[str, str]:
    return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}


def test_the_blank_holds_stubs_and_the_solution_holds_solutions() -> None:
    built = build(TOY, SOURCE)
    blank, solved = texts(built.blank), texts(built.solved)
    assert list(blank) == list(solved)
    assert blank["ex-1-1-answer"] == "answer_1_1 = ...  # GB"
    assert solved["ex-1-1-answer"] == f"{BEGIN}\nanswer_1_1 = 2 * g.size\n{END}"
    assert blank["ex-1-1-check"] == solved["ex-1-1-check"] == 'lab.check("1.1", answer_1_1)'
    assert blank["ex-1-1-given"] == 'g = lab.given("1.1")\ng'
    assert blank["ex-1-1-statement"].startswith("### Exercise 1.1 · Toy 1.1\n\n*1 point · core")
    assert blank["ex-1-1-predict"] == 'lab.predict("1.1", ..., confidence=...)'
    assert solved["ex-1-1-predict"] == 'lab.predict("1.1", 80, confidence=90)'
    assert "ex-1-4-given" not in blank


def test_an_answer_with_a_body_keeps_what_stands_around_the_region() -> None:
    built = build(TOY, SOURCE)
    blank, solved = texts(built.blank)["ex-1-3-answer"], texts(built.solved)["ex-1-3-answer"]
    assert blank == f"import math\n{TOYS[2].stub}"
    assert solved.startswith(f"import math\n{BEGIN}\ndef double")


def test_no_text_of_a_solution_is_left_in_the_blank() -> None:
    raw = notebooks.dumps(build(TOY, SOURCE).blank).decode("utf-8")
    for secret in (BEGIN, END, "2 * g.size", "math.prod", 'answer_1_4 = \\"a\\"', "confidence=90"):
        assert secret not in raw
        assert secret in notebooks.dumps(build(TOY, SOURCE).solved).decode("utf-8")


def test_two_builds_are_the_same_bytes_and_valid_notebooks() -> None:
    one, two = build(TOY, SOURCE), build(TOY, SOURCE)
    for a, b in ((one.blank, two.blank), (one.solved, two.solved)):
        raw = notebooks.dumps(a)
        assert raw == notebooks.dumps(b)
        notebook = nbformat.reads(raw.decode("utf-8"), as_version=4)
        nbformat.validate(notebook)
        # What JupyterLab would write when it saves the notebook unchanged.
        assert nbformat.writes(notebook) + "\n" == raw.decode("utf-8")
    assert all(not cell.get("outputs") for cell in one.blank["cells"])
    assert one.blank["nbformat_minor"] == 5
    assert one.blank["metadata"]["labkit"] == {"schema": 1, "lab": "01", "course_version": "1"}


def test_an_inserted_cell_moves_no_other_sections_ids() -> None:
    before = texts(build(TOY, SOURCE).blank)
    longer = SOURCE.replace("# Some prose.", "# Some prose.\n\n# %%\nextra = 1\n\n# %%\nmore = 2")
    after = texts(build(TOY, longer).blank)
    assert [name for name in before if after.get(name) != before[name]] == [
        name for name in before if name.startswith("text-toy-lab-")
    ]


def test_check_and_answer_cells_carry_nbgraders_metadata() -> None:
    cells = {cell["id"]: cell for cell in build(TOY, SOURCE).blank["cells"]}
    check = cells["ex-1-3-check"]["metadata"]
    assert check["nbgrader"] == {
        "schema_version": 3,
        "grade_id": "ex-1-3-check",
        "grade": True,
        "locked": True,
        "solution": False,
        "task": False,
        "points": 2,
    }
    assert (check["deletable"], check["editable"]) == (False, False)
    answer = cells["ex-1-3-answer"]["metadata"]
    assert answer["nbgrader"] == {
        "schema_version": 3,
        "grade_id": "ex-1-3-answer",
        "grade": False,
        "locked": False,
        "solution": True,
        "task": False,
    }
    assert answer["labkit"] == {"exercise": "1.3", "role": "answer"}
    assert "editable" not in answer


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("# %% exercise 1.1", "# %% exercize 1.1", "did you mean exercise?"),
        ("# %% exercise 1.1", "# %% exercise", "needs an id"),
        ("# %% setup", "# %% setup 01", "takes no id"),
        ("# %% exercise 1.1\n", "# %% exercise 1.1\nx = 1\n", "must be empty"),
        ("# %% exercise 1.1\n", "# %% exercise 1.9\n", "does not have"),
        ("# %% exercise 1.1\n", "", "1.1 has 0 statement cells"),
        ("# %% exercise 1.1\n", "# %% exercise 1.1\n\n# %% check 1.1\n", "has 2 check cells"),
        ("# %% statement 1.3", "# %% exercise 1.3", "has 2 answer cells"),
        ('halfway = "here"', BEGIN, "belongs into an answer cell"),
        (END, "", "needs exactly one"),
        ("import math\n", f"import math\n{BEGIN}\n", "needs exactly one"),
        ("confidence=90", "", "needs value=… and confidence=…"),
        ("# %%\nhalfway", '# %% id="ex-1-1-check"\nhalfway', "two cells would have the id"),
        ("# %%\nhalfway", '# %% id="a b"\nhalfway', "is no cell id"),
    ],
)
def test_a_broken_source_is_one_sentence(old: str, new: str, words: str) -> None:
    assert old in SOURCE
    with pytest.raises(SourceError, match=re.escape(words)) as raised:
        build(TOY, SOURCE.replace(old, new, 1))
    assert "\n" not in str(raised.value)


def test_cells_in_another_order_than_the_curriculum_are_refused() -> None:
    lines = SOURCE.replace("exercise 1.1", "exercise X").replace("exercise 1.2", "exercise 1.1")
    with pytest.raises(SourceError, match="another order than in"):
        build(TOY, lines.replace("exercise X", "exercise 1.2"))
    swapped = SOURCE.replace("# %% check 1.3\n", "").replace(
        "# %% statement 1.3\n", "# %% statement 1.3\n\n# %% check 1.3\n"
    )
    with pytest.raises(SourceError, match="must come as statement, given, answer, check"):
        build(TOY, swapped)


def test_an_empty_source_is_refused() -> None:
    with pytest.raises(SourceError, match="has no cells"):
        parse("", "01_toy.py")


@given(st.lists(st.text(max_size=30), min_size=1, max_size=8))
@settings(deadline=None)
def test_ids_are_unique_whatever_headings_say(headings: list[str]) -> None:
    cells = [SourceCell(True, f"# {i} {text}") for i, text in enumerate(headings)]
    ids = cell_ids(cells, "x.py")
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", cell_id) for cell_id in ids)


def test_stale_files_are_named_with_their_cells(tmp_path: Path) -> None:
    labs, solutions = tmp_path / "labs", tmp_path / "solutions"
    labs.mkdir()
    solutions.mkdir()
    built = build(TOY, SOURCE)
    assert stale(built, labs, solutions) == [
        "labs/01_toy.ipynb is missing.",
        "solutions/01_toy.ipynb is missing.",
    ]
    notebooks.write(labs / "01_toy.ipynb", built.blank)
    notebooks.write(solutions / "01_toy.ipynb", built.solved)
    assert stale(built, labs, solutions) == []
    changed = build(TOY, SOURCE.replace('"here"', '"there"'))
    halfway = next(i for i, text in texts(built.blank).items() if "halfway" in text)
    assert stale(changed, labs, solutions) == [
        f"{folder}/01_toy.ipynb is not what its source gives: changed: {halfway}."
        for folder in ("labs", "solutions")
    ]
    (labs / "01_toy.ipynb").write_bytes(notebooks.dumps(built.blank) + b"\n")
    assert "the rest of the file does not" in stale(built, labs, solutions)[0]
    (solutions / "01_toy.ipynb").write_text("torn", "utf-8")
    assert "cannot be read as a notebook" in stale(built, labs, solutions)[1]


TELL = (
    "import os\n"
    'print(os.environ["LABKIT_REPLAY"], os.environ["LABKIT_LEARNER"], '
    '"LABKIT_WORKSPACE" in os.environ)'
)


def test_a_solution_is_executed_in_replay_and_keeps_its_outputs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LABKIT_WORKSPACE", "/somewhere")
    source = {**_bare(), "cells": [_code("a", TELL), _code("b", "40 + 2")]}
    one, two = execute(source, "x.ipynb"), execute(source, "x.ipynb")
    assert notebooks.dumps(one) == notebooks.dumps(two)
    assert one["cells"][0]["outputs"][0]["text"] == ["1 solution False\n"]
    assert one["cells"][1]["outputs"][0]["data"]["text/plain"] == ["42"]
    assert "version" not in json.dumps(one["metadata"]["language_info"])


def test_execution_prints_nothing_on_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    loud = 'import os\nprint("out")\nos.system("echo below")\nos.write(2, b"error stream")'
    done = execute({**_bare(), "cells": [_code("a", loud)]}, "x.ipynb")
    assert done["cells"][0]["outputs"]
    assert capfd.readouterr() == ("", "")


def test_a_kernel_that_dies_leaves_its_last_words() -> None:
    dying = 'import os\nos.write(2, b"no room left")\nos._exit(3)'
    with pytest.raises(ExecutionError, match=r"x\.ipynb: Kernel died; its kernel said: .*no room"):
        execute({**_bare(), "cells": [_code("a", dying)]}, "x.ipynb")


def test_a_solution_that_raises_is_one_sentence_with_its_cell() -> None:
    source = {**_bare(), "cells": [_code("fine", "1"), _code("bad", "1 / 0")]}
    with pytest.raises(ExecutionError, match=r"x.ipynb: cell 'bad' raised ZeroDivisionError"):
        execute(source, "x.ipynb")


def test_the_kernel_forgets_the_workspace() -> None:
    env = environment({"LABKIT_WORKSPACE": "w", "LABKIT_RUNNER": "1", "PATH": "p"})
    assert "LABKIT_WORKSPACE" not in env
    assert "LABKIT_RUNNER" not in env
    assert (env["PATH"], env["LABKIT_REPLAY"], env["LABKIT_LEARNER"]) == ("p", "1", "solution")


def _bare() -> notebooks.Notebook:
    return {k: v for k, v in build(TOY, SOURCE).solved.items() if k != "cells"}


def _code(cell_id: str, source: str) -> dict[str, object]:
    return {
        "cell_type": "code",
        "id": cell_id,
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }
