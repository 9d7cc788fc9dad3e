"""The one family of errors that a person may see: each message is a complete sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LabkitError(Exception):
    """Something the user can put right; `str(error)` is one sentence that says how.

    The command line turns it into exit code 2 without a traceback, a notebook into a short note.
    """

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of a traceback: the sentence."""
        return [str(self)]


class UnknownNameError(LabkitError):
    """A name that stands in no table, with the nearest names that do."""

    def __init__(self, what: str, name: str, known: Iterable[str], hint: str = "") -> None:
        choices = list(known)
        near = nearest(name, choices)
        if near:
            tail = f"did you mean {_either(near)}?"
        else:
            shown = ", ".join(choices[:8])
            tail = f"known: {shown}{', …' if len(choices) > 8 else ''}."
        super().__init__(f"Unknown {what} {name!r}: {tail}{' ' + hint if hint else ''}")


def nearest(name: str, known: Iterable[str], n: int = 3) -> list[str]:
    """Up to `n` known names most like `name`, best first; letter case is ignored."""
    by_fold = {choice.casefold(): choice for choice in known}
    close = difflib.get_close_matches(name.casefold(), by_fold, n=n, cutoff=0.55)
    return [by_fold[fold] for fold in close]


def _either(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]
