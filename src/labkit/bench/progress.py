"""One line that says how far a measurement or a download has come, in a notebook or a terminal.

The line replaces itself where that is possible (a kernel, a terminal) and is otherwise printed
again now and then, so that a log stays short.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_EVERY_S = 0.2
_LOG_EVERY_S = 5.0
_BAR = 20


@dataclass(frozen=True, slots=True)
class Progress:
    """What goes on, in words, and how far it is, where known.

    For `unit` "bytes" `done` and `total` are amounts; for "steps" `done` is the number of the
    step under way, the first being 1.
    """

    text: str
    done: int | None = None
    total: int | None = None
    unit: str = "steps"

    def line(self) -> str:
        """As one line.

        >>> Progress("SmolLM2 weights", 46_000_000, 92_000_000, "bytes").line()
        'SmolLM2 weights [##########··········]  50 % of 92 MB'
        >>> Progress("FP32 products, B = 4", 6, 21).line()
        '[#####···············]  6 of 21: FP32 products, B = 4'
        """
        if self.done is None:
            return self.text
        if self.unit == "steps":
            return self._step(self.done, self.total or self.done)
        if not self.total:
            return f"{self.text} {_megabytes(self.done)}"
        share = min(1.0, self.done / self.total)
        return f"{self.text} {_bar(share)} {share:>4.0%}".replace("%", " %") + (
            f" of {_megabytes(self.total)}"
        )

    def _step(self, number: int, total: int) -> str:
        """The bar shows what is over, and stands first: the words change with every step."""
        count = f"{number:>{len(str(total))}} of {total}"
        return f"{_bar((number - 1) / total)} {count}: {self.text}"


Report = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """A report that nobody wants."""


class ProgressLine:
    """Shows each Progress on one line; a context manager that tidies up at the end."""

    def __init__(self) -> None:
        self._shown = ""
        self._text = ""
        self._at = float("-inf")
        self._kernel = _Kernel.find()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._kernel:
            self._kernel.close()
        elif sys.stderr.isatty() and self._shown:
            print(f"\r{' ' * len(self._shown)}\r", end="", file=sys.stderr, flush=True)

    def __call__(self, progress: Progress) -> None:
        """Show it, unless the same words were shown a moment ago (in a log: anything was)."""
        line = progress.line()
        now = time.monotonic()
        in_place = self._kernel is not None or sys.stderr.isatty()
        pause = _EVERY_S if in_place else _LOG_EVERY_S
        if in_place and progress.text != self._text:
            pause = 0.0  # a new step may be a long one: left out, the last one would seem to hang
        if line == self._shown or now - self._at < pause:
            return
        if self._kernel:
            self._kernel.show(line)
        elif in_place:
            print(f"\r{line:<{len(self._shown)}}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)
        self._shown, self._text, self._at = line, progress.text, now


class _Kernel:
    """A display of the running Jupyter kernel that can be updated in place."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._id = f"labkit-{uuid.uuid4().hex[:8]}"
        self._open = False

    @classmethod
    def find(cls) -> _Kernel | None:
        """The kernel's display, or None outside of one; never imports IPython itself."""
        ipython = sys.modules.get("IPython")
        shell = ipython.get_ipython() if ipython else None
        if shell is None or not hasattr(shell, "kernel"):
            return None
        from IPython.display import display

        return cls(display)

    def show(self, line: str) -> None:
        """Put the line in place of the last one."""
        data = {"text/plain": line}
        self._display(data, raw=True, display_id=self._id, update=self._open)
        self._open = True

    def close(self) -> None:
        """Leave nothing behind: an old progress line says nothing in a saved notebook."""
        if self._open:
            self._display({"text/plain": ""}, raw=True, display_id=self._id, update=True)


def _bar(share: float) -> str:
    full = round(_BAR * min(1.0, share))
    return f"[{'#' * full}{'·' * (_BAR - full)}]"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.0f} MB"
