"""The closed form of a replica under load, against exact queues where there are any."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.sizing.options import HIGHEST, Promise, Queue, at_percentile


def queue(capacity: float, places: float, prefill: float = 1e-9) -> Queue:
    return Queue(*(np.full((1, 1, 1), value) for value in (capacity, places, prefill)))


def erlang_c(servers: int, load: float) -> float:
    """P(wait) of M/M/c by the recursion over Erlang B; load in Erlangs."""
    blocked = 1.0
    for count in range(1, servers + 1):
        blocked = load * blocked / (count + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.8, 0.95])
def test_one_place_waits_as_in_a_queue_with_one_server(rho):
    # M/M/1: P(W > t) = rho exp(-mu (1 - rho) t), so the 95th percentile is its solution.
    found = queue(2.0, 1.0).wait_seconds(np.full((1, 1, 1), rho * 2.0), 95.0).item()
    assert found == pytest.approx(max(0.0, math.log(rho / 0.05)) / (2.0 * (1 - rho)))


@pytest.mark.parametrize("servers", [1, 2, 4, 16, 64, 256])
@pytest.mark.parametrize("rho", [0.3, 0.6, 0.8, 0.9, 0.95])
def test_the_share_that_waits_is_close_to_erlang_c(servers, rho):
    exact = erlang_c(servers, rho * servers)
    approximate = rho ** (math.sqrt(2 * (servers + 1)) - 1)
    assert approximate == pytest.approx(exact, abs=0.05)


def test_prompts_wait_for_each_other():
    # M/D/1 at rho 0.5: simulated below with 400,000 arrivals, seed fixed.
    rng = np.random.default_rng(7)
    gaps, service = rng.exponential(0.2, 400_000), 0.1
    wait, waits = 0.0, []
    for gap in gaps:
        waits.append(wait)
        wait = max(0.0, wait + service - gap)
    exact = float(np.percentile(waits[1000:], 95))
    found = queue(1e6, 1000.0, service).wait_seconds(np.full((1, 1, 1), 5.0), 95.0).item()
    assert found == pytest.approx(exact, rel=0.25)


@given(
    st.floats(0.01, 100), st.integers(1, 2000), st.floats(0.01, 1.0), st.floats(1, 10_000),
    st.floats(0, 10_000), st.floats(50.0, 99.9),
)  # fmt: skip
def test_goodput_keeps_the_promise_and_no_more_would(
    capacity, places, busy, promised, ttft, percentile
):
    one, promise = queue(capacity, places, busy / capacity), Promise(promised, math.inf, percentile)
    found = one.goodput(np.full((1, 1, 1), min(ttft, promised)), promise)
    rate = found.item()
    assert 0 <= rate <= HIGHEST * capacity * (1 + 1e-12)

    def late(at: float) -> float:
        waits = one.wait_seconds(np.full((1, 1, 1), at), percentile).item()
        return min(ttft, promised) + 1e3 * waits

    if rate > 0:
        assert late(rate) <= promised * (1 + 1e-9)
    if rate < HIGHEST * capacity * (1 - 1e-4):
        assert late(rate + 1e-4 * capacity) >= promised * (1 - 1e-9)


def test_without_a_promise_the_goodput_is_nearly_the_capacity():
    promise = Promise(math.inf, math.inf, 95.0)
    assert queue(3.0, 10.0).goodput(np.zeros((1, 1, 1)), promise).item() == 3.0 * HIGHEST


@given(st.floats(1e-3, 500), st.integers(1, 512), st.floats(1, 99.9))
def test_the_number_in_flight_at_a_percentile(mean, most, percentile):
    busy = at_percentile(np.array(mean), np.array(float(most)), Promise(1, 1, percentile)).item()
    assert 1 <= busy <= most
    assert busy >= min(mean, most)


def test_the_percentile_of_the_number_in_flight_is_that_of_independent_arrivals():
    rng = np.random.default_rng(3)
    for mean in (5.0, 20.0, 100.0):
        exact = np.percentile(rng.poisson(mean, 200_000), 95)
        found = at_percentile(np.array(mean), np.array(1e4), Promise(1, 1, 95.0)).item()
        assert found == pytest.approx(exact, abs=1.5)
