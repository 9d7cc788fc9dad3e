"""Repetition and judgement of samples."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.bench.sampling import Samples, pool, repeat, spread

POSITIVE = st.floats(1e-3, 1e3)


@given(st.lists(POSITIVE, min_size=2, max_size=30), st.floats(1e-2, 1e2))
def test_spread_has_no_unit(samples: list[float], scale: float) -> None:
    scaled = tuple(scale * x for x in samples)
    assert spread(tuple(samples)) == pytest.approx(spread(scaled), rel=1e-6, abs=1e-9)


@given(POSITIVE, st.integers(2, 20))
def test_equal_samples_have_no_spread(value: float, count: int) -> None:
    assert spread((value,) * count) == pytest.approx(0.0, abs=1e-9)


@given(st.lists(POSITIVE, min_size=8, max_size=30))
def test_one_outlier_does_not_decide(samples: list[float]) -> None:
    quiet = (1.0,) * (3 * len(samples))
    assert spread((*quiet, max(samples))) == 0.0


def test_warm_up_is_not_counted_and_the_minimum_is_kept() -> None:
    calls: list[int] = []
    taken = repeat(lambda: calls.append(1), warmup=3, min_samples=6, budget_s=0.0, attempts=1)
    assert len(taken.wall_s) == len(taken.cpu_s) == 6
    assert len(calls) == 3 + 6


def test_a_busy_step_uses_its_core_and_a_sleeping_one_does_not() -> None:
    def spin() -> None:
        end = time.process_time() + 0.01
        while time.process_time() < end:
            pass

    asleep = repeat(lambda: time.sleep(0.01), budget_s=0.0, attempts=1)
    busy = repeat(spin, budget_s=0.0, attempts=1)
    assert asleep.cpu_share < 0.15 < busy.cpu_share


def _script(durations: Iterator[float]) -> Callable[[], None]:
    def step() -> None:
        end = time.perf_counter() + next(durations)
        while time.perf_counter() < end:
            pass

    return step


def test_a_noisy_set_is_taken_again_and_the_quiet_one_kept() -> None:
    noisy = [0.001, 0.010, 0.001, 0.010, 0.001]
    step = _script(iter([*noisy, *[0.004] * 5]))
    taken = repeat(
        step, warmup=0, min_samples=5, budget_s=0.0, attempts=2, pause_s=0.0, share_limit=0.0
    )
    assert taken.attempts == 2
    assert min(taken.wall_s) >= 0.004


def test_no_second_try_after_the_deadline() -> None:
    step = _script(iter([0.001, 0.010, 0.001, 0.010, 0.001]))  # a sixth call would fail
    taken = repeat(step, warmup=0, min_samples=5, budget_s=0.0, retry_until=0.0, share_limit=0.0)
    assert taken.attempts == 1


def test_a_device_is_waited_for_before_each_reading() -> None:
    waits: list[int] = []
    repeat(
        lambda: None,
        warmup=1,
        min_samples=4,
        budget_s=0.0,
        attempts=1,
        sync=lambda: waits.append(1),
    )
    assert len(waits) == 5


def test_a_pool_keeps_every_sample_and_the_worst_trouble() -> None:
    pooled = pool([Samples((1.0, 2.0), (0.5, 0.5)), Samples((3.0,), (3.0,), attempts=2)])
    assert pooled == Samples((1.0, 2.0, 3.0), (0.5, 0.5, 3.0), attempts=2)


def test_rates_and_milliseconds() -> None:
    samples = Samples((0.5, 0.25), (0.5, 0.25))
    assert samples.milliseconds() == (500.0, 250.0)
    assert samples.rate(2.0) == (4.0, 8.0)


def test_no_attempt_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="attempts"):
        repeat(lambda: None, attempts=0)
