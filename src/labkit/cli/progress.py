"""`labkit progress`: my labs, exercises, points, and how well I know what I know."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.cli.common import console, emit_json
from labkit.contract.outcome import of_points
from labkit.course.prediction import BAND_CAPTION, BAND_COLUMNS, band_rows
from labkit.course.progress import LabProgress, Progress, course_progress, required_workspace, words
from labkit.course.progress_page import write_page

if TYPE_CHECKING:
    from rich.table import Table


def progress(
    page: Annotated[
        Path | None,
        typer.Option("--page", metavar="FILE", help="Write it as a page (HTML) to print or keep."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show every exercise of the workspace found from here upwards, and the next thing to do.

    The last answer counts; points are the notebook's word, the grade is the instructor's.
    """
    report = course_progress(required_workspace())
    if page is not None:
        write_page(report, page, date.today())
    if json:
        emit_json(report.to_json())
        return
    if page is not None:
        typer.echo(f"Written to {page}. {report.next_thing()}")
        return
    out = console()
    out.print(f"Learner {report.learner or 'unknown'}", markup=False)
    for lab in report.labs:
        out.print()
        out.print(_lab_table(lab))
        for said in lab.predictions:
            out.print(said, markup=False)
    _print_calibration(report)
    out.print()
    out.print(report.next_thing(), markup=False)


def _lab_table(lab: LabProgress) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    points, most = lab.points
    title = (
        f"Lab {lab.plan.number} · {lab.plan.title}: {lab.passed} of {len(lab.rows)} passed, "
        f"{of_points(points, most)}"
    )
    table = Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Exercise", no_wrap=True)
    table.add_column("Title")
    table.add_column("Status")
    table.add_column("Points", justify="right", no_wrap=True)
    table.add_column("Tries", justify="right", no_wrap=True)
    for row in lab.rows:
        cells = words(row)
        table.add_row(*(Text(cells[name]) for name in ("id", "title", "status", "points", "tries")))
    return table


def _print_calibration(report: Progress) -> None:
    from rich import box
    from rich.table import Table

    out = console()
    found = report.calibration
    out.print()
    if not found.missing:
        table = Table(title=BAND_CAPTION, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for name in BAND_COLUMNS:
            table.add_column(name, justify="right")
        for row in band_rows(found):
            table.add_row(*row)
        out.print(table)
    out.print(found.verdict, markup=False)
    if found.undecided:
        out.print(f"Predictions still open: {found.undecided}.", markup=False)
