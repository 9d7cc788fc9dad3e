"""One submission with everything that its judging needs: draws, records, hidden probes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from labkit.contract.answer import Wire
from labkit.contract.errors import LabkitError
from labkit.contract.paths import answer_cell
from labkit.contract.probe import Probe
from labkit.contract.record import Record
from labkit.course.identity import Identity
from labkit.exercises import Exercise
from labkit.grading.examiner import Examiner
from labkit.grading.forbidden import forbidden_use
from labkit.grading.keys import Key
from labkit.grading.submission import Submission
from labkit.runner.job import Job, Limits

_CARRY = re.compile(r"""\bcarry\(\s*["']([0-9]{1,2}\.[0-9]{1,2})["']""")
MAX_CARRIES = 32


class Case:
    """One submission with everything that its judging needs, worked out once."""

    def __init__(
        self, submission: Submission, numbers: Identity, examiner: Examiner, key: Key
    ) -> None:
        self.submission = submission
        self.numbers = numbers
        self.examiner = examiner
        self.exercises = examiner.exercises(submission.lab)
        self.records = _records(self.exercises.values(), submission, examiner)
        self.probes = self._hidden_probes(key)
        self._sources = [cell.source for cell in submission.cells]

    def job(self, limits: Limits) -> Job:
        """What the sandbox is told: nothing that helps to pass."""
        return Job(
            lab=self.submission.lab,
            learner=self.numbers.learner,
            cells=self.submission.cells,
            givens={name: self._givens(exercise) for name, exercise in self.exercises.items()},
            probed=frozenset(self.probes),
            records={name: record.to_json() for name, record in self.submission.records.items()},
            carried=self._carried(),
            seed=int(self.submission.sha256[:8], 16),
            limits=limits,
        )

    def _carried(self) -> dict[str, Wire]:
        """What the notebook's calls of `lab.carry` bring from other labs, as far as it is there.

        A measurement is the record in the notebook, else the shipped recording.
        """
        found = dict(self.submission.carried)
        asked = {name for source in self._sources for name in _CARRY.findall(source)}
        for name in sorted(asked - self.exercises.keys())[:MAX_CARRIES]:
            bench = self.examiner.bench_of(name)
            if bench is not None:
                record = self.submission.records.get(bench) or self.examiner.recording(bench)
                if record is not None:
                    found[name] = {"kind": "record", "record": record.to_json()}
        return found

    def _givens(self, exercise: Exercise) -> object:
        draw = self.numbers.draw(exercise.id)
        try:
            return self.examiner.givens(self.submission.lab, exercise, draw, self.records).to_json()
        except LabkitError:
            return None  # its measurement is missing; judging says so

    def _hidden_probes(self, key: Key) -> dict[str, Probe]:
        found: dict[str, Probe] = {}
        for name, exercise in self.exercises.items():
            seeds = key.seeds(self.submission.sha256, name)
            try:
                probe = self.examiner.probe(self.submission.lab, exercise, seeds, self.records)
            except LabkitError:
                continue  # as above
            if probe is not None:
                found[name] = replace(probe, hidden=True)
        return found

    def forbidden(self, exercise: Exercise) -> str | None:
        """The module that the answer uses although it may not; None where it uses none."""
        if not exercise.forbids:
            return None
        own = answer_cell(exercise.id)
        starts = [i for i, cell in enumerate(self.submission.cells) if cell.id.startswith(own)]
        return forbidden_use(self._sources, starts, [exercise.answer_name], exercise.forbids)


def _records(
    exercises: Iterable[Exercise], submission: Submission, examiner: Examiner
) -> dict[str, Record]:
    """The learner's own measurements, and recordings in place of those that are not there."""
    needed = {name for exercise in exercises for name in exercise.needs}
    stand_ins = {name: examiner.recording(name) for name in needed - submission.records.keys()}
    found = {name: record for name, record in stand_ins.items() if record is not None}
    return {**found, **submission.records}
