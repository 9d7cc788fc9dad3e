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
        (Progress("x", 3_000_000, None, "bytes"), "x 3 MB"),
        (Progress("x", 1, 4), "[····················] 1 of 4: x"),
        (Progress("x", 4, 4), "[###############·····] 4 of 4: x"),
        (Progress("x", 6, 18), "[######··············]  6 of 18: x"),
        (Progress("x", 25, 100, "bytes"), "x [#####···············]  25 % of 0 MB"),
        (Progress("x", 120, 100, "bytes"), "x [####################] 100 % of 0 MB"),
    ],
)
def test_lines(given: Progress, line: str) -> None:
    assert given.line() == line


def test_a_log_gets_few_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine() as line:
        for step in range(1, 1001):
            line(Progress(f"x {step}", step, 1000))
    assert capsys.readouterr().err == "[····················]    1 of 1000: x 1\n"


def test_a_terminal_shows_every_step_and_not_every_byte(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A step that was left out as too early could be the long one."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with ProgressLine() as line:
        for done in range(100):
            line(Progress("weights", done, 100, "bytes"))
        for step in (1, 2, 3):
            line(Progress(f"step {step}", step, 3))
    shown = [text.strip() for text in capsys.readouterr().err.split("\r") if text.strip()]
    assert [text[-9:] for text in shown] == ["% of 0 MB", "3: step 1", "3: step 2", "3: step 3"]


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
