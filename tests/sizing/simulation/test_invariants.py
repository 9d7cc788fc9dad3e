"""What holds for every run: nobody starves, nothing leaks, no token is lost, time only rises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.sizing.simulation import (
    Burst,
    ClosedLoop,
    ContinuousBatching,
    KVCache,
    StaticBatching,
    simulate,
)
from labkit.sizing.simulation.blocks import BlockPool, Growth
from tests.sizing.simulation import cases

schedulers = st.one_of(cases.continuous, cases.static)


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(cases.traffic_of(), cases.pressing),
    schedulers,
    cases.step_times,
    cases.caches,
    cases.seeds,
)
def test_every_run_keeps_the_rules(traffic, spec, steps, kv, seed):
    result = simulate(traffic, spec, steps, kv=kv, seed=seed, timeline=True)
    requests = traffic.draw(seed)

    # Everybody is served, in time's order, first come first served.
    for times in (result.arrival, result.start, result.first_token, result.finish):
        assert np.isfinite(times).all()
    assert (np.diff(result.arrival) >= 0).all()
    assert (np.diff(result.start) >= 0).all()
    assert (result.start >= result.arrival).all()
    assert (result.first_token > result.start).all()
    assert (result.finish >= result.first_token).all()

    # Exactly the asked tokens: each after the first is one gap.
    assert result.output.tolist() == requests.output.tolist()
    assert result.gaps.count == int((requests.output - 1).sum())
    assert (result.gaps.first > 0).all()
    assert (result.gaps.last > 0).all()

    # Work is conserved: what was computed is what was asked, plus what is owned up to as waste.
    totals = result.totals
    useful = totals.computed_tokens - totals.recomputed_tokens - totals.padded_tokens
    asked = int(requests.prompt.sum() + (requests.output - 1).sum())
    assert asked - int(requests.cached.sum()) <= useful <= asked
    if isinstance(spec, ContinuousBatching):
        assert useful == asked - int(requests.cached.sum())
        assert totals.padded_tokens == 0
    assert 0.0 < totals.useful_share <= 1.0

    # Never more blocks than there are.
    assert totals.peak_blocks > 0
    if kv.blocks is not None:
        assert totals.peak_blocks <= kv.blocks
        assert 0.0 <= result.kv_utilisation <= 1.0 + 1e-12
    assert 0.0 < result.slot_utilisation <= 1.0 + 1e-12


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(cases.traffic_of(), cases.pressing),
    schedulers,
    cases.step_times,
    cases.caches,
    cases.seeds,
)
def test_a_slot_holds_one_request_at_a_time(traffic, spec, steps, kv, seed):
    result = simulate(traffic, spec, steps, kv=kv, seed=seed, timeline=True)
    line = result.timeline
    assert 0 <= line.slot.min() <= line.slot.max() < spec.max_num_seqs
    for slot in range(spec.max_num_seqs):
        here = line.slot == slot
        assert (line.start[here][1:] >= line.end[here][:-1]).all()
    assert (line.start <= line.prefill_end).all()
    assert (line.prefill_end <= line.useful_end).all()
    assert (line.useful_end <= line.end).all()
    # One stay a request, and one more for each time that it was preempted.
    stays = np.bincount(line.request, minlength=traffic.requests)
    assert stays.tolist() == (result.preemptions + 1).tolist()
    # The integral of the occupied slots is the sum of the stays (Little's law, at the slots).
    stayed = float((line.end - line.start).sum())
    assert result.totals.slot_seconds == pytest.approx(stayed, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(cases.traffic_of(), cases.pressing),
    cases.continuous,
    cases.step_times,
    cases.caches,
    cases.seeds,
)
def test_the_engine_is_idle_only_while_nobody_is_there(traffic, spec, steps, kv, seed):
    result = simulate(traffic, spec, steps, kv=kv, seed=seed)
    covered, until = 0.0, 0.0
    for arrival, finish in zip(result.arrival, result.finish, strict=True):
        covered += max(finish - max(arrival, until), 0.0)
        until = max(until, finish)
    assert result.totals.busy_seconds == pytest.approx(covered, rel=1e-9)


@settings(max_examples=30, deadline=None)
@given(
    st.one_of(cases.traffic_of(), cases.pressing),
    schedulers,
    cases.affine,
    cases.caches,
    cases.seeds,
)
def test_the_same_seed_gives_the_same_result(traffic, spec, steps, kv, seed):
    one, other = (simulate(traffic, spec, steps, kv=kv, seed=seed) for _ in range(2))
    assert one.summary() == other.summary()
    assert one.finish.tolist() == other.finish.tolist()


@settings(max_examples=30, deadline=None)
@given(st.one_of(cases.traffic_of(), cases.pressing), cases.seeds)
def test_schedulers_meet_the_same_requests(traffic, seed):
    steps = cases.AffineSteps(0.01)
    one = simulate(traffic, ContinuousBatching(4), steps, seed=seed)
    other = simulate(replace(traffic, arrivals=Burst()), StaticBatching(4), steps, seed=seed)
    assert one.prompt.tolist() == other.prompt.tolist()
    assert one.output.tolist() == other.output.tolist()


@settings(max_examples=30, deadline=None)
@given(
    cases.traffic_of(st.builds(ClosedLoop, st.integers(1, 6), st.sampled_from([0.0, 0.3]))),
    schedulers,
    cases.seeds,
)
def test_a_closed_loop_never_has_more_requests_than_users(traffic, spec, seed):
    result = simulate(traffic, spec, cases.AffineSteps(0.01), seed=seed)
    assert len(result.arrival) == traffic.requests
    events = sorted(
        [(time, 1) for time in result.arrival] + [(time, -1) for time in result.finish],
    )
    inside = most = 0
    for _, change in events:
        inside += change
        most = max(most, inside)
    assert most <= traffic.arrivals.users


def test_more_blocks_were_never_slower_here_and_preemptions_end():
    """A pressed cache preempts and redoes; a roomy one does not."""
    traffic = cases.Traffic(cases.Fixed(40), cases.Geometric(25.0, 60), Burst(), 200)
    steps = cases.AffineSteps(0.01, per_prefill_token=1e-4)
    runs = [
        simulate(traffic, ContinuousBatching(8), steps, kv=KVCache(blocks, 4))
        for blocks in (31, 60, 100, 1000)
    ]
    assert runs[0].preemptions.sum() > 0
    assert runs[0].totals.recomputed_tokens > 0
    assert runs[-1].preemptions.sum() == 0
    throughputs = [run.output_tokens_per_second for run in runs]
    assert throughputs == sorted(throughputs)


@given(
    st.integers(1, 16),
    st.lists(st.integers(-50, 50), max_size=8),
    st.integers(0, 40),
    st.integers(0, 100),
    st.integers(0, 60),
)
def test_growth_counts_what_counting_one_by_one_counts(size, bases, step, free, most):
    growth = Growth(size)
    for base in bases:
        growth.add(base)

    def slow(at):
        return sum((base + at) % size == 0 for base in bases)

    assert growth.needed(step) == slow(step)
    assert growth.needed_in(step, most) == sum(slow(step + i) for i in range(most))
    lasting = 0
    while lasting < most and sum(slow(step + i) for i in range(lasting + 1)) <= free:
        lasting += 1
    assert growth.affordable(step, free, most) == lasting


def test_a_leak_is_caught():
    """The pool that guards the invariants does guard them."""
    pool = BlockPool(KVCache(10))
    pool.take(4)
    with pytest.raises(RuntimeError, match="7 blocks taken, 6 free"):
        pool.take(7)
    with pytest.raises(RuntimeError, match="5 blocks given back, 4 in use"):
        pool.give(5)


class Leaky(ContinuousBatching):
    """A scheduler that forgets a block."""

    __slots__ = ()

    def run(self, requests, steps, kv, journal, recorder):
        pool = super().run(requests, steps, kv, journal, recorder)
        pool.take(1)
        return pool


def test_a_scheduler_that_forgets_a_block_is_caught(one_long_request):
    with pytest.raises(RuntimeError, match="1 blocks were never given back"):
        simulate(one_long_request, Leaky(4), cases.AffineSteps(0.01))
