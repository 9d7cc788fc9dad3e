"""What must hold of a steady state for every step time and workload, and the bounds of capacity."""

from __future__ import annotations

import math
import re
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.sizing.inputs import SLO, SizingError, Workload
from labkit.sizing.serving import ScaledSteps, point_at, point_terms, replica_of, steady_state
from labkit.sizing.serving.crowd import occupancy
from labkit.sizing.simulation import AffineSteps
from tests.sizing.serving.cases import A10G, L40S, PLAIN, PLENTY, chat, mixed

few = settings(max_examples=25, deadline=None)
steps = st.sampled_from([A10G, L40S, PLAIN])
prompts = st.sampled_from(["16", "700", "uniform:32-512", "lognormal:mean=600,sigma=1.0,max=6000"])
outputs = st.sampled_from(["1", "2", "300", "geometric:mean=100,max=2000"])
slots = st.sampled_from([1, 7, 64, 256])
rooms = st.sampled_from([9_000.0, 60_000.0, 1e12])
loads = st.floats(0.01, 0.97)
hits = st.sampled_from([0.0, 0.3, 0.9])


@few
@given(steps, prompts, outputs, slots, rooms, hits, st.floats(0.001, 3.0))
def test_every_number_is_finite_and_in_order(step, prompt, output, most, room, hit, load):
    workload = Workload.of(prompt, output, prefix_hit_rate=hit)
    replica = replica_of(step, workload, most, room)
    point = point_at(replica, load * replica.capacity)
    assert 0 < point.capacity < math.inf
    assert point.saturated is (load * replica.capacity >= replica.capacity)
    assert point.served <= point.capacity
    if point.saturated:
        assert point.ttft is point.tpot is point.e2e is point.sequences is None
        return
    assert (point.tpot is None) is (output == "1")
    for latency in (point.ttft, point.tpot, point.e2e):
        if latency is not None:
            assert all(0 < value < math.inf for value in astuple(latency))
            assert latency.p50 <= latency.p90 <= latency.p95 <= latency.p99
            assert latency.promised == latency.p95
    assert 0 <= point.sequences <= point.places
    assert point.waiting >= 0
    assert 0 <= point.wait_share <= 1
    assert 0 <= point.prefill_share <= 1
    parts = point.latencies
    assert parts.place + parts.running + parts.ahead + parts.own == pytest.approx(point.ttft.mean)


@few
@given(steps, prompts, outputs, slots, rooms, loads, loads)
def test_more_load_is_never_faster(step, prompt, output, most, room, one, other):
    replica = replica_of(step, Workload.of(prompt, output), most, room)
    low, high = sorted((one, other))
    calm, busy = (point_at(replica, load * replica.capacity) for load in (low, high))
    assert calm.sequences <= busy.sequences * (1 + 1e-9)
    assert calm.wait_share <= busy.wait_share + 1e-12
    # Read at 2,048 points, a percentile may fall back by the distance of two of them.
    assert calm.ttft.mean <= busy.ttft.mean * 1.01
    for metric in ("ttft", "tpot", "e2e"):
        quick, slow = getattr(calm, metric), getattr(busy, metric)
        if quick is not None:
            assert quick.p95 <= slow.p95 * 1.03


@few
@given(steps, prompts, outputs, slots, rooms, st.floats(0.05, 0.95), st.floats(0.3, 0.95))
def test_faster_steps_are_never_slower_to_answer(step, prompt, output, most, room, load, factor):
    workload = Workload.of(prompt, output)
    replica = replica_of(step, workload, most, room)
    faster = replica_of(ScaledSteps(step, factor, factor), workload, most, room)
    rate = load * replica.capacity
    assert faster.capacity == pytest.approx(replica.capacity / factor, rel=1e-6)
    before, after = point_at(replica, rate), point_at(faster, rate)
    assert after.ttft.p95 <= before.ttft.p95 * 1.03
    assert after.e2e.p95 <= before.e2e.p95 * 1.03


@few
@given(steps, prompts, outputs, slots, slots)
def test_more_slots_never_lower_the_capacity(step, prompt, output, one, other):
    low, high = sorted((one, other))
    workload = Workload.of(prompt, output)
    few_slots, many = (replica_of(step, workload, n, PLENTY).capacity for n in (low, high))
    assert few_slots <= many * (1 + 1e-9)


@few
@given(steps, prompts, outputs, slots, rooms, st.floats(0.05, 0.8))
def test_little_s_law(step, prompt, output, most, room, load):
    """Sequences decoding = rate x decode steps x mean TPOT, however both were come by."""
    replica = replica_of(step, Workload.of(prompt, output), most, room)
    point = point_at(replica, load * replica.capacity)
    steps_each = replica.traffic.decode_steps
    if point.tpot is None or steps_each < 50 or replica.capacity_prefill_share > 0.5:
        return  # with a handful of decode steps the two are known to differ: see the simulation
    expected = point.rate * steps_each * point.tpot.mean
    assert point.sequences == pytest.approx(expected, rel=0.12, abs=0.1)


def test_capacity_by_hand():
    """64 places, steps of 30 ms + 0.1 ms per sequence and 0.2 us per cached token, no prefill."""
    step = AffineSteps(0.03, per_sequence=1e-4, per_cached_token=0.2e-6)
    replica = replica_of(step, chat(), 64, PLENTY)
    seconds = 0.03 + 64 * (1e-4 + 0.2e-6 * 640)
    assert replica.traffic.context == 512 + 256 / 2
    assert replica.capacity == pytest.approx(64 / (255 * seconds), rel=1e-3)
    assert replica.bound_by == "max_num_seqs"


def test_answers_of_one_token_are_prefill_alone():
    step = AffineSteps(0.01, per_prefill_token=1e-4)
    replica = replica_of(step, Workload.of(100, 1), 64, PLENTY, max_batched_tokens=1000)
    assert replica.capacity == pytest.approx(10 / (0.01 + 0.1), rel=0.02)  # ten prompts a step
    assert replica.bound_by == "max_num_batched_tokens"
    assert point_at(replica, 1.0).tpot is None


def test_what_bounds_the_capacity():
    assert replica_of(L40S, chat(), 32, PLENTY).bound_by == "max_num_seqs"
    assert replica_of(L40S, chat(), 256, 20_000).bound_by == "kv_cache"
    assert replica_of(L40S, Workload.of(1500, 10), 256, PLENTY).bound_by == "max_num_batched_tokens"
    # 20,000 tokens of cache, 640 of mean context and half a block of 16.
    assert replica_of(L40S, chat(), 256, 20_000).places == int(20_000 / 647.5)


def test_a_prefix_cache_saves_work_and_no_room():
    cold, warm = (replica_of(A10G, chat(hit=hit), 256, 20_000) for hit in (0.0, 0.8))
    assert warm.places == cold.places
    assert warm.capacity > 1.2 * cold.capacity
    assert point_at(warm, 0.1).ttft.p50 < 0.4 * point_at(cold, 0.1).ttft.p50


def test_the_mistake_of_a_prefix_cache_that_saves_room_is_seen():
    cold, warm = (replica_of(A10G, chat(hit=hit), 256, 20_000) for hit in (0.0, 0.8))
    fewer_tokens = replica_of(A10G, Workload.of(102, 256), 256, 20_000)
    assert fewer_tokens.places > 2 * cold.places
    assert warm.places != fewer_tokens.places


def test_a_chunk_costs_what_it_adds_to_a_step():
    """Prompts hide behind the reading of weights until the two take as long."""
    replica = replica_of(L40S, Workload.of(64, 200), 64, PLENTY)
    hidden, shown = (replica.prefill_seconds(0.001, np.array([n]))[0] for n in (1.0, 64.0))
    assert hidden == pytest.approx(0.0, abs=1e-6)  # 64 tokens x 0.08 ms < 22 ms of weights
    assert shown == pytest.approx(0.0, abs=1e-6)
    long = replica_of(L40S, Workload.of(2000, 200), 64, PLENTY)
    added = long.prefill_seconds(0.001, np.array([1.0]))[0]
    alone = L40S.mixed_seconds(2000, 2000**2 / 2, 1, 2100) - L40S.mixed_seconds(0, 0, 1, 2100)
    assert added == pytest.approx(alone, rel=0.02)


def test_replicas_with_one_queue_wait_less_than_each_with_its_own():
    replica = replica_of(PLAIN, Workload.of(200, "geometric:mean=128,max=2000"), 16, PLENTY)
    rate = 0.85 * replica.capacity
    alone, pooled = point_at(replica, rate), point_at(replica, 8 * rate, pooled=8)
    assert pooled.rate == alone.rate
    assert pooled.wait_share < 0.5 * alone.wait_share
    assert pooled.ttft.p95 < 0.7 * alone.ttft.p95
    # What does not wait is the same: the batch of each is.
    assert pooled.sequences == pytest.approx(alone.sequences, rel=0.05)


def test_a_pool_of_ten_thousand_replicas_is_answered():
    replica = replica_of(PLAIN, mixed(), 256, PLENTY)
    point = point_at(replica, 0.9 * replica.capacity * 10_000, pooled=10_000)
    assert point.utilisation == pytest.approx(0.9)
    assert point.wait_share < 1e-3


def test_the_percentile_is_the_slo_s():
    point = steady_state(A10G, chat(1.0, SLO(500, 80, percentile=99.0)), 64, PLENTY)
    assert point.ttft.promised == point.ttft.p99
    loose = steady_state(A10G, chat(1.0, SLO(1e9, 1e9)), 64, PLENTY)
    assert (point.latencies.kept < 1.0, loose.latencies.kept) == (True, 1.0)


def test_the_terms_of_a_point_add_up():
    point = steady_state(A10G, chat(1.5), 64, PLENTY)
    terms = {term.name: term for term in point_terms("Replica", point)}
    assert terms["utilisation"].value == point.rate / point.capacity
    ttft = terms["TTFT at the promised percentile"]
    assert ttft.value == point.ttft.p95 * 1e3
    shown = [float(number) for number in re.findall(r"([\d.]+) ms", ttft.source)]
    assert sum(shown) == pytest.approx(point.ttft.mean * 1e3, abs=0.3)
    full = steady_state(A10G, chat(99.0), 64, PLENTY)
    assert [term.name for term in point_terms("Replica", full)] == ["load", "utilisation"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: steady_state(A10G, chat(), 64, PLENTY), "needs requests_per_second"),
        (lambda: replica_of(A10G, chat(), 0, PLENTY), "slots must be a whole number of at least 1"),
        (lambda: replica_of(A10G, chat(), 1, -5.0), "kv_tokens must be a number above 0"),
        (lambda: replica_of(A10G, chat(), 1, 700), "ends at 768 tokens; the KV cache holds 700"),
        (lambda: replica_of(A10G, chat(), 1, 1e6, max_batched_tokens=1), "max_batched_tokens must"),
        (lambda: point_at(replica_of(A10G, chat(), 1, 1e6), 0.0), "rate must be a number above 0"),
        (lambda: occupancy(replica_of(A10G, chat(), 1, 1e6), 99.0), "99 requests/s are more than"),
        (lambda: ScaledSteps(A10G, decode=0.0), "decode must be a number above 0"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_sentence(call, words):
    with pytest.raises(SizingError, match=words):
        call()


def test_a_step_model_without_time_is_refused():
    class Nothing:
        def mixed_seconds(self, *_):
            return 0.0

    with pytest.raises(SizingError, match=r"gives 0\.0 seconds for a step"):
        replica_of(Nothing(), chat(), 8, PLENTY)


def test_scaled_steps_stop_at_the_floor():
    floor = AffineSteps(0.025)
    scaled = ScaledSteps(A10G, decode=0.5, prefill=0.5, floor=floor)
    assert scaled.mixed_seconds(0, 0, 1, 640) == 0.025
    twice = ScaledSteps(A10G, decode=1.0, prefill=2.0)
    alone = A10G.mixed_seconds(0, 0, 4, 2560)
    whole = A10G.mixed_seconds(512, 131072, 4, 2560)
    assert twice.mixed_seconds(512, 131072, 4, 2560) == pytest.approx(2 * whole - alone)
