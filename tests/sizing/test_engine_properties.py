"""Laws of the whole engine, over random models, machines, set-ups and loads."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from labkit.sizing import SLO, EngineConfig, RefusalCode, Workload, estimate
from labkit.sizing.engines import ENGINES
from labkit.sizing.recommend import recommend
from labkit.sizing.refusal_codes import BLOCKING
from labkit.sizing.sweep import sweep
from tests.sizing.sizing_specs import ALL_INSTANCES, ALL_MODELS

models = st.sampled_from(ALL_MODELS)
machines = st.sampled_from(ALL_INSTANCES)
accelerated = st.sampled_from([i for i in ALL_INSTANCES if i.accelerator is not None])
engines = st.sampled_from([None, *ENGINES])
formats = st.sampled_from(["fp16", "bf16", "fp8", "int8", "int4"])
sizes = st.sampled_from([1, 2, 4, 8])
batches = st.integers(1, 400)
tokens = st.integers(1, 8_000)
hits = st.floats(0, 0.95)
factors = st.floats(1.0, 20.0)


def ends(band):
    return () if band is None else (band.low, band.mid, band.high)


def no_slower(fast, slow) -> bool:
    """Whether every time of `fast` is at most that of `slow`, and every rate at least."""
    times = all(
        a <= b * (1 + 1e-12)
        for name in ("ttft_ms", "tpot_ms")
        for a, b in zip(ends(getattr(fast, name)), ends(getattr(slow, name)), strict=True)
    )
    rates = all(
        a >= b * (1 - 1e-12)
        for name in ("output_tokens_per_s", "requests_per_s")
        for a, b in zip(ends(getattr(fast, name)), ends(getattr(slow, name)), strict=True)
    )
    return times and rates


@given(models, accelerated, engines, formats, sizes, batches, tokens, tokens, hits, factors)
def test_more_bandwidth_is_never_slower(
    model, machine, engine, weights, tp, batch, prompt, output, hit, factor
):
    config = EngineConfig(weights, "fp16", batch, tp, engine)
    workload = Workload(prompt, output, prefix_hit_rate=hit)
    card = machine.accelerator
    wider = replace(card, bandwidth_bytes_per_s=card.bandwidth_bytes_per_s * factor)
    before = estimate(model, machine, config, workload)
    after = estimate(model, replace(machine, accelerator=wider), config, workload)
    assert after.refusals == before.refusals
    assert after.max_sequences == before.max_sequences
    assert no_slower(after, before)


@given(models, accelerated, engines, formats, sizes, batches, tokens, tokens, factors)
def test_more_flops_and_a_faster_link_are_never_slower(
    model, machine, engine, weights, tp, batch, prompt, output, factor
):
    config, workload = EngineConfig(weights, "fp16", batch, tp, engine), Workload(prompt, output)
    card = machine.accelerator
    stronger = replace(card, flops={name: rate * factor for name, rate in card.flops.items()})
    linked = replace(machine, link_bytes_per_s=machine.link_bytes_per_s * factor)
    before = estimate(model, machine, config, workload)
    assert no_slower(
        estimate(model, replace(machine, accelerator=stronger), config, workload), before
    )
    assert no_slower(estimate(model, linked, config, workload), before)


@given(models, machines, engines, formats, sizes, tokens, tokens, hits)
def test_more_batch_never_makes_less_until_the_cache_runs_out(
    model, machine, engine, weights, tp, prompt, output, hit
):
    frame = sweep(
        model,
        machine,
        weights=weights,
        kv="fp16",
        tensor_parallel_sizes=tp,
        engines=engine,
        batches=sorted({*range(1, 40), *(2**i for i in range(12)), *range(100, 1_000, 90)}),
        prompt_tokens=prompt,
        output_tokens=output,
        prefix_hit_rates=hit,
    )
    resident = frame[frame.fits & frame.tpot_ms.notna()]
    assume(len(resident) > 1)
    assert (resident.running_sequences == resident.batch).all()
    for rate in ("output_tokens_per_s_low", "output_tokens_per_s", "output_tokens_per_s_high"):
        made = resident[rate].tolist()
        # The ends of the band are those of one sequence, then those of several: another range.
        same = made[1:] if rate.endswith(("low", "high")) and resident.batch.iloc[0] == 1 else made
        assert all(less <= more * (1 + 1e-12) for less, more in pairwise(same)), rate
    steps = resident.tpot_ms.tolist()
    assert all(less <= more * (1 + 1e-12) for less, more in pairwise(steps))


@given(models, machines, formats, sizes, batches, tokens, tokens, st.floats(1e-3, 1e3))
def test_cost_is_linear_in_the_price(model, machine, weights, tp, batch, prompt, output, factor):
    config, workload = EngineConfig(weights, "fp16", batch, tp), Workload(prompt, output)
    prices = tuple(replace(p, usd_per_hour=p.usd_per_hour * factor) for p in machine.prices)
    one = estimate(model, machine, config, workload)
    other = estimate(model, replace(machine, prices=prices), config, workload)
    assert math.isclose(other.usd_per_hour, factor * one.usd_per_hour)
    for before, after in zip(
        ends(one.usd_per_million_output_tokens),
        ends(other.usd_per_million_output_tokens),
        strict=True,
    ):
        assert math.isclose(after, factor * before)
    assert one.output_tokens_per_s == other.output_tokens_per_s


@given(models, machines, engines, formats, sizes, batches, tokens, tokens, hits)
def test_units_are_consistent(model, machine, engine, weights, tp, batch, prompt, output, hit):
    config = EngineConfig(weights, "fp16", batch, tp, engine)
    e = estimate(model, machine, config, Workload(prompt, output, prefix_hit_rate=hit))
    assume(e.decode is not None)
    for band, mirrored in ((e.requests_per_s, False), (e.usd_per_million_output_tokens, True)):
        rates = ends(e.output_tokens_per_s)
        for value, rate in zip(ends(band), rates[::-1] if mirrored else rates, strict=True):
            wanted = e.usd_per_hour / (rate * 3600) * 1e6 if mirrored else rate / output
            assert math.isclose(value, wanted)
    running, step, first = e.running_sequences, e.tpot_ms.mid / 1e3, e.decode.seconds
    assert math.isclose(step, first)
    if e.ttft_ms is not None:
        cycle = running * e.ttft_ms.mid / 1e3 + (output - 1) * step
        assert math.isclose(e.output_tokens_per_s.mid * cycle, running * output)
        # A sequence cannot finish before its own prefill and all its steps.
        assert e.requests_per_s.mid <= running / (e.ttft_ms.mid / 1e3 + (output - 1) * step) * (
            1 + 1e-9
        )
    assert math.isclose(sum((e.decode.weights, e.decode.cache)), e.decode.memory)


@settings(max_examples=25)
@given(
    models,
    st.lists(machines, min_size=1, max_size=5, unique_by=lambda machine: machine.name),
    st.integers(1, 2**20),
    st.integers(1, 2**20),
    st.none() | st.floats(1e-6, 1e6),
    st.none()
    | st.builds(
        SLO,
        st.none() | st.floats(1e-3, 1e7),
        st.none() | st.floats(1e-3, 1e7),
        st.floats(0.1, 99.99),
    ),
    hits,
    st.floats(0, 0.99),
    st.integers(0, 5),
)
def test_every_recommendation_is_finite_numbers_or_refusal_codes(
    model, instances, prompt, output, rate, slo, hit, headroom, n_plus
):
    found = recommend(
        model,
        Workload(prompt, output, rate, slo, hit),
        instances=instances,
        headroom=headroom,
        n_plus=n_plus,
    )
    for d in (*found.deployments, *found.front):
        fleet = d.fleet
        bands = (
            d.ttft_ms, d.tpot_ms, d.served_tpot_ms, d.e2e_ms, d.output_tokens_per_s,
            d.requests_per_s, fleet.usd_per_hour, fleet.usd_per_month, fleet.usd_per_request,
            fleet.usd_per_million_output_tokens,
        )  # fmt: skip
        for band in bands:
            assert 0 < band.low <= band.mid * (1 + 1e-12)
            assert band.mid <= band.high * (1 + 1e-12) < math.inf
        assert 1 <= d.batch <= d.max_sequences
        assert 0 < d.in_flight <= d.batch * (1 + 1e-9)
        assert 1 <= d.busy <= d.batch
        assert fleet.instances >= 1
        assert 0 < fleet.utilisation <= 1
    for loser in found.losers:
        assert loser.misses
        assert all(isinstance(miss.code, RefusalCode) for miss in loser.misses)
    assert len(found.losers) + len(found.deployments) == found.considered > 0
    assert bool(found.deployments) == bool(found.front)


@given(models, machines, engines, formats, formats, st.integers(1, 10**6), tokens, tokens, sizes)
def test_every_estimate_is_finite_numbers_or_refusal_codes(
    model, machine, engine, weights, kv, batch, prompt, output, tp
):
    e = estimate(
        model, machine, EngineConfig(weights, kv, batch, tp, engine), Workload(prompt, output)
    )
    numbers = [
        value
        for band in (e.ttft_ms, e.tpot_ms, e.output_tokens_per_s, e.usd_per_million_output_tokens)
        for value in ends(band)
    ]
    assert all(0 < value < math.inf for value in numbers)
    assert e.fits is not bool({refusal.code for refusal in e.refusals} & BLOCKING)
