"""The judge's access to the course: exercises, draws, verdicts. Tests bring another course."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from labkit.contract.answer import Wire
from labkit.contract.errors import LabkitError
from labkit.contract.givens import Givens
from labkit.contract.outcome import Outcome
from labkit.contract.probe import Probe
from labkit.contract.record import Record
from labkit.course.material import Material, load_material
from labkit.exercises import Exercise, givens_for, judge, probe_for
from labkit.exercises.registry import bench_of

Records = Mapping[str, Record]


class Examiner(Protocol):
    """What grading needs to know about a course."""

    def title(self, lab: str) -> str:
        """The lab's title. Raises LabkitError for a lab that does not exist."""

    def version(self, lab: str) -> str:
        """The course version that the lab's exercises belong to."""

    def exercises(self, lab: str) -> Mapping[str, Exercise]:
        """The lab's exercises in order. Raises LabkitError for a lab that does not exist."""

    def recording(self, name: str) -> Record | None:
        """The shipped recording that stands in for a measurement nobody handed in."""

    def bench_of(self, exercise: str) -> str | None:
        """The measurement that an exercise of whatever lab asks for; None where it asks none."""

    def givens(self, lab: str, exercise: Exercise, draw: str, records: Records) -> Givens:
        """The learner's givens. Raises LabkitError where a measurement is missing."""

    def probe(
        self, lab: str, exercise: Exercise, seeds: Sequence[bytes], records: Records
    ) -> Probe | None:
        """The calls that decide on a function; None for other kinds of answer."""

    def judge(
        self,
        lab: str,
        exercise: Exercise,
        answer: Wire,
        draw: str,
        records: Records,
        probe: Probe | None,
        results: Sequence[Wire] | None,
    ) -> Outcome:
        """The verdict on one answer."""


class CourseExaminer:
    """The course that ships with labkit, or another one's `load` of the same shape.

    Safe to use from several threads: one question is asked at a time.
    """

    def __init__(
        self,
        load: Callable[[str], Material] = load_material,
        recording: Callable[[str], Record] | None = None,
    ) -> None:
        self._load = load
        self._recording = recording
        self._labs: dict[str, Material] = {}
        self._recordings: dict[str, Record | None] = {}
        self._lock = threading.RLock()

    def _material(self, lab: str) -> Material:
        with self._lock:
            if lab not in self._labs:
                try:
                    self._labs[lab] = self._load(lab)
                except ModuleNotFoundError as error:
                    raise LabkitError(
                        f"Lab {lab} cannot be graded: this installation lacks {error.name}."
                    ) from None
            return self._labs[lab]

    def title(self, lab: str) -> str:
        """The lab's title from the curriculum."""
        return self._material(lab).plan.title

    def version(self, lab: str) -> str:
        """The course version from the curriculum."""
        return self._material(lab).version

    def exercises(self, lab: str) -> Mapping[str, Exercise]:
        """The exercises that the lab checks, in its order."""
        return self._material(lab).exercises

    def recording(self, name: str) -> Record | None:
        """The recording that ships with `bench`; None where there is none of that name.

        It is read once: a recording that is made anew meanwhile must not change or spoil the
        grades of those who come later.
        """
        from labkit.bench.records import recording

        with self._lock:
            if name not in self._recordings:
                try:
                    self._recordings[name] = (self._recording or recording)(name)
                except LabkitError:
                    self._recordings[name] = None
            return self._recordings[name]

    def bench_of(self, exercise: str) -> str | None:
        """The measurement that an exercise of any shipped lab asks for."""
        with self._lock:
            return bench_of(exercise)

    def givens(self, lab: str, exercise: Exercise, draw: str, records: Records) -> Givens:
        """The learner's givens on the pinned facts."""
        material = self._material(lab)
        with self._lock:
            return givens_for(exercise, material.facts, learner=draw, records=records)

    def probe(
        self, lab: str, exercise: Exercise, seeds: Sequence[bytes], records: Records
    ) -> Probe | None:
        """The calls on the pinned facts."""
        material = self._material(lab)
        with self._lock:
            return probe_for(exercise, material.facts, seeds, records=records)

    def judge(
        self,
        lab: str,
        exercise: Exercise,
        answer: Wire,
        draw: str,
        records: Records,
        probe: Probe | None,
        results: Sequence[Wire] | None,
    ) -> Outcome:
        """The verdict on the pinned facts."""
        material = self._material(lab)
        with self._lock:
            return judge(
                exercise, material.facts, answer,
                learner=draw, records=records, probe=probe, results=results,
            )  # fmt: skip
