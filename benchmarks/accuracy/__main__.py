"""`python -m benchmarks.accuracy [--check]`: write docs/accuracy.md, or say whether it is stale."""

from __future__ import annotations

import sys

from benchmarks.accuracy.folds import StaleError
from benchmarks.accuracy.report import HOW, TARGET, report


def main(arguments: list[str]) -> int:
    """Exit code 1 where `--check` finds another text than the file's, or a kept file is stale."""
    try:
        text = report()
    except StaleError as error:
        print(error, file=sys.stderr)
        return 1
    if "--check" not in arguments:
        TARGET.write_text(text, encoding="utf-8")
        print(f"Written: docs/{TARGET.name}")
        return 0
    if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != text:
        print(f"docs/{TARGET.name} is out of date: run {HOW} and commit what it writes.")
        return 1
    print(f"docs/{TARGET.name} is up to date.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
