"""Runs the cells one after the other; an error ends its cell, not the run."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from labkit.contract.probe import raised
from labkit.runner.channel import Channel
from labkit.runner.job import Cell
from labkit.runner.session import Session

if TYPE_CHECKING:
    from labkit.runner.shell import GradingShell

NO_INPUT = "input() has nobody to ask while grading: remove input() and assign the value."


class CellTimeout(BaseException):
    """The cell's time is up. No `Exception`, so that `except Exception` does not hold it."""


def run_cells(shell: GradingShell, session: Session, channel: Channel) -> None:
    """Run every cell of the session's job; report each start and each error to the judge."""
    from labkit.runner.shell import close_figures

    ends = time.monotonic() + session.job.limits.total_s
    for cell in session.job.cells:
        left = min(session.job.limits.cell_s, ends - time.monotonic())
        if left <= 0:
            channel.send({"t": "end", "why": "time"})
            return
        session.cell = cell.id
        channel.send({"t": "cell", "cell": cell.id})
        report = _run(shell, cell, left)
        if os.getpid() != channel.owner:
            os._exit(0)  # a copy that the cell forked: one notebook is run once
        if report is not None:
            channel.send({"t": "error", "cell": cell.id, **report})
        try:
            close_figures()
        except BaseException as error:  # noqa: BLE001  # the learner may have patched pyplot
            channel.send({"t": "error", "cell": cell.id, **_report(error)})


def _run(shell: GradingShell, cell: Cell, seconds: float) -> dict[str, str] | None:
    """Run one cell; its error as {ename, evalue}, or None."""
    try:
        with _alarm(seconds):
            run: Any = shell.run_cell  # IPython's own code is not annotated
            result = run(cell.source, store_history=True)
            error = result.error_before_exec or result.error_in_exec
            return None if error is None else _report(error)
    except CellTimeout:
        return {"ename": "CellTimeout", "evalue": f"stopped after {seconds:.0f} s"}
    except BaseException as error:  # noqa: BLE001  # nothing that a cell does may end the run
        return {"ename": type(error).__name__[:80], "evalue": ""}


def _report(error: BaseException) -> dict[str, str]:
    if isinstance(error, CellTimeout):
        raise error
    if isinstance(error, EOFError):
        return {"ename": "EOFError", "evalue": NO_INPUT}
    wire: dict[str, Any] = raised(error)
    return {"ename": wire["ename"], "evalue": wire["evalue"]}


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise CellTimeout here after `seconds`, and again every second while it is being caught."""

    def ring(*_: Any) -> None:
        raise CellTimeout

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
