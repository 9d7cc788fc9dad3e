"""`labkit reset NN[.n]`: a fresh copy of a lab, or one exercise from the start."""

from __future__ import annotations

from typing import Annotated

import typer

from labkit.course.progress import required_workspace
from labkit.course.reset import reset as run_reset


def reset(
    what: Annotated[
        str, typer.Argument(metavar="NN[.n]", help="A lab (01), or one exercise (1.4 or 01.4).")
    ],
) -> None:
    """Start a lab or an exercise again. What was there is kept in .labkit/backups/.

    A lab becomes a fresh copy. A personal exercise gets new numbers, which travel in the notebook.
    Save and close the notebook first, then reload it: saving an open one undoes the reset.
    """
    for sentence in run_reset(required_workspace(), what.strip()):
        typer.echo(sentence)
