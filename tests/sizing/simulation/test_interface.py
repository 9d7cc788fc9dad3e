"""What a caller gets, and what is said to one who asks for the impossible."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from labkit.contract.errors import LabkitError, UnknownNameError
from labkit.sizing.inputs import SLO, SizingError, Workload
from labkit.sizing.lengths import Empirical, Fixed, Geometric, LogNormal, Uniform
from labkit.sizing.simulation import (
    AffineSteps,
    Burst,
    ClosedLoop,
    ContinuousBatching,
    Deterministic,
    KVCache,
    Poisson,
    Recorded,
    StaticBatching,
    Trace,
    Traffic,
    simulate,
)
from labkit.sizing.simulation.steps import DecodeRun, decode_runs
from tests.sizing.simulation.cases import CurvedSteps, KinkedSteps

STEPS = AffineSteps(0.01, per_prefill_token=1e-4)


def test_one_request_by_hand():
    """Prefill 0.02 s, then two decode steps of 0.01 s."""
    run = simulate(Traffic(Fixed(100), Fixed(3), Burst(), 1), ContinuousBatching(2), STEPS)
    assert run.ttft.tolist() == pytest.approx([0.02])
    assert run.e2e.tolist() == pytest.approx([0.04])
    assert run.tpot.tolist() == pytest.approx([0.01])
    assert run.totals.steps == 3
    assert run.totals.computed_tokens == 102
    assert run.mean_running == pytest.approx(1.0)
    assert run.slot_utilisation == pytest.approx(0.5)
    assert run.requests_per_second == pytest.approx(25.0)


def test_goodput_counts_who_was_served_in_time():
    """Two arrive at once, one slot: TTFT 0.02 and 0.06 s."""
    run = simulate(Traffic(Fixed(100), Fixed(3), Burst(), 2), ContinuousBatching(1), STEPS)
    assert run.met(SLO(ttft_ms=30)).tolist() == [True, False]
    assert run.met(SLO(ttft_ms=70, tpot_ms=9)).tolist() == [False, False]
    assert run.goodput(SLO(ttft_ms=30)) == pytest.approx(1 / 0.08)
    assert run.holds(SLO(ttft_ms=30, percentile=50))
    assert not run.holds(SLO(ttft_ms=30, percentile=95))


def test_percentiles_are_of_the_requests_and_gaps():
    run = simulate(Traffic(Fixed(100), Fixed(3), Burst(), 4), ContinuousBatching(1), STEPS)
    assert run.percentile("ttft", 25) == pytest.approx(0.02)
    assert run.percentile("ttft", 26) == pytest.approx(0.06)
    assert run.percentile("ttft", 100) == pytest.approx(0.14)
    assert run.percentile("itl", 50) == pytest.approx(0.01)
    assert run.after(2).percentile("ttft", 50) == pytest.approx(0.10)
    summary = run.summary()
    assert summary["ttft_p50_ms"] == pytest.approx(60)
    assert summary["kv_utilisation"] is None


def test_answers_of_one_token_have_no_tpot():
    run = simulate(Traffic(Fixed(100), Fixed(1), Burst(), 2), ContinuousBatching(1), STEPS)
    assert len(run.tpot) == 0
    assert math.isnan(run.percentile("tpot", 50))
    assert math.isnan(run.percentile("itl", 50))
    assert run.summary()["tpot_p50_ms"] is None
    assert run.met(SLO(tpot_ms=1)).all()


def test_the_picture_of_static_and_continuous_slots():
    """Answers of 2, 6, 4, 3 tokens on two slots, 10 ms a step."""
    traffic = Recorded((0.0,) * 4, (1,) * 4, (2, 6, 4, 3))
    steps = AffineSteps(0.01)
    static = simulate(traffic, StaticBatching(2), steps, timeline=True).timeline
    rows = zip(
        static.request, static.slot, static.start, static.useful_end, static.end, strict=True
    )
    assert [tuple(np.round(row, 6).tolist()) for row in rows] == [
        (0, 0, 0.0, 0.02, 0.06),
        (1, 1, 0.0, 0.06, 0.06),
        (2, 0, 0.06, 0.10, 0.10),
        (3, 1, 0.06, 0.09, 0.10),
    ]
    line = simulate(traffic, ContinuousBatching(2), steps, timeline=True).timeline
    rows = zip(line.request, line.slot, line.start, line.end, strict=True)
    assert [tuple(np.round(row, 6).tolist()) for row in rows] == [
        (0, 0, 0.0, 0.02),
        (1, 1, 0.0, 0.06),
        (2, 0, 0.02, 0.06),
        (3, 0, 0.06, 0.09),
    ]


def test_a_static_batch_may_wait_for_company():
    traffic = Recorded((0.0, 0.3), (1, 1), (5, 5))
    alone = simulate(traffic, StaticBatching(2), AffineSteps(0.1))
    together = simulate(traffic, StaticBatching(2, max_wait_seconds=0.4), AffineSteps(0.1))
    given_up = simulate(traffic, StaticBatching(2, max_wait_seconds=0.2), AffineSteps(0.1))
    assert alone.start.tolist() == pytest.approx([0.0, 0.5])
    assert together.start.tolist() == pytest.approx([0.3, 0.3])  # the batch is full: it starts
    assert given_up.start.tolist() == pytest.approx([0.2, 0.7 + 0.2 - 0.2])


def test_reserving_holds_fewer_sequences_than_paging():
    """A cache of 2,048 tokens: one reserved maximum, or many short answers."""
    traffic = Traffic(Fixed(64), Geometric(64.0, 900), Burst(), 400, max_model_len=1024)
    running = {
        reservation: simulate(
            traffic,
            ContinuousBatching(64),
            STEPS,
            kv=KVCache.of_tokens(
                2048, block_tokens=block, reservation=reservation, max_model_len=1024
            ),
        ).mean_running
        for reservation, block in [("max", 1), ("power_of_two", 1), ("exact", 1), ("paged", 16)]
    }
    assert running["max"] == pytest.approx(2.0, rel=0.02)
    assert running["max"] < running["power_of_two"] < running["exact"] < running["paged"]


def test_recorded_requests_and_traces():
    assert simulate(Recorded((1.0,), (5,), (2,)), ContinuousBatching(1), STEPS).arrival == [1.0]
    traffic = Traffic(Fixed(5), Fixed(2), Trace((0.5, 0.5, 2.0)), 3)
    assert simulate(traffic, ContinuousBatching(1), STEPS).arrival.tolist() == [0.5, 0.5, 2.0]


def test_a_workload_is_traffic_too():
    chat = Workload.of("uniform:10-20", 5, requests_per_second=3.0, prefix_hit_rate=0.2)
    assert Traffic.of(chat, 7) == Traffic(Uniform(10, 20), Fixed(5), Poisson(3.0), 7, 0.2)
    assert Traffic.of(Workload(8, 5), 7, 64) == Traffic(
        Fixed(8), Fixed(5), Burst(), 7, max_model_len=64
    )


def test_max_model_len_cuts_answers():
    traffic = Traffic(Fixed(100), Fixed(100), Burst(), 3, max_model_len=128)
    assert simulate(traffic, ContinuousBatching(1), STEPS).output.tolist() == [28, 28, 28]


@pytest.mark.parametrize(
    "steps", [AffineSteps(0.01, per_cached_token=1e-5), KinkedSteps(), CurvedSteps()]
)
@pytest.mark.parametrize("seconds", [math.inf, 0.5, 0.013])
def test_runs_sum_to_single_steps(steps, seconds):
    one_by_one = []
    for j in range(300):
        one_by_one.append(steps.mixed_seconds(0, 0.0, 3, 50 + 3 * j))
        if sum(one_by_one) >= seconds:
            break
    runs = list(decode_runs(steps, 3, 50, 300, seconds))
    assert sum(run.steps for run in runs) == len(one_by_one)
    assert sum(run.seconds for run in runs) == pytest.approx(sum(one_by_one), rel=1e-12)


def test_a_run_is_cut_at_the_step_that_reaches_the_time():
    run = DecodeRun(10, 1.0, 1.9)
    assert run.cut(0.5).steps == 1
    assert run.cut(1.0).steps == 1
    assert run.cut(1.01).steps == 2
    assert run.cut(2.1) == DecodeRun(2, 1.0, pytest.approx(1.1))
    assert run.cut(99.0) is run


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ContinuousBatching(0), "max_num_seqs"),
        (lambda: ContinuousBatching(64, 32), "max_num_batched_tokens=32 must be at least"),
        (lambda: StaticBatching(4, max_wait_seconds=-1.0), "max_wait_seconds"),
        (lambda: StaticBatching(4, prefill="shortst"), "did you mean shortest?"),
        (lambda: KVCache(0), "blocks"),
        (lambda: KVCache(reservation="pages"), "did you mean paged?"),
        (lambda: KVCache(reservation="max"), "needs max_model_len"),
        (lambda: KVCache.of_tokens(10), "no block of 16"),
        (lambda: AffineSteps(0.0), "above 0"),
        (lambda: AffineSteps(0.01, per_sequence=-1.0), "per_sequence"),
        (lambda: Poisson(0.0), "requests_per_second"),
        (lambda: Deterministic(float("nan")), "requests_per_second"),
        (lambda: ClosedLoop(0), "users"),
        (lambda: ClosedLoop(1, float("inf")), "think_seconds"),
        (lambda: Trace((1.0, 0.5)), "number 2 is 0.5"),
        (lambda: Recorded((1.0,), (5, 6), (2,)), "1, 2 and 1"),
        (lambda: Recorded((), (), ()), "at least one"),
        (lambda: Recorded((1.0,), (0,), (2,)), "prompt tokens"),
        (lambda: Traffic(Fixed(5), Fixed(5), Burst(), 0), "requests"),
        (lambda: Traffic(Fixed(5), Fixed(5), Burst(), 10**8), "10,000,000"),
        (lambda: Traffic(Fixed(5), Fixed(5), Burst(), 1, prefix_hit_rate=1.0), "prefix_hit_rate"),
        (lambda: Traffic(Fixed(128), Fixed(5), Burst(), 1, max_model_len=128), "no room"),
        (lambda: _run(Traffic(Fixed(5), Fixed(5), Trace((0.0,)), 2)), "1 arrivals, not 2"),
        (lambda: _run(Traffic(Fixed(100), Fixed(29), Burst(), 2), kv=KVCache(7)), "needs 8 KV"),
        (lambda: _run(_ONE, ContinuousBatching(1, 64, chunked_prefill=False)), "at least 109"),
        (lambda: simulate(_ONE, ContinuousBatching(1), STEPS, seed=-1), "seed"),
        (lambda: _run(_ONE).percentile("tftt", 50), "did you mean ttft?"),
        (lambda: _run(_ONE).percentile("ttft", 0), "percentile"),
        (lambda: _run(_ONE).after(1), "1 of 1"),
        (lambda: _run(_ONE).steady_output_tokens_per_second(), "no steady part"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(make, said):
    with pytest.raises(LabkitError) as caught:
        make()
    assert isinstance(caught.value, SizingError | UnknownNameError)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


_ONE = Traffic(Fixed(100), Fixed(10), Burst(), 1)


def _run(traffic, spec=None, kv=None):
    return simulate(traffic, spec or ContinuousBatching(2), STEPS, kv=kv)


@dataclass(frozen=True)
class BrokenSteps:
    """A step-time model that gives one value for everything."""

    seconds: float

    def mixed_seconds(self, *_step):
        return self.seconds


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("spec", [ContinuousBatching(2), StaticBatching(2)])
def test_a_step_that_takes_no_time_is_refused(spec, seconds):
    with pytest.raises(SizingError, match="step-time model gave"):
        simulate(_ONE, spec, BrokenSteps(seconds))


def test_a_cache_that_is_too_small_for_a_reserved_length_says_so():
    traffic = Traffic(Empirical((5, 90)), Fixed(40), Burst(), 20)
    with pytest.raises(SizingError, match="longer than max_model_len=64"):
        _run(traffic, kv=KVCache(100, 1, "max", 64))


@pytest.mark.quiet
def test_a_hundred_thousand_requests_a_minute():
    """One core, prompt 512, output 200 on average, 64 slots, with and without a pressed cache."""
    import time

    steps = AffineSteps(0.02, per_prefill_token=1e-4, per_prefill_pair=1e-9, per_cached_token=1e-7)
    output = LogNormal.with_mean(200, p95=600, cap=2048)
    for arrivals, kv in [(Burst(), KVCache(2500)), (Poisson(6.0), KVCache())]:
        began = time.perf_counter()
        simulate(Traffic(Fixed(512), output, arrivals, 5000), ContinuousBatching(64), steps, kv=kv)
        assert 5000 / (time.perf_counter() - began) * 60 >= 100_000
