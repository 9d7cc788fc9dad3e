"""The progress line, in a log and in a kernel."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from labkit.bench import progress
from labkit.bench.progress import Progress, ProgressLine


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (Progress("loading torch"), "loading torch"),
        (Progress("x", 3), "x 3 steps"),
        (Progress("x", 1, 4), "x [#####···············]  25 % of 4 steps"),
        (Progress("x", 120, 100, "bytes"), "x [####################] 100 % of 0 MB"),
    ],
)
def test_lines(given: Progress, line: str) -> None:
    assert given.line() == line


def test_a_log_gets_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine() as line:
        for step in range(1000):
            line(Progress("x", step, 1000))
    assert capsys.readouterr().err == "x [····················]   0 % of 1,000 steps\n"


def test_a_kernel_replaces_one_display_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[tuple[str, bool]] = []

    def display(data: dict[str, str], *, raw: bool, display_id: str, update: bool) -> None:
        shown.append((data["text/plain"], update))

    shell = SimpleNamespace(kernel=object())
    module: Any = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(progress, "_EVERY_S", 0.0)
    with ProgressLine() as line:
        line(Progress("one"))
        line(Progress("one"))
        line(Progress("two"))
    assert shown == [("one", False), ("two", True), ("", True)]
