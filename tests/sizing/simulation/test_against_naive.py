"""The simulator agrees with the naive one, token by token; jumping agrees with stepping."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.sizing.simulation import (
    AffineSteps,
    ContinuousBatching,
    KVCache,
    StaticBatching,
    simulate,
)
from tests.sizing.simulation import cases
from tests.sizing.simulation.naive import NaiveContinuous, Sequence, naive_static


def _sequences(traffic, result):
    requests = traffic.draw(result[0])
    return [
        Sequence(i, arrival, int(p), int(o), int(h))
        for i, (arrival, p, o, h) in enumerate(
            zip(result[1].arrival, requests.prompt, requests.output, requests.cached, strict=True)
        )
    ]


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(cases.traffic_of(cases.open_arrivals), cases.pressing),
    cases.continuous,
    cases.step_times,
    st.one_of(st.just(KVCache()), cases.tight_caches()),
    cases.seeds,
)
def test_continuous_batching_agrees_with_the_naive_scheduler(traffic, spec, steps, kv, seed):
    result = simulate(traffic, spec, steps, kv=kv, seed=seed)
    blocks = 10**9 if kv.blocks is None else kv.blocks
    naive = NaiveContinuous(
        _sequences(traffic, (seed, result)),
        steps,
        slots=spec.max_num_seqs,
        budget=spec.budget_for(traffic.draw(seed)),
        chunked=spec.chunked_prefill,
        blocks=blocks,
        block_tokens=kv.block_tokens,
        spare=int(kv.watermark * blocks) if kv.blocks is not None else 0,
    ).serve()
    everybody = naive.everybody
    assert result.preemptions.tolist() == [s.preemptions for s in everybody]
    assert result.first_token == pytest.approx([s.tokens[0] for s in everybody], rel=1e-9)
    assert result.finish == pytest.approx([s.tokens[-1] for s in everybody], rel=1e-9)
    gaps = np.concatenate([np.diff(s.tokens) for s in everybody])
    assert result.gaps.count == len(gaps)
    if len(gaps):
        assert result.gaps.mean == pytest.approx(gaps.mean(), rel=1e-9)
        for q in (50, 95, 100):
            exact = float(np.percentile(gaps, q, method="inverted_cdf"))
            assert result.percentile("itl", q) == pytest.approx(exact, rel=0.0051)


@settings(max_examples=60, deadline=None)
@given(
    cases.traffic_of(cases.open_arrivals, hits=st.just(0.0)),
    st.integers(1, 8),
    st.sampled_from(["padded", "shortest"]),
    cases.step_times,
    cases.seeds,
)
def test_static_batching_agrees_with_the_naive_scheduler(traffic, slots, prefill, steps, seed):
    spec = StaticBatching(slots, prefill=prefill)
    result = simulate(traffic, spec, steps, seed=seed)
    streamed = simulate(traffic, replace(spec, streams=True), steps, seed=seed)
    sequences = _sequences(traffic, (seed, result))
    ends = naive_static(sequences, steps, slots, prefill)
    assert result.finish == pytest.approx([ends[s.number] for s in sequences], rel=1e-9)
    assert streamed.finish == pytest.approx([s.tokens[-1] for s in sequences], rel=1e-9)
    assert result.first_token == pytest.approx([s.tokens[0] for s in sequences], rel=1e-9)
    gaps = np.concatenate([np.diff(s.tokens) for s in sequences])
    assert result.gaps.count == len(gaps)


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(cases.traffic_of(), cases.pressing),
    st.one_of(cases.continuous, cases.static),
    cases.step_times,
    cases.caches,
    cases.seeds,
)
def test_jumping_equals_stepping_one_by_one(traffic, spec, steps, kv, seed):
    jumped = simulate(traffic, spec, steps, kv=kv, seed=seed)
    stepped = simulate(traffic, replace(spec, jump=False), steps, kv=kv, seed=seed)
    for name in ("start", "first_token", "finish"):
        assert getattr(jumped, name) == pytest.approx(getattr(stepped, name), rel=1e-9, abs=1e-9)
    assert jumped.preemptions.tolist() == stepped.preemptions.tolist()
    assert jumped.totals.steps == stepped.totals.steps
    for name in ("busy_seconds", "slot_seconds", "cached_token_seconds", "computed_tokens"):
        one, other = getattr(jumped.totals, name), getattr(stepped.totals, name)
        assert one == pytest.approx(other, rel=1e-9)
    assert jumped.gaps.count == stepped.gaps.count


class CountingSteps(AffineSteps):
    __slots__ = ()
    calls = 0

    def mixed_seconds(self, *step):
        type(self).calls += 1
        return super().mixed_seconds(*step)


def test_a_long_stretch_of_decoding_asks_for_three_step_times(one_long_request):
    CountingSteps.calls = 0
    simulate(one_long_request, ContinuousBatching(4), CountingSteps(0.01, per_cached_token=1e-6))
    assert CountingSteps.calls == 1 + 3  # the prefill; first, last and one inside
