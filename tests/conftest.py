"""What holds for every test: under CI nothing is skipped, and Ctrl-C is heard.

A skipped sandbox or browser test would leave the very thing unproven that CI is there to prove,
so with CI set a skip is a failure that says what was missing.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    Report = pytest.TestReport | pytest.CollectReport


def pytest_configure() -> None:
    """Hear Ctrl-C again where a shell's `&` had this run ignore it: children inherit that.

    Hypothesis gets no deadline: no test fails because a shared machine was slow.
    """
    settings.register_profile("labkit", deadline=None)
    settings.load_profile("labkit")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _forbid_skip(report: Report) -> Report:
    expected_failure = hasattr(report, "wasxfail")
    if os.environ.get("CI") and report.skipped and not expected_failure:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"Skipped under CI, where every test must run. {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _forbid_skip(report)
    return report
