"""The page that a learner gets back: one file, readable in any browser, on paper and aloud."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from labkit.contract.outcome import MARKS, Status
from labkit.grading.profile import Level
from labkit.grading.results import Result

if TYPE_CHECKING:
    from jinja2 import Template

_ISOLATION = {
    Level.FULL: "full: its own user, no network, no files but its own",
    Level.NAMESPACES: "namespaces: no network, no files but its own",
    Level.NONE: "none: this grade was made without a sandbox and is not to be relied on",
}
_STATUS = {
    "graded": "Graded. The notebook ran to its end.",
    "timeout": "The notebook ran out of time. What it had answered by then counts.",
    "memory": "The notebook used too much memory. What it had answered by then counts.",
    "processes": "The notebook started too many processes. What it had answered by then counts.",
    "crashed": "Python ended before the notebook did. What it had answered by then counts.",
    "flooded": "The notebook sent too much. What it had answered by then counts.",
    "missing": "Nothing was handed in.",
    "unreadable": "Not graded: the file could not be read.",
    "refused": "Not graded: the file was not opened.",
    "unknown lab": "Not graded: it is not known which lab this is.",
    "failed": "Not graded yet: something went wrong that is not your fault.",
}
# Where to look again: what a person does next, by what came of the exercise.
_REREAD = {
    Status.FAILED: 'Read lab.hint("{id}") in the lab, correct the cell and check it again.',
    Status.ERROR: "Run the lab from top to bottom in a fresh kernel: the first error is the one.",
    Status.NOT_ATTEMPTED: 'lab.hint("{id}") helps to begin; hints are free.',
}


def page(result: Result) -> str:
    """The feedback on one result as an HTML document. All text in it is escaped."""
    outcomes = [_outcome(data) for data in result.outcomes]
    counts = {mark: sum(o["mark"] == mark for o in outcomes) for mark in MARKS.values()}
    return _template().render(
        result=result,
        heading=f"Lab {result.lab}: {result.title}" if result.title else "Feedback",
        status=_STATUS.get(result.status, result.status),
        outcomes=outcomes,
        counts={mark: n for mark, n in counts.items() if n},
        isolation=_ISOLATION[Level(result.origin.isolation)],
        unsafe=result.origin.isolation == Level.NONE,
    )


def _outcome(data: dict[str, Any]) -> dict[str, Any]:
    status = Status(data["status"])
    return {
        **data,
        "state": status.value.replace(" ", "-"),
        "mark": MARKS[status],
        "read": data["shown"] if status is not Status.NOT_ATTEMPTED else "",
        "again": _REREAD.get(status, "").format(id=data["exercise"]),
    }


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("labkit.grading", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("feedback.html.j2")
