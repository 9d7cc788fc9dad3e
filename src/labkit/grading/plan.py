"""Who handed in what: from found files to one task per learner and lab, with what is odd about it.

Identity is the folder's name, or the roster's learner for it. A notebook in no folder is its own
learner's; where two claim the same learner and lab, each goes by its file's name.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from labkit.grading.collect import Found
from labkit.grading.names import identity
from labkit.grading.submission import RefusedError, UnreadableError, parse, read_bytes

_NUMBERED = re.compile(r"^(.*?) ?\((\d+)\)$")


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to grade or to explain.

    `path` is None where nothing was handed in. `status` is "" while it is to be graded, else why
    it is not: missing, unreadable, refused. `notebook_learner` is the id that the notebook claims.
    `remarks` may be read by the learner; `private` ones name others and are the instructor's.
    """

    learner: str
    path: Path | None = None
    lab: str = ""
    sha256: str = ""
    notebook_learner: str = ""
    status: str = ""
    message: str = ""
    remarks: tuple[str, ...] = ()
    private: tuple[str, ...] = ()

    @property
    def stem(self) -> str:
        """Name of this task's files: the lab, or the file where there is no lab."""
        if self.lab and not self.status:
            return self.lab
        return f"not graded {self.path.name}" if self.path else "missing"


def make_plan(found: Sequence[Found], roster: Mapping[str, str] | None = None) -> list[Task]:
    """One task per learner and lab, sorted; every found file is in one of them or in a remark."""
    tasks = _named([_look(item) for item in found])
    if roster is not None:
        tasks = _by_roster(tasks, roster)
    tasks = _one_per_lab(tasks)
    tasks = _flag_shared(tasks)
    return sorted(tasks, key=lambda task: (task.learner, task.lab, str(task.path)))


def _look(found: Found) -> tuple[Task, bool]:
    """The task of one file, and whether it stands in no learner's folder."""
    loose = not found.owner
    owner = identity(found.owner or (found.path.stem if found.path else ""))
    if found.path is None or found.problem:
        message = found.problem or "holds no notebook"
        status = "missing" if found.path is None and not found.problem else "refused"
        return Task(owner, found.path, status=status, message=message), loose
    try:
        submission = parse(read_bytes(found.path))
    except RefusedError as error:
        return Task(owner, found.path, status="refused", message=str(error)), loose
    except UnreadableError as error:
        return Task(owner, found.path, status="unreadable", message=str(error)), loose
    claimed = submission.identity.learner
    task = Task(owner, found.path, submission.lab, submission.sha256, claimed)
    return task, loose


def _named(looked: Sequence[tuple[Task, bool]]) -> list[Task]:
    """Name loose notebooks by the learner they claim, where only one claims it."""
    claims = Counter((task.notebook_learner, task.lab) for task, loose in looked if loose)
    return [
        replace(task, learner=task.notebook_learner)
        if loose and task.notebook_learner and claims[task.notebook_learner, task.lab] == 1
        else task
        for task, loose in looked
    ]


def _by_roster(tasks: Iterable[Task], roster: Mapping[str, str]) -> list[Task]:
    listed = [_look_up(task, roster) for task in tasks]
    here = {task.learner for task in listed}
    absent = [name for name in roster.values() if name not in here]
    return [*listed, *(Task(n, status="missing", message="handed in nothing") for n in absent)]


def _look_up(task: Task, roster: Mapping[str, str]) -> Task:
    learner = roster.get(task.learner)
    if learner is None and task.learner in roster.values():
        learner = task.learner  # the folder carries the learner's own id
    if learner is None:
        return _privately(task, f"{task.learner!r} is not in the roster.")
    known = replace(task, learner=learner)
    if task.notebook_learner in ("", learner):
        return known
    return _privately(
        known, f"The roster says {learner!r}, the notebook {task.notebook_learner!r}."
    )


def _one_per_lab(tasks: Iterable[Task]) -> list[Task]:
    """Of several notebooks of one lab keep the last by name; "lab (2)" comes after "lab"."""
    groups: dict[tuple[str, str], list[Task]] = defaultdict(list)
    kept: list[Task] = []
    for task in tasks:
        if task.status or not task.lab:
            kept.append(task)
        else:
            groups[task.learner, task.lab].append(task)
    for group in groups.values():
        *others, last = sorted(group, key=lambda task: _order(task.path))
        names = ", ".join(str(other.path.name) for other in others if other.path)
        if others and last.path:
            said = f"{last.path.name} was graded, not {names}: one notebook a lab."
            last = replace(last, remarks=(said,))
        kept.append(last)
    return kept


def _order(path: Path | None) -> tuple[str, int, str]:
    if path is None:
        return "", 0, ""
    match = _NUMBERED.match(path.stem)
    stem, number = (match.group(1), int(match.group(2))) if match else (path.stem, 0)
    return stem, number, str(path)


def _flag_shared(tasks: Sequence[Task]) -> list[Task]:
    """Say aloud where two learners hand in under one id, or the same bytes."""
    owners: dict[tuple[str, str], set[str]] = defaultdict(set)
    for task in tasks:
        if task.lab and not task.status:
            owners["id", task.notebook_learner or "-"].add(task.learner)
            owners["bytes", task.sha256].add(task.learner)
    return [_flag(task, owners) for task in tasks]


def _flag(task: Task, owners: Mapping[tuple[str, str], set[str]]) -> Task:
    same_id = owners.get(("id", task.notebook_learner), set()) - {task.learner}
    same_bytes = owners.get(("bytes", task.sha256), set()) - {task.learner}
    if same_id:
        who = ", ".join(sorted(same_id))
        task = _privately(task, f"The learner id {task.notebook_learner!r} is also used by {who}.")
    if same_bytes:
        task = _privately(task, f"The same file was handed in by {', '.join(sorted(same_bytes))}.")
    return task


def _privately(task: Task, text: str) -> Task:
    return replace(task, private=(*task.private, text))
