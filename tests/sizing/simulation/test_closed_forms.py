"""Where a formula exists, the simulator finds what it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from labkit.sizing.lengths import Fixed, Geometric, Uniform, mean_progress
from labkit.sizing.queueing import mg_c_wait, mm_c_wait
from labkit.sizing.simulation import (
    AffineSteps,
    Burst,
    ClosedLoop,
    ContinuousBatching,
    Deterministic,
    KVCache,
    Poisson,
    StaticBatching,
    Traffic,
    simulate,
)

CONSTANT = AffineSteps(0.01)


def _sigma(values, blocks=50):
    """Standard error of the mean of correlated values, from the means of blocks of them."""
    means = [part.mean() for part in np.array_split(values, blocks)]
    return float(np.std(means, ddof=1) / math.sqrt(blocks))


def test_one_slot_and_fixed_lengths_is_m_d_1():
    """Service = 1 prefill + 49 decode steps = 0.5 s; Pollaczek-Khinchine: rho s / 2(1 - rho)."""
    rate, service = 1.4, 0.5
    run = simulate(Traffic(Fixed(10), Fixed(50), Poisson(rate), 60_000), _slots(1), CONSTANT)
    rho = rate * service
    expected = rho * service / (2 * (1 - rho))
    assert run.wait.mean() == pytest.approx(expected, abs=4 * _sigma(run.wait))
    assert _sigma(run.wait) < 0.03 * expected  # the comparison is worth something
    assert mg_c_wait(rate, service, 1, 0.0).mean == pytest.approx(expected)
    assert run.totals.busy_seconds / run.totals.seconds == pytest.approx(rho, rel=0.02)


def test_one_slot_and_any_lengths_is_m_g_1():
    """The wait grows with the second moment of the service, not with its mean alone."""
    rate, output = 1.4, Geometric(50.0)
    run = simulate(Traffic(Fixed(10), output, Poisson(rate), 120_000), _slots(1), CONSTANT)
    service, variance = 0.01 * output.mean, 0.01**2 * output.variance
    expected = rate * (variance + service**2) / (2 * (1 - rate * service))
    assert run.wait.mean() == pytest.approx(expected, abs=4 * _sigma(run.wait))
    assert mg_c_wait(rate, service, 1, variance / service**2).mean == pytest.approx(expected)


def test_c_slots_with_exponential_answers_is_erlang_c():
    """Constant steps: slots do not slow each other down, so it is M/M/c to within one step."""
    slots, rate, output = 8, 3.4, Geometric(200.0)
    run = simulate(Traffic(Fixed(1), output, Poisson(rate), 120_000), _slots(slots), CONSTANT)
    expected = mm_c_wait(rate, 0.01 * output.mean, slots)
    # Someone who need not wait still waits for the running step to end: under 0.01 s.
    waited = run.wait > 0.01
    assert waited.mean() == pytest.approx(expected.probability, rel=0.03)
    assert run.wait.mean() == pytest.approx(expected.mean, abs=4 * _sigma(run.wait) + 0.01)
    assert run.percentile("wait", 95) == pytest.approx(expected.percentile(95), rel=0.08)
    assert run.slot_utilisation == pytest.approx(rate * 2.0 / slots, rel=0.02)


def test_littles_law_holds_exactly():
    """The integral of the number inside is the sum of the times inside; both ways counted."""
    steps = AffineSteps(0.01, per_prefill_token=1e-4, per_cached_token=1e-6)
    traffic = Traffic(Uniform(10, 200), Geometric(60.0, 400), Poisson(4.0), 5000)
    run = simulate(traffic, ContinuousBatching(8), steps)
    events = np.concatenate([run.arrival, run.finish])
    change = np.concatenate([np.ones(5000), -np.ones(5000)])
    order = np.argsort(events, kind="stable")
    inside = np.cumsum(change[order])[:-1]
    integral = float((inside * np.diff(events[order])).sum())
    rate = 5000 / run.totals.seconds
    assert integral / run.totals.seconds == pytest.approx(rate * run.e2e.mean(), rel=1e-9)


@pytest.mark.parametrize("chunked", [True, False])
def test_saturated_throughput_of_fixed_lengths_is_batch_over_step(chunked):
    batch, prompt, output = 16, 100, 50
    steps = AffineSteps(0.01, per_prefill_token=1e-4, per_sequence=1e-3, per_cached_token=1e-6)
    spec = ContinuousBatching(batch, 2048, chunked_prefill=chunked)
    run = simulate(Traffic(Fixed(prompt), Fixed(output), Burst(), 20 * batch), spec, steps)
    # All are in step: one prefill of 16 prompts, then 49 decode steps of 16 with growing caches.
    prefill = 0.01 + 1e-4 * batch * prompt
    decoding = sum(0.01 + 1e-3 * batch + 1e-6 * batch * (prompt + j) for j in range(output - 1))
    assert run.output_tokens_per_second == pytest.approx(
        batch * output / (prefill + decoding), rel=1e-9
    )
    assert run.slot_utilisation == pytest.approx(1.0)


def test_saturated_throughput_of_mixed_lengths_is_batch_over_mean_step():
    """Many answers at once: step time at the mean context; mean context from the renewal theorem.

    Steps affine in the cached tokens make the throughput exactly batch / mean step.
    """
    batch, prompt, output = 64, 50, Geometric(200.0, 4000)
    steps = AffineSteps(0.01, per_cached_token=2e-7)
    run = simulate(Traffic(Fixed(prompt), output, Burst(), 20_000), _slots(batch), steps)
    # A sequence takes output - 1 decode steps and one step of prefill, in which it reads nothing.
    context = (prompt + mean_progress(output)) * (1 - 1 / output.mean)
    expected = batch / (0.01 + 2e-7 * batch * context)
    assert run.steady_output_tokens_per_second() == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("batch", [4, 16])
def test_static_batching_takes_the_longest_of_its_batch(batch):
    """Batch time = prefill + E[max of n] - 1 decode steps; E[max] = sum of 1 - F(k)^n."""
    output = Geometric(60.0, 1000)
    run = simulate(
        Traffic(Fixed(10), output, Burst(), batch * 3000), StaticBatching(batch), CONSTANT
    )
    longest = sum(1.0 - output.cdf(k) ** batch for k in range(output.largest))
    assert run.totals.seconds / 3000 == pytest.approx(0.01 * longest, rel=0.02)
    # Useful decode work: mean over longest.
    share = (output.mean - 1) / (longest - 1)
    decoded = run.totals.computed_tokens - batch * 3000 * 10
    assert 1 - run.totals.padded_tokens / decoded == pytest.approx(share, rel=0.02)


def test_continuous_batching_gains_what_padding_loses():
    """Saturated, constant steps: the ratio is E[max of n] / mean, whatever the step time is."""
    output, batch, n = Geometric(60.0, 1000), 16, 16 * 1500
    traffic = Traffic(Fixed(10), output, Burst(), n)
    continuous = simulate(traffic, ContinuousBatching(batch, 160), CONSTANT)
    static = simulate(traffic, StaticBatching(batch), CONSTANT)
    longest = sum(1.0 - output.cdf(k) ** batch for k in range(output.largest))
    ratio = continuous.output_tokens_per_second / static.output_tokens_per_second
    assert ratio == pytest.approx(longest / output.mean, rel=0.03)


def test_equal_lengths_leave_nothing_to_gain():
    traffic = Traffic(Fixed(100), Fixed(50), Burst(), 320)
    continuous = simulate(traffic, ContinuousBatching(16, 1600), CONSTANT)
    static = simulate(traffic, StaticBatching(16), CONSTANT)
    assert continuous.totals.seconds == pytest.approx(static.totals.seconds)
    assert static.totals.padded_tokens == 0


def test_users_in_a_closed_loop_follow_the_response_time_law():
    """Interactive response time law: X = N / (R + Z)."""
    traffic = Traffic(Fixed(10), Geometric(50.0), ClosedLoop(12, think_seconds=2.0), 30_000)
    run = simulate(traffic, _slots(4), CONSTANT)
    assert run.requests_per_second == pytest.approx(12 / (run.e2e.mean() + 2.0), rel=0.02)


def test_even_arrivals_slower_than_the_service_never_wait():
    run = simulate(Traffic(Fixed(10), Fixed(50), Deterministic(1.9), 500), _slots(1), CONSTANT)
    assert run.wait.max() == pytest.approx(0.0, abs=1e-9)
    assert run.ttft == pytest.approx(0.01)
    assert run.tpot == pytest.approx(0.01)
    assert run.e2e == pytest.approx(0.5)


def test_a_prefix_hit_saves_prefill_time_and_no_memory():
    steps = AffineSteps(0.01, per_prefill_token=1e-4)
    whole = Traffic(Fixed(1000), Fixed(10), Deterministic(0.1), 5)
    hit = Traffic(Fixed(1000), Fixed(10), Deterministic(0.1), 5, prefix_hit_rate=0.6)
    without, with_hits = (
        simulate(traffic, _slots(1), steps, kv=KVCache(100)) for traffic in (whole, hit)
    )
    assert without.ttft == pytest.approx(0.01 + 0.1)
    assert with_hits.ttft == pytest.approx(0.01 + 0.04)
    assert without.totals.peak_blocks == with_hits.totals.peak_blocks == math.ceil(1009 / 16)


def test_chunking_bounds_the_gap_that_a_long_prompt_tears():
    """One answer is being written when a prompt of 4,000 tokens arrives."""
    from labkit.sizing.simulation import Recorded

    steps = AffineSteps(0.01, per_prefill_token=1e-4)
    traffic = Recorded((0.0, 0.5), (10, 4000), (100, 10))
    chunked = simulate(traffic, ContinuousBatching(2, 512), steps)
    whole = simulate(traffic, ContinuousBatching(2, 8192, chunked_prefill=False), steps)
    assert whole.percentile("itl", 100) == pytest.approx(0.01 + 0.4 + 0.01, rel=0.01)
    assert chunked.percentile("itl", 100) == pytest.approx(0.01 + 512e-4, rel=0.01)
    assert chunked.ttft[1] > whole.ttft[1]  # the price: the prompt takes more steps


def _slots(slots):
    return ContinuousBatching(slots, max_num_batched_tokens=10_000)
