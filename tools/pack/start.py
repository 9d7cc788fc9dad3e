"""Set up what is missing and open JupyterLab on the course: `python3 start.py LEARNER=your-id`.

This file must be readable by every Python 3, so that an old one gets a sentence instead of a
syntax error. The work is done by tools/setup, as in a clone of the course.
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  pathlib may come later
SETTINGS = ("LEARNER", "LAB", "TORCH", "TORCH_INDEX")


def main(arguments: "list[str]") -> int:
    """Pass NAME=VALUE arguments on as `make` would; returns the exit code."""
    if sys.version_info < (3, 11):
        found = "{}.{}".format(*sys.version_info[:2])
        print(
            "Python 3.11 or newer is needed and `" + sys.executable + "` is " + found + ": "
            "install one and call it by its name, such as: python3.12 start.py",
            file=sys.stderr,
        )
        return 2
    given = {}
    for argument in arguments:
        name, sign, value = argument.partition("=")
        if name not in SETTINGS or not sign:
            print(
                "usage: python3 start.py [LEARNER=your-id] [LAB=01] [TORCH=cpu|cuda|skip]",
                file=sys.stderr,
            )
            return 2
        given[name] = value
    try:
        with open(os.path.join(HERE, "start.json"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
            defaults = json.load(file)
    except FileNotFoundError:
        print("start.json is missing beside start.py: unpack the course again.", file=sys.stderr)
        return 2
    os.environ.update({**defaults, **{k: v for k, v in os.environ.items() if v}, **given})
    sys.path.insert(0, HERE)
    from tools.setup.__main__ import main as run

    return run(["lab"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
