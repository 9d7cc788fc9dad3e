"""Grades a whole class: each submission on its own, resumable, nothing lost and nothing twice."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace

from labkit.contract.errors import LabkitError
from labkit.grading.examiner import Examiner
from labkit.grading.feedback import page
from labkit.grading.judge import Verdict, judge_submission
from labkit.grading.keys import Key
from labkit.grading.plan import Task
from labkit.grading.results import Folder, Origin, Result, outcome_json, read_result, write
from labkit.grading.sandbox import Sandbox
from labkit.grading.submission import Submission, UnreadableError, numbers_of, parse, read_bytes
from labkit.runner.job import Limits

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Batch:
    """Everything that one grading run works with."""

    examiner: Examiner
    sandbox: Sandbox
    key: Key
    folder: Folder
    limits: Limits = field(default_factory=Limits)
    jobs: int = 1

    def run(
        self, tasks: Sequence[Task], told: Callable[[Result], None] = lambda _result: None
    ) -> list[Result]:
        """Grade every task and write its files; `told` hears of each as it is done.

        A result that was written before from the same origin is not made again.
        """
        self._sweep()
        pool = ThreadPoolExecutor(self.jobs, thread_name_prefix="grade")
        results = []
        try:
            for result in pool.map(self._one, tasks):
                told(result)
                results.append(result)
        finally:
            pool.shutdown(cancel_futures=True)  # Ctrl-C ends what runs and starts nothing more
        self.folder.write_grades(results)
        return results

    def _sweep(self) -> None:
        """Remove what a killed run was just writing."""
        for part in self.folder.root.rglob(".*.part"):
            part.unlink(missing_ok=True)

    def _one(self, task: Task) -> Result:
        try:
            result = self._grade(task)
        except Exception:
            log.exception("grading %s failed", task.path)
            result = self._ungraded(
                task, "failed", "labkit could not grade this notebook; that is not your fault."
            )
        self.folder.write_result(result)
        write(self.folder.feedback(result.learner, result.stem), page(result))
        if result.graded:
            self.folder.forget(result.learner, replace(task, status="failed").stem)
        return result

    def _grade(self, task: Task) -> Result:
        if task.status or task.path is None:
            return self._ungraded(task, task.status, task.message)
        try:
            submission = parse(read_bytes(task.path))
            if submission.sha256 != task.sha256:
                raise UnreadableError("was changed while it was being graded")
        except (UnreadableError, LabkitError) as error:
            return self._ungraded(task, "unreadable", str(error))
        if not submission.lab:
            return self._ungraded(
                task, "unknown lab", "does not say which lab it is: start from a fresh lab notebook"
            )
        try:
            version = self.examiner.version(submission.lab)
        except LabkitError as error:
            return self._ungraded(task, "unknown lab", str(error))
        return self._graded(task, submission, version)

    def _graded(self, task: Task, submission: Submission, version: str) -> Result:
        numbers, guess = numbers_of(submission, task.learner)
        origin = Origin(
            submission_sha256=submission.sha256,
            numbers_of=numbers.learner,
            course_version=version,
            key_fingerprint=self.key.fingerprint,
            isolation=self.sandbox.level.value,
        )
        known = read_result(self.folder.result(task.learner, task.stem), origin)
        if known is not None and known.learner == task.learner:
            return replace(known, remarks=task.remarks, private=task.private)
        verdict = judge_submission(
            submission, numbers,
            examiner=self.examiner, sandbox=self.sandbox, key=self.key, limits=self.limits,
        )  # fmt: skip
        if verdict.status == "not started":
            log.error("the sandbox did not start for %s: %s", task.path, verdict.detail)
            return self._ungraded(
                task, "failed", "the sandbox did not start; grade this notebook again"
            )
        return _result(task, origin, self.examiner.title(submission.lab), verdict, [
            *([guess] if guess else []), *_version_warning(submission.course_version, version),
        ])  # fmt: skip

    def _ungraded(self, task: Task, status: str, message: str) -> Result:
        origin = Origin(task.sha256, "", "", self.key.fingerprint, self.sandbox.level.value)
        name = f"{task.path.name} " if task.path and not message[:1].isupper() else ""
        text = f"{name}{message}".rstrip(".") + "."
        text = text[:1].upper() + text[1:] if not name else text
        return Result(
            learner=task.learner,
            lab=task.lab,
            status=status,
            origin=origin,
            stem=replace(task, status=status).stem,
            remarks=task.remarks,
            private=task.private,
            warnings=(text,),
            message=text,
        )


def _result(
    task: Task, origin: Origin, title: str, verdict: Verdict, warnings: Iterable[str]
) -> Result:
    return Result(
        learner=task.learner,
        lab=task.lab,
        status=verdict.status,
        origin=origin,
        stem=task.stem,
        title=title,
        outcomes=tuple(outcome_json(outcome) for outcome in verdict.outcomes),
        errors=tuple(asdict(error) for error in verdict.errors),
        warnings=(*warnings, *verdict.warnings),
        remarks=task.remarks,
        private=task.private,
    )


def _version_warning(theirs: str, ours: str) -> list[str]:
    if theirs == ours:
        return []
    said = f"is from course version {theirs}" if theirs else "names no course version"
    return [f"The notebook {said}; it is graded by version {ours}, exercise by exercise."]
