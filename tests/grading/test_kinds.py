"""Classes, arrays, memory limits, intervals and decisions in the real sandbox, on toy exercises."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from labkit.contract import Code, Status
from labkit.exercises import Exercise, Facts, givens_for
from labkit.grading.sandbox import Sandbox
from labkit.runner.job import Limits
from tests.exercises import toy_answers as toys
from tests.exercises import toy_machines as machines
from tests.grading.toy_lab import LAB, VERSION, code_cell, examiner, hand_in, record_output

pytestmark = pytest.mark.sandbox

EXERCISES = (
    machines.ALLOCATOR_EXERCISE,
    machines.BATCHER_EXERCISE,
    toys.INT8_EXERCISE,
    toys.PROPERTY_EXERCISE,
    toys.ATTENTION_EXERCISE,
    toys.INTERVAL_EXERCISE,
    toys.DECISION_EXERCISE,
)
BY_ID: Mapping[str, Exercise] = {exercise.id: exercise for exercise in EXERCISES}
SOURCES: Mapping[str, Mapping[Code, str]] = {
    "90.1": machines.ALLOCATOR_MISTAKES,
    "90.2": machines.BATCHER_MISTAKES,
    "90.3": toys.INT8_MISTAKES,
    "90.4": {Code.TRUNCATED: toys.COARSE.replace("np.round", "np.trunc")},
    "90.5": toys.ATTENTION_MISTAKES,
}
RECORD = toys.pairs_record()


def typed(exercise: Exercise, value: Any) -> str:
    return f"{exercise.answer_name} = {value!r}"


def right() -> dict[str, str]:
    answers = {number: e.solution for number, e in BY_ID.items() if e.solution}
    for number in ("90.6", "90.7"):
        g = givens_for(BY_ID[number], Facts.load(), learner="x", records={"speed": RECORD})
        answers[number] = typed(BY_ID[number], BY_ID[number].reference(g))
    return answers


def wrong(number: str) -> list[tuple[Code, str]]:
    if number in SOURCES:
        return list(SOURCES[number].items())
    g = givens_for(BY_ID[number], Facts.load(), learner="x", records={"speed": RECORD})
    return [(m.code, typed(BY_ID[number], m.value(g))) for m in BY_ID[number].mistakes]


def notebook(answers: Mapping[str, str], learner: str) -> dict[str, Any]:
    setup = f"from labkit import Lab\nlab = Lab('{LAB}')"
    cells = [code_cell("setup", setup, [record_output(RECORD)])]
    for number, source in answers.items():
        stem = f"ex-{number.replace('.', '-')}"
        cells.append(code_cell(f"{stem}-answer", source))
        check = f'lab.check("{number}", {BY_ID[number].answer_name})'
        cells.append(code_cell(f"{stem}-check", check))
    mine = {"schema": 1, "lab": LAB, "course_version": VERSION, "learner": learner}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"labkit": mine}, "cells": cells}


def test_right_answers_earn_everything_and_stubs_nothing(tmp_path, grade, outcomes) -> None:
    hand_in(tmp_path / "in" / "ann", notebook(right(), "ann"))
    stubs = {number: exercise.stub for number, exercise in BY_ID.items()}
    hand_in(tmp_path / "in" / "bob", notebook(stubs, "bob"))
    # A blank that is run again after the answer does not undo it.
    again = notebook(right(), "cid")
    again["cells"] += [c for c in notebook(stubs, "cid")["cells"] if c["id"] != "setup"]
    for cell in again["cells"][len(BY_ID) * 2 + 1 :]:
        cell["id"] += "-again"
    hand_in(tmp_path / "in" / "cid", again)
    grade(examiner=examiner(EXERCISES))
    for learner, status in (
        ("ann", Status.PASSED),
        ("bob", Status.NOT_ATTEMPTED),
        ("cid", Status.PASSED),
    ):
        found = outcomes(learner)
        assert {n: o["status"] for n, o in found.items()} == dict.fromkeys(BY_ID, status), found


def test_every_known_mistake_is_told_without_a_word_of_the_hidden_script(
    tmp_path, grade, outcomes
) -> None:
    most = max(len(wrong(number)) for number in BY_ID)
    expected: dict[str, dict[str, Code]] = {}
    for i in range(most):
        learner = f"mistaken-{i}"
        answers, told = right(), {}
        for number in BY_ID:
            if i < len(wrong(number)):
                told[number], answers[number] = wrong(number)[i]
        hand_in(tmp_path / "in" / learner, notebook(answers, learner))
        expected[learner] = told
    grade(examiner=examiner(EXERCISES))
    for learner, told in expected.items():
        found = outcomes(learner)
        for number, exercise in BY_ID.items():
            got = found[number]
            if number not in told:
                assert got["status"] == Status.PASSED, (learner, got)
                continue
            says = next(m.says for m in exercise.mistakes if m.code is told[number])
            assert (got["status"], got["code"]) == (Status.FAILED, told[number]), (learner, got)
            assert got["message"] == says
            if exercise.kind.name == "machine":
                assert got["shown"].startswith("breaks at ")
                assert "→" not in got["shown"]


def step(body: str) -> str:
    """A batcher whose step does this first."""
    return machines.BATCHER.replace("        made = list", f"{body}\n        made = list")


def alloc(body: str) -> str:
    """An allocator that, in place of what it took, does this."""
    return machines.ALLOCATOR.replace("        return taken", body)


ATTACKS: Mapping[str, tuple[str, str, Code, str]] = {
    "loops": (
        "90.2",
        step("        while True: pass"),
        Code.NO_END,
        "operation 4 of 9, step()",
    ),
    "loops late": (
        "90.1",
        alloc(
            "        self.n = getattr(self, 'n', 0) + 1\n"
            "        while self.n > 300: pass\n        return taken",
        ),
        Code.NO_END,
        "alloc()",
    ),
    "loops in C": (
        "90.2",
        step("        sum(iter(int, 1))"),
        Code.NO_END,
        "",
    ),
    "sleeps": (
        "90.2",
        step("        import time; time.sleep(1e6)"),
        Code.NO_END,
        "",
    ),
    "swallows everything": (
        "90.2",
        step(
            "        while True:\n            try:\n                while True: pass\n"
            "            except BaseException: pass"
        ),
        Code.NO_END,
        "",
    ),
    "ten gigabytes": (
        "90.1",
        alloc("        return [0] * 1_300_000_000"),
        Code.MEMORY_LIMIT,
        "operation 1 of 2",
    ),
    "a thousand million": (
        "90.1",
        alloc("        return range(10**9)"),
        Code.TYPE,
        "operation 1 of 2",
    ),
    "junk in junk": (
        "90.1",
        alloc(
            "        x = []\n        for _ in range(99999): x = [x]\n        return x",
        ),
        Code.TYPE,
        "operation 1 of 2",
    ),
    "not a number": (
        "90.1",
        alloc("        return [float('nan')]"),
        Code.TYPE,
        "operation 1 of 2",
    ),
    "exits": (
        "90.1",
        alloc("        import os; os._exit(0)"),
        Code.RAISES,
        "",
    ),
    "tells what it saw": (
        "90.1",
        alloc("        raise ValueError((seq, tokens))"),
        Code.RAISES,
        "operation 1 of 2",
    ),
    "stops the tracing": (
        "90.5",
        "import tracemalloc\ntracemalloc.start = lambda *a: None\n"
        "tracemalloc.get_traced_memory = lambda: (0, 0)\n"
        + toys.ATTENTION_MISTAKES[Code.MEMORY_LIMIT],
        Code.MEMORY_LIMIT,
        "",
    ),
    "raises its own limit": (
        "90.5",
        toys.ATTENTION_MISTAKES[Code.MEMORY_LIMIT].replace(
            "    out =",
            "    import resource\n"
            "    try:\n        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))\n"
            "    except ValueError: pass\n    out =",
        ),
        Code.MEMORY_LIMIT,
        "",
    ),
}


def test_attacks_cost_their_own_exercise_and_nothing_else(
    tmp_path: Path, grade, outcomes, sandbox: Sandbox
) -> None:
    honest = {k: v for k, v in right().items() if k != "90.5"}  # it takes seconds on its own
    for name, (number, source, _code, _shown) in ATTACKS.items():
        learner = name.replace(" ", "-")
        hand_in(tmp_path / "in" / learner, notebook({**honest, number: source}, learner))
    grade(examiner=examiner(EXERCISES), limits=Limits(probe_s=3.0))
    for name, (number, _source, code, shown) in ATTACKS.items():
        found = outcomes(name.replace(" ", "-"))
        got = found.pop(number)
        found.pop("90.5", None)
        assert (got["status"], got["code"]) == (Status.FAILED, code), (name, got)
        assert shown in got["shown"], (name, got)
        assert {o["status"] for o in found.values()} == {Status.PASSED}, (name, found)


def test_forged_results_are_judged_as_data(tmp_path, grade, outcomes) -> None:
    """Lines of one's own on descriptor 3: nested junk, too many, results after the end."""
    forge = (
        "import json, os\n"
        "def say(**m): os.write(3, (json.dumps(m) + '\\n').encode())\n"
        "say(t='answer', id='90.1', cell='x', answer={'kind': 'function'})\n"
        "for _ in range(40):\n"
        "    say(t='results', id='90.1', n=1, more=True, results=[{'kind': 'plain'}] * 9000)\n"
        "say(t='results', id='90.1', n=1, results=[{'kind': ['new'], 'value': [[1]]}])\n"
        "say(t='results', id='90.1', n=1, results=[{'kind': 'plain', 'value': []}])\n"
    )
    answers = {k: v for k, v in right().items() if k != "90.1"}
    book = notebook(answers, "eve")
    book["cells"].append(code_cell("forge", forge))
    hand_in(tmp_path / "in" / "eve", book)
    grade(examiner=examiner(EXERCISES))
    found = outcomes("eve")
    assert found.pop("90.1")["status"] == Status.FAILED
    assert {o["status"] for o in found.values()} == {Status.PASSED}
