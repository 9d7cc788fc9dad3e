"""`labkit lab [NN]`: JupyterLab on the workspace."""

from __future__ import annotations

from typing import Annotated

import typer

from labkit.cli.common import fail
from labkit.course import jupyter
from labkit.course.progress import required_workspace

MAX_PORT = 65_535


def lab(
    number: Annotated[
        str | None, typer.Argument(metavar="[NN]", help="The lab to open, such as 01.")
    ] = None,
    port: Annotated[
        int, typer.Option(help="Port to serve on; 0 takes any free one.")
    ] = jupyter.DEFAULT_PORT,
    browser: Annotated[
        bool | None,
        typer.Option("--browser/--no-browser", help="Open a browser.  [default: if there is one]"),
    ] = None,
) -> int:
    """Start JupyterLab in the workspace found from here upwards, print its address, open it.

    Ends with Ctrl-C.
    """
    if not 0 <= port <= MAX_PORT:
        fail(f"{port} is no port: use 0 (any free one) to {MAX_PORT}.")
    return jupyter.serve(required_workspace(), lab=number, port=port, browser=browser)
