"""`labkit`: find the command, import it, run it, turn known errors into one sentence.

Exit codes: 0 done (a refusal is an answer, not an error), 2 bad input, 130 interrupted.
Only an error nobody foresaw ends in a traceback.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from labkit.cli.common import BAD_INPUT, INTERRUPTED
from labkit.cli.registry import COMMANDS, Command, command_named
from labkit.contract.errors import LabkitError, nearest
from labkit.contract.paths import DISTRIBUTION

if TYPE_CHECKING:
    import typer

PIPE_CLOSED = 141  # what a shell reports for a program that SIGPIPE ended


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; `argv` defaults to the process's own arguments. Returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows "?" instead of ending in a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        if code == INTERRUPTED:
            raise KeyboardInterrupt
    except LabkitError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # `labkit … | head`: the reader is gone. Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    return code


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        print(overview())
        return 0
    name, rest = arguments[0], arguments[1:]
    if name in {"-V", "--version"}:
        print(f"labkit {_version()}")
        return 0
    command = command_named(name)
    if command is None:
        known = [entry.name for entry in COMMANDS]
        near = nearest(name, known)
        tail = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(known)}."
        raise LabkitError(f"Unknown command {name!r}: {tail}")
    return _run(command, rest)


def overview() -> str:
    """What `labkit --help` prints: the commands by heading."""
    lines = [
        "labkit: choose, size, price and run AWS inference instances.",
        "",
        "Usage: labkit COMMAND [ARGUMENTS]        labkit COMMAND --help        labkit --version",
    ]
    for group in dict.fromkeys(command.group for command in COMMANDS):
        lines += ["", f"{group}:"]
        lines += [f"  {c.name:<10} {c.help}" for c in COMMANDS if c.group == group]
    return "\n".join(lines)


def _run(command: Command, arguments: list[str]) -> int:
    import typer

    target = getattr(importlib.import_module(f"labkit.cli.{command.module}"), command.target)
    app = target if isinstance(target, typer.Typer) else _single(target)
    runner = typer.main.get_command(app)
    # Typer may carry its own Click: the base of its public error is the one to catch.
    usage_error: type[Exception] = typer.BadParameter.__bases__[0]
    try:
        result = runner.main(
            args=arguments, prog_name=f"labkit {command.name}", standalone_mode=False
        )
    except typer.Abort as abort:
        # Typer turns Ctrl-C into exit code 130, older ones into an Abort with that cause; a
        # declined question is an Abort without it.
        if isinstance(abort.__cause__ or abort.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        print("Stopped.", file=sys.stderr)
        return 1
    except usage_error as error:
        if not str(error):  # a group without its command: its help stands there already
            return 2
        raise LabkitError(f"{_sentence(error)} See: labkit {command.name} --help") from None
    return result if isinstance(result, int) else 0


def _single(function: object) -> typer.Typer:
    import typer

    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(function)  # type: ignore[type-var]
    return app


def _sentence(error: BaseException) -> str:
    """A usage error in Typer's words, as one line that ends with a full stop."""
    words = error.format_message() if hasattr(error, "format_message") else str(error)
    line = " ".join(words.split())
    return line if line.endswith((".", "?", "!")) else line + "."


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "(run from a source tree that is not installed)"


if __name__ == "__main__":
    sys.exit(main())
