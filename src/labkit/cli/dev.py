"""`labkit dev build|check`: for authors, in a clone."""

from __future__ import annotations

from typing import Annotated

import typer

from labkit.cli.common import emit_json, fail
from labkit.course import notebooks
from labkit.course.build import build as build_lab
from labkit.course.build import read_source, stale
from labkit.course.execute import execute
from labkit.course.manifest import LabPlan, load_manifest
from labkit.course.material import load_material
from labkit.course.proof import SEEDS, prove
from labkit.course.resources import Resources, resources

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

MAX_SEEDS = 10_000
_Lab = Annotated[str | None, typer.Option(metavar="NN", help="One lab only, such as 01.")]


@app.command()
def build(
    lab: _Lab = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 if files are out of date.")
    ] = False,
    run: Annotated[
        bool, typer.Option("--execute/--no-execute", help="Execute the solution, in replay.")
    ] = True,
) -> int:
    """Write each lab, blank, and its solution, executed, from solutions/NN_name.py."""
    shipped, plans = _plans(lab)
    late = 0
    for plan in plans:
        built = build_lab(load_material(plan.number), read_source(shipped.solutions, plan))
        if check:
            for sentence in stale(built, shipped.labs, shipped.solutions):
                typer.echo(sentence)
                late += 1
            continue
        notebooks.write(shipped.labs / plan.file, built.blank)
        typer.echo(f"labs/{plan.file}: {len(built.cells)} cells.")
        if run:
            typer.echo(f"solutions/{plan.file}: executing …")
            notebooks.write(shipped.solutions / plan.file, execute(built.solved, plan.file))
    if late:
        typer.echo("Run `labkit dev build` and commit what it writes.")
    elif check:
        typer.echo(f"Up to date: {', '.join(plan.file for plan in plans)}.")
    return 1 if late else 0


@app.command()
def check(
    lab: _Lab = None,
    seeds: Annotated[int, typer.Option(help="Learners whose numbers are tried.")] = SEEDS,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Prove every exercise: its solution passes, its blank does not, each mistake is diagnosed."""
    if not 1 <= seeds <= MAX_SEEDS:
        fail(f"--seeds is a number of learners from 1 to {MAX_SEEDS:,}, not {seeds}.")
    shipped, plans = _plans(lab)
    reports = [
        prove(load_material(plan.number), shipped.labs, shipped.solutions, seeds=seeds)
        for plan in plans
    ]
    if json:
        emit_json([report.to_json() for report in reports])
    else:
        for report in reports:
            tried = (
                f"{report.exercises} exercises, {report.seeds} learners, "
                f"{report.checks:,} answers judged"
            )
            count = len(report.findings)
            verdict = "proven" if report.proven else f"{count} finding{'s' if count != 1 else ''}"
            typer.echo(f"Lab {report.lab}: {verdict} ({tried}).")
            for where, says in report.findings:
                typer.echo(f"  {where}: {says}")
    return 0 if all(report.proven for report in reports) else 1


def _plans(lab: str | None) -> tuple[Resources, tuple[LabPlan, ...]]:
    shipped = resources()
    manifest = load_manifest(shipped.manifest)
    _ = shipped.solutions  # outside a clone there is nothing to build: say so first
    return shipped, (manifest.lab(lab),) if lab is not None else manifest.labs
