"""Entry of `make lab`, `make test` and `make lock`: `python -m tools.setup COMMAND`.

This file must be readable by every Python 3, so that an old one gets a sentence instead of a
syntax error; everything newer is imported after the version check.
"""

import importlib
import sys

COMMANDS = {
    "lab": "tools.setup.lab",
    "test": "tools.setup.checks",
    "setup": "tools.setup.ready",
    "test-heavy": "tools.setup.heavy",
    "bench": "tools.setup.bench",
    "wheel": "tools.setup.wheel",
    "lock": "tools.setup.lock",
}


def main(arguments: "list[str]") -> int:
    """Run one command; returns the exit code: 2 for an error that a sentence explains."""
    if sys.version_info < (3, 11):
        found = "{}.{}".format(*sys.version_info[:2])
        print(
            "Python 3.11 or newer is needed and `" + sys.executable + "` is " + found + ": "
            "install one, or name it: make lab PYTHON=python3.12",
            file=sys.stderr,
        )
        return 2
    if sys.platform == "win32":
        print("labkit runs on Linux, macOS and WSL2: open a WSL2 terminal.", file=sys.stderr)
        return 2
    if len(arguments) != 1 or arguments[0] not in COMMANDS:
        print("usage: python -m tools.setup " + "|".join(COMMANDS), file=sys.stderr)
        return 2
    say = importlib.import_module("tools.setup.say")
    try:
        return int(importlib.import_module(COMMANDS[arguments[0]]).main())
    except say.SetupError as error:
        print("\n" + str(error), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nInterrupted. Run the same command again; it goes on from here.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
