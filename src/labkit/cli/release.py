"""`labkit release --out DIR`: the pack that an instructor gives to learners."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labkit.cli.common import emit_json
from labkit.course.release import CONTACT
from labkit.course.release import release as run_release


def release(
    out: Annotated[Path, typer.Option("--out", help="Folder for the pack; made if needed.")],
    contact: Annotated[
        str, typer.Option("--contact", help="Whom learners ask: one line on their sheet.")
    ] = CONTACT,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the learner pack: labs without answers, the wheel, a sheet, a lock, checksums.

    It comes as a folder and as a zip of it. Learners unpack it and need nothing else of yours.
    Nothing that lies in DIR is overwritten. With SOURCE_DATE_EPOCH set it is the same, byte for
    byte, each time.
    """
    made = run_release(out, contact=contact)
    if json:
        emit_json(
            {
                "folder": str(made.folder),
                "archive": str(made.archive),
                "version": made.version,
                "files": made.files,
            }
        )
        return
    typer.echo(made.version)
    typer.echo(f"  {made.archive}    give this to your learners")
    typer.echo(f"  {made.folder}    the same {made.files} files, to look at")
