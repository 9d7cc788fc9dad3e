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
    """A step in words; `done` and `total` count its `unit` ("bytes" or "steps") where known."""

    text: str
    done: int | None = None
    total: int | None = None
    unit: str = "steps"

    def line(self) -> str:
        """As one line.

        >>> Progress("SmolLM2 weights", 46_000_000, 92_000_000, "bytes").line()
        'SmolLM2 weights [##########··········]  50 % of 92 MB'
        """
        if self.done is None:
            return self.text
        if not self.total:
            return f"{self.text} {_amount(self.done, self.unit)}"
        share = min(1.0, self.done / self.total)
        full = round(_BAR * share)
        bar = "#" * full + "·" * (_BAR - full)
        return f"{self.text} [{bar}] {share:>4.0%}".replace("%", " %") + (
            f" of {_amount(self.total, self.unit)}"
        )


Report = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """A report that nobody wants."""


class ProgressLine:
    """Shows each Progress on one line; a context manager that tidies up at the end."""

    def __init__(self) -> None:
        self._shown = ""
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
        """Show it, unless the same words were shown a moment ago."""
        line = progress.line()
        now = time.monotonic()
        in_place = self._kernel is not None or sys.stderr.isatty()
        if line == self._shown or now - self._at < (_EVERY_S if in_place else _LOG_EVERY_S):
            return
        if self._kernel:
            self._kernel.show(line)
        elif in_place:
            print(f"\r{line:<{len(self._shown)}}", end="", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)
        self._shown, self._at = line, now


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


def _amount(count: int, unit: str) -> str:
    return f"{count / 1e6:.0f} MB" if unit == "bytes" else f"{count:,} {unit}"
