"""What `Lab` shows: cards and tables, each as HTML and as plain text, and notices for mistakes.

A learner's slip (an unknown exercise, a confidence of 0.7) must not end in a traceback, and must
not stop "Run all" either. So `Lab` returns a `Notice`: it shows one sentence, and it raises that
sentence as a LabkitError only when the code after it tries to use it as a value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from labkit.contract import LabkitError
from labkit.contract.view import card, escape, prose, table, text_card, text_table

MIME_TEXT, MIME_HTML = "text/plain", "text/html"


@dataclass(frozen=True, slots=True)
class Card:
    """A bordered note. `state` picks its edge; `head` says in words what it is."""

    head: str
    lines: tuple[str, ...] = ()
    tail: str = ""
    state: str = "info"
    code: str = ""

    def __str__(self) -> str:
        shown = text_card(self.head, self.tail, self.lines)
        if self.code:
            shown += "\n\n" + "\n".join(f"    {line}" for line in self.code.splitlines())
        return shown

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        shown = card(self.state, self.head, self.tail, self.lines)
        if self.code:
            shown += f"<pre class='labkit-code'><code>{escape(self.code)}</code></pre>"
        return {MIME_TEXT: str(self), MIME_HTML: shown}


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a caption, with remarks below."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        body = text_table(self.columns, self.rows, self.caption)
        return "\n".join([body, *(text_card(note, "", ()) for note in self.notes)])

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        notes = "".join(f"<div>{prose(note)}</div>" for note in self.notes)
        return {
            MIME_TEXT: str(self),
            MIME_HTML: table(self.columns, self.rows, self.caption) + notes,
        }


@dataclass(frozen=True, slots=True)
class Sheet:
    """Cards and tables, one below the other."""

    parts: tuple[Card | Table, ...]

    def __str__(self) -> str:
        return "\n\n".join(str(part) for part in self.parts)

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        shown = "".join(part._repr_mimebundle_()[MIME_HTML] for part in self.parts)
        return {MIME_TEXT: str(self), MIME_HTML: shown}


class Notice:
    """Says in one sentence why there is no value here; raises it when used as one."""

    def __init__(self, error: LabkitError, head: str = "! Not done") -> None:
        self._error = error
        self._head = head

    @property
    def error(self) -> LabkitError:
        """The error that this notice stands for."""
        return self._error

    def _card(self) -> Card:
        return Card(self._head, (str(self._error),), state="error")

    def __str__(self) -> str:
        return str(self._card())

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self._card()._repr_mimebundle_()

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)  # IPython and copy look for such names; they find none
        raise self._error

    def _use(self, *_operands: object) -> NoReturn:
        raise self._error

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _use
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _use
    __pow__ = __rpow__ = __neg__ = __float__ = __int__ = __index__ = _use
    __lt__ = __le__ = __gt__ = __ge__ = _use
    __getitem__ = __iter__ = __len__ = __contains__ = __call__ = _use


def show(thing: Any) -> None:
    """Show something at once: rich in a notebook, as plain text on stderr elsewhere."""
    display = _notebook_display()
    if display is not None:
        display(thing)
    else:
        print(thing, file=sys.stderr)


def _notebook_display() -> Callable[[Any], Any] | None:
    """IPython's display where a notebook or IPython runs this; IPython is never imported for it."""
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        return None
    from IPython.display import display

    return display
