"""The recordings that stand in for a class's missing measurements."""

from __future__ import annotations

import pytest

from labkit.contract import LabkitError, Record
from labkit.course.manifest import load_manifest
from labkit.course.resources import resources
from labkit.exercises import load
from labkit.grading.examiner import CourseExaminer
from tests.grading.toy_lab import RECORDING

LABS = [
    plan.number
    for plan in load_manifest(resources().manifest).labs
    if any(exercise.needs for exercise in load(plan.number).values())
]


@pytest.mark.parametrize("there", [True, False])
def test_a_recording_is_the_same_from_the_first_submission_to_the_last(there: bool) -> None:
    """A recording that is replaced, or gone, while a class is graded changes nobody's grade."""
    asked: list[str] = []

    def recording(name: str) -> Record:
        asked.append(name)
        if there is (len(asked) > 1):
            raise LabkitError("It is being made anew.")
        return RECORDING

    examiner = CourseExaminer(recording=recording)
    first = examiner.recording("machine")
    assert first is (RECORDING if there else None)
    assert all(examiner.recording("machine") is first for _ in range(3))
    assert asked == ["machine"]
    examiner.recording("decode")
    assert asked == ["machine", "decode"]


@pytest.mark.parametrize("lab", LABS)
def test_a_missing_measurement_is_asked_for_and_is_no_fault_of_ours(lab: str) -> None:
    """Grading takes the sentence for one exercise's outcome; anything else costs the submission."""
    examiner = CourseExaminer()
    for exercise in examiner.exercises(lab).values():
        if not exercise.needs:
            continue
        with pytest.raises(LabkitError, match="works on your own measurement"):
            examiner.givens(lab, exercise, "ada", {})
        with pytest.raises(LabkitError, match="works on your own measurement"):
            examiner.probe(lab, exercise, [b"seed"], {})
