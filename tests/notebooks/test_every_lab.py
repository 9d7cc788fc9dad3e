"""Every lab of course.toml from open to grade, in the real sandbox, as one class each.

A new lab is covered by being in the curriculum. Mistakes that are functions, classes or figures
are typed in `mistakes_labNN.py` beside this module.
"""

from __future__ import annotations

import pytest

from labkit.contract import Code, Status
from labkit.course.manifest import load_manifest
from labkit.course.resources import resources
from labkit.exercises import load
from labkit.grading.sandbox import Sandbox
from tests.notebooks.submissions import LEARNERS, Class, hand_in_a_class

pytestmark = pytest.mark.sandbox

GRADED = [
    plan.number for plan in load_manifest(resources().manifest).labs if load(plan.number).max_points
]


@pytest.fixture(scope="module", params=GRADED)
def handed_in(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox
) -> Class:
    folder = tmp_path_factory.mktemp(f"lab{request.param}")
    key = folder / "hidden.key"
    key.write_bytes(b"k" * 32)
    return hand_in_a_class(folder, request.param, sandbox, key)


def test_the_blank_lab_runs_to_its_end_and_earns_nothing(handed_in: Class) -> None:
    for who in LEARNERS:
        row = handed_in.row(f"blank-{who}")
        assert (row["status"], float(row["points"]), float(row["percent"])) == ("graded", 0, 0)
        found = handed_in.outcomes(f"blank-{who}")
        statuses = {number: outcome["status"] for number, outcome in found.items()}
        assert statuses == dict.fromkeys(handed_in.lab, Status.NOT_ATTEMPTED), found


def test_the_solved_lab_earns_everything(handed_in: Class) -> None:
    for who in LEARNERS:
        row = handed_in.row(f"solved-{who}")
        found = handed_in.outcomes(f"solved-{who}")
        rest = {number: o for number, o in found.items() if o["status"] != Status.PASSED}
        assert not rest
        assert set(found) == set(handed_in.lab)
        assert float(row["percent"]) == 100
        assert float(row["max_points"]) == handed_in.lab.max_points
        assert row["warnings"] == ""
        assert "Passed" in handed_in.page(f"solved-{who}")


def test_typed_constants_keep_the_personal_tier_and_fail_transfer(handed_in: Class) -> None:
    found = handed_in.outcomes("typed")
    assert handed_in.typed
    assert handed_in.constants
    for number in handed_in.typed:
        assert found[number]["status"] == Status.PASSED, found[number]
    for number in handed_in.constants:
        assert found[number]["status"] == Status.FAILED, found[number]


def test_another_learners_numbers_do_not_pass(handed_in: Class) -> None:
    found = handed_in.outcomes("copied")
    for number in handed_in.copied:
        assert found[number]["status"] == Status.FAILED, found[number]


def test_every_known_mistake_is_told(handed_in: Class) -> None:
    assert handed_in.untyped == []
    known = {(n, m.code) for n, exercise in handed_in.lab.items() for m in exercise.mistakes}
    seen: set[tuple[str, Code]] = set()
    for learner, told in handed_in.told.items():
        found = handed_in.outcomes(learner)
        for number, (code, says) in told.items():
            got = found[number]
            assert (got["status"], got["code"], got["message"]) == (Status.FAILED, code, says), got
            seen.add((number, code))
    assert len(seen) >= 0.8 * len(known)  # some numbers leave no room for a mistake
