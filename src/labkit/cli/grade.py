"""`labkit grade`: submissions in, gradebook and feedback out."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labkit.cli.common import console, emit_json, fail

if TYPE_CHECKING:
    from labkit.grading.grade import Report
    from labkit.grading.results import Result

_SHOWN = 40


def grade(
    submissions: Annotated[
        Path, typer.Argument(help="A folder per learner, a folder of notebooks, or one notebook.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Folder for grades, results and feedback.")],
    key: Annotated[
        Path | None,
        typer.Option("--key", help="File with your secret; without it OUT/key is made and reused."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", help="Notebooks at a time; 0: one per CPU.")] = 0,
    roster: Annotated[
        Path | None, typer.Option("--roster", help="CSV with the columns lms_id,learner.")
    ] = None,
    unsafe: Annotated[
        bool,
        typer.Option(
            "--unsafe-no-sandbox",
            help="Run notebooks as yourself, with your files, key and network. "
            "Marks every grade. Only for notebooks that you trust.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Grade submissions in a sandbox and write grades.csv, results/ and feedback/ to OUT.

    Run it again to go on after an interruption: what is graded is not graded twice (delete a
    learner's folder in results/ to have it graded anew). Exit code 1 says that some submissions
    could not be graded; they are listed, and have a row and a page.
    """
    from labkit.bench.hardware import cores_available
    from labkit.grading.grade import grade as run
    from labkit.grading.sandbox import UNSAFE_WORDS

    if jobs < 0:
        fail(f"--jobs {jobs} is not possible: give 1 or more, or 0 for one per CPU.")
    if unsafe:
        print(f"WARNING: {UNSAFE_WORDS} Every grade is marked.", file=sys.stderr)
    told = _Ticker()
    report = run(
        submissions, out,
        key_file=key, jobs=jobs or cores_available(), roster_file=roster,
        unsafe=unsafe, told=told,
    )  # fmt: skip
    if json:
        emit_json(_as_json(report))
    else:
        _show(report)
    return 1 if report.troubled else 0


class _Ticker:
    """One line on standard error per submission."""

    def __init__(self) -> None:
        self._done = 0

    def __call__(self, result: Result, total: int) -> None:
        self._done += 1
        points = f"{result.points:g}/{result.max_points:g}" if result.graded else ""
        line = f"[{self._done}/{total}] {result.learner} {result.lab} {result.status} {points}"
        print(line.rstrip(), file=sys.stderr)


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "isolation": report.level.value,
        "grades": str(report.grades),
        "counts": dict(Counter(result.status for result in report.results)),
        "remarks": report.remarks,
        "rows": [result.row() for result in report.results],
    }


def _show(report: Report) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    out = console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("Learner", "Lab", "Points", "Percent", "Status", "Warnings"):
        table.add_column(name, justify="right" if name in ("Points", "Percent") else "left")
    for result in report.results[:_SHOWN]:
        warnings = len(result.private) + len(result.remarks) + len(result.warnings)
        cells = (
            result.learner,
            result.lab or "–",
            f"{result.points:g} of {result.max_points:g}" if result.graded else "–",
            f"{result.percent:g}",
            result.status,
            str(warnings) if warnings else "",
        )
        table.add_row(*(Text(cell) for cell in cells))
    out.print(table)
    if len(report.results) > _SHOWN:
        out.print(f"… and {len(report.results) - _SHOWN} more in {report.grades}.", markup=False)
    counts = Counter(result.status for result in report.results)
    summary = ", ".join(f"{n} {status}" for status, n in counts.most_common())
    out.print(
        f"{summary}. Isolation: {report.level.value}. Gradebook: {report.grades}", markup=False
    )
    for line in report.remarks:
        out.print(f"Passed over: {line}", markup=False)
    for result in report.troubled:
        out.print(f"Not graded: {result.learner}: {result.message}", markup=False)
