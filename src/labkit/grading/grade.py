"""The whole of `labkit grade` behind one call: collect, plan, open the sandbox, grade, write."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from labkit.contract.errors import LabkitError
from labkit.grading.batch import Batch
from labkit.grading.collect import collect
from labkit.grading.examiner import CourseExaminer, Examiner
from labkit.grading.keys import load_key
from labkit.grading.plan import make_plan
from labkit.grading.profile import Level
from labkit.grading.results import Folder, Result
from labkit.grading.roster import load_roster
from labkit.grading.sandbox import Sandbox, open_sandbox
from labkit.runner.job import Limits


@dataclass(frozen=True, slots=True)
class Report:
    """What a grading run gave: a result per learner and lab, and remarks about the folder."""

    results: list[Result]
    remarks: list[str]
    level: Level
    grades: Path

    @property
    def troubled(self) -> list[Result]:
        """Results that nobody could grade although something was handed in."""
        return [r for r in self.results if not r.graded and r.status != "missing"]


def grade(
    submissions: Path,
    out: Path,
    *,
    key_file: Path | None = None,
    jobs: int = 1,
    roster_file: Path | None = None,
    unsafe: bool = False,
    examiner: Examiner | None = None,
    sandbox: Sandbox | None = None,
    limits: Limits = Limits(),  # noqa: B008  # frozen
    told: Callable[[Result, int], None] = lambda _result, _total: None,
) -> Report:
    """Grade what stands at `submissions` and write gradebook, results and feedback to `out`.

    `examiner` and `sandbox` default to the course that ships with labkit and to what this machine
    offers; a sandbox that is handed in stays open.

    Raises LabkitError with one sentence where it cannot begin: no submissions, no isolation, an
    unreadable key or roster, an output folder inside the submissions.
    """
    _apart(submissions, out)
    found, remarks = collect(submissions)
    roster = load_roster(roster_file) if roster_file else None
    tasks = make_plan(found, roster)
    try:
        out.mkdir(parents=True, exist_ok=True)
        key = load_key(key_file, out)
    except OSError as error:
        raise LabkitError(f"The output folder {out} cannot be written: {error.strerror}.") from None
    hidden = [submissions.resolve(), out.resolve(), *([key_file.resolve()] if key_file else [])]
    opened: AbstractContextManager[Sandbox]
    opened = nullcontext(sandbox) if sandbox else open_sandbox(unsafe=unsafe, hidden=hidden)
    with opened as used:
        batch = Batch(examiner or CourseExaminer(), used, key, Folder(out), limits, jobs)
        results = batch.run(tasks, lambda result: told(result, len(tasks)))
        return Report(results, remarks, used.level, out / "grades.csv")


def _apart(submissions: Path, out: Path) -> None:
    """Output among the submissions would be graded the next time."""
    inner, outer = out.resolve(), submissions.resolve()
    if inner.is_relative_to(outer) or outer.is_relative_to(inner):
        raise LabkitError(
            f"The output folder {out} and the submissions {submissions} must not lie in each other."
        )
