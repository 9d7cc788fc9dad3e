"""`labkit engine list|install`: what can serve the small model here, and what must be fetched."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from labkit.bench.engine import environment, install
from labkit.bench.engine.status import EngineStatus, engine_status
from labkit.bench.progress import ProgressLine
from labkit.cli.common import console, emit_json

app = typer.Typer(
    help="Engines that serve the small model: what is here, and how to get the others.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.command("list")
def list_engines(
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """What is installed, what each needs, and what would be replayed instead."""
    found, old = engine_status(), environment.left_over()
    if as_json:
        engines = [asdict(status) for status in found]
        emit_json({"engines": engines, "left_over": [str(folder) for folder in old]})
        return
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("Engine", "What it is", "Here?", "If not"):
        table.add_column(heading, overflow="fold")
    for status in found:
        table.add_row(status.id, status.label, _here(status), status.remedy or "–")
    console().print(table)
    for folder in old:
        print(f"\nNo longer used since an update, some gigabytes that you may delete: {folder}")


@app.command("install")
def install_engine(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(environment.NAMES)}.")],
    prefix: Annotated[
        Path | None,
        typer.Option(
            help="A folder for all users of this machine: the engine there is read-only, and is "
            f"found where {environment.ENV_ENGINES} names the folder."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Make the environment of an engine; nothing happens when it is there already."""
    spec = environment.spec_for(name)
    root = prefix or environment.own_root()
    there = environment.read_environment(root.expanduser().absolute(), spec, prefix is not None)
    if there is None:
        print(install.announce(spec, root), file=sys.stderr)
    with ProgressLine() as line:
        found = install.install(name, prefix, line)
    if as_json:
        emit_json(_installed(found))
        return
    word = "was there already" if there else "is installed"
    print(f"{found.package} {found.version} {word}: {found.folder}")
    if prefix is not None:
        print(f"Learners find it with {environment.ENV_ENGINES}={prefix.expanduser().absolute()}")


def _here(status: EngineStatus) -> str:
    if not status.available:
        return "no, replayed" if status.replayed else "no"
    shared = ", shared" if status.shared else ""
    return f"yes ({status.version}{shared})" if status.version else "yes"


def _installed(found: environment.Installed) -> dict[str, Any]:
    return {
        "package": found.package,
        "version": found.version,
        "folder": str(found.folder),
        "gpu": found.gpu,
        "shared": found.shared,
    }
