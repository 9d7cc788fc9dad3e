"""What every command shares: consoles, JSON on standard output, one-sentence errors.

Results go to standard output, errors and progress to standard error. Colour is never the only
carrier of a meaning; it disappears when output is piped or NO_COLOR is set.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from labkit.contract.errors import LabkitError, nearest

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["BAD_INPUT", "INTERRUPTED", "CommandError", "console", "emit_json", "fail", "nearest"]

BAD_INPUT = 2
INTERRUPTED = 130
# A pipe or a file has no width; tables made for 100 columns read well there.
PIPED_WIDTH = 100


class CommandError(LabkitError):
    """Bad input that a command itself found; `main` prints it and exits with 2."""


def fail(message: str) -> NoReturn:
    """End the command with exit code 2 and one sentence on standard error."""
    raise CommandError(message)


def emit_json(value: Any) -> None:
    """Print `value` as indented JSON on standard output; NaN and infinity are refused."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write("\n")


def console(*, stderr: bool = False) -> Console:
    """A Rich console: terminal width on a terminal (or `COLUMNS`), a fixed width in a pipe."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPED_WIDTH
    return Console(stderr=stderr, highlight=False, width=width)
