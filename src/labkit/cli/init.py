"""`labkit init DIR`: a workspace for one learner, or new versions of its labs."""

from __future__ import annotations

import getpass
import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from labkit.contract.paths import (
    ENV_LEARNER,
    ENV_SETUP,
    LEARNER_FILE,
    STATE_DIR,
    valid_learner,
)
from labkit.course import workspace


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make.")],
    learner: Annotated[
        str | None,
        typer.Option(
            help="Your learner id, as your course knows you.  "
            f"[default: {ENV_LEARNER}, else your user name]"
        ),
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Bring an existing workspace's labs up to date.")
    ] = False,
) -> None:
    """Copy the labs into DIR and write the learner id into each; personal numbers come from it.

    With --update, notebooks that you changed are never overwritten: a new version is put beside.
    """
    made = (folder / STATE_DIR / LEARNER_FILE).exists()
    chosen = learner if learner is not None else ("" if made else _default_learner())
    if learner == "":
        raise workspace.WorkspaceError("The learner id is empty: give one with --learner ID.")
    deliveries = workspace.init(folder, chosen, update=update)
    owner = workspace.read_state(folder).learner
    typer.echo(f"{'Updated' if made else 'Made'} the workspace {folder} of learner {owner!r}.")
    if not made and learner is None:
        typer.echo("  Another id: remove the folder and give --learner ID.")
    for delivery in deliveries:
        typer.echo(f"  {delivery.sentence()}")
    if not os.environ.get(ENV_SETUP):  # `make lab` opens JupyterLab itself
        typer.echo(f"Next: cd {shlex.quote(str(folder))} && labkit lab")


def _default_learner() -> str:
    named = os.environ.get(ENV_LEARNER)
    if named:
        return named
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a container whose user has no name
        user = ""
    return user if valid_learner(user) else ""
