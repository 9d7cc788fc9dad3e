"""`make bench` prints one readable page and never fails on a slow machine."""

from __future__ import annotations

import pytest

import benchmarks.__main__ as bench
from benchmarks import speeds
from benchmarks.speeds import Speed
from benchmarks.timing import seconds_per_call


@pytest.fixture
def page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    monkeypatch.setattr(bench, "use_one_thread", lambda: None)
    slow = Speed("estimate, the numbers of one set-up", "µs", 50, False, lambda: 75.0)
    fast = Speed("sweep", "configs/s", 1e6, True, lambda: 2e6)
    monkeypatch.setattr(speeds, "SPEEDS", (slow, fast))
    assert bench.main() == 0
    return capsys.readouterr().out.splitlines()


def test_the_page_fits_a_terminal_of_100_columns(page: list[str]) -> None:
    assert max(map(len, page)) <= 100


def test_a_missed_goal_is_shown_and_fails_nothing(page: list[str]) -> None:
    assert any("75 µs" in line and line.endswith("missed") for line in page)
    assert any("2,000,000 configs/s" in line and "missed" not in line for line in page)


def test_tools_that_are_not_installed_say_how_to_get_them(page: list[str]) -> None:
    assert sum(line.endswith("not installed") for line in page) == 3
    assert page[-1].endswith("python -m benchmarks.peers.environment")
    assert any(line.startswith("  llm-analysis") and "faster" in line for line in page)


def test_ratios_are_words() -> None:
    assert bench.ratio(200.0, 100.0) == "2 × slower"
    assert bench.ratio(10.0, 100.0) == "10 × faster"


def test_a_call_is_timed_by_its_median() -> None:
    calls = []
    took = seconds_per_call(lambda: calls.append(1), at_least=0.0, warm_up=2, calls=5)
    assert len(calls) == 7
    assert 0 <= took < 0.1


def test_every_speed_has_a_goal_it_can_be_held_to() -> None:
    for speed in speeds.SPEEDS:
        assert speed.met(speed.goal)
        assert not speed.met(speed.goal * (0.5 if speed.more_is_better else 2.0))
