"""Fleets: the smallest that holds a promise, with head-room and one instance lost."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.catalog.specs import Price
from labkit.contract.errors import UnknownNameError
from labkit.sizing import cost_report
from labkit.sizing.engines import ENGINES
from labkit.sizing.fleet import plan_fleet
from labkit.sizing.inputs import SLO, EngineConfig, SizingError, Workload
from labkit.sizing.serving import breaches
from tests.sizing.sizing_specs import (
    ALL_INSTANCES,
    ALL_MODELS,
    BERT,
    G5,
    G5_12XL,
    G6E,
    G6E_48XL,
    G6F,
    LLAMA_2_7B,
    LLAMA_2_13B,
    LLAMA_3_8B,
    P4D,
    SEEN,
    SMOLLM2,
)

PROMISE = SLO(ttft_ms=3000, tpot_ms=150)
FP16 = EngineConfig("fp16", "fp16")
few = settings(max_examples=8, deadline=None)


def chat(rate=10.0, slo=PROMISE):
    return Workload.of(512, 256, rate, slo)


def plan(model=LLAMA_3_8B, machine=G6E, config=FP16, workload=None, **given_):
    return plan_fleet(model, machine, config, workload or chat(), **given_)


def test_the_fleet_by_hand():
    found = plan(workload=chat(rate=40.0))
    one = found.goodput.rate
    assert found.without_spare == math.ceil(40.0 / (0.7 * one))
    assert found.instances == max(found.without_spare, math.ceil(40.0 / one) + 1)
    assert found.point.rate == pytest.approx(40.0 / found.instances)
    assert found.degraded.rate == pytest.approx(40.0 / (found.instances - 1))
    assert not breaches(found.point, PROMISE)
    assert not breaches(found.degraded, PROMISE)
    assert found.holds
    assert found.refusals == ()
    assert found.usd_per_hour == pytest.approx(1.861 * found.instances)
    million_tokens = found.usd_per_hour / (40.0 * 256 * 3600) * 1e6
    assert found.usd_per_million_output_tokens == pytest.approx(million_tokens)
    assert found.usd_per_request == pytest.approx(found.usd_per_hour / 40.0 / 3600)


def test_an_instance_holds_devices_over_tensor_parallel_size_replicas():
    for size, replicas in ((1, 8), (2, 4), (4, 2), (8, 1)):
        config = replace(FP16, tensor_parallel_size=size)
        assert plan(machine=G6E_48XL, config=config).replicas_per_instance == replicas


@few
@given(st.floats(0.01, 300.0), st.floats(0.01, 300.0), st.sampled_from([0, 1, 2]))
def test_more_rate_never_needs_fewer_instances(one, other, spare):
    low, high = sorted((one, other))
    small, large = (
        plan(workload=chat(rate), n_plus=spare, ends=False).instances for rate in (low, high)
    )
    assert small <= large


@few
@given(st.floats(0.1, 200.0), st.floats(0.0, 0.8))
def test_a_spare_is_never_fewer_and_the_rest_holds(rate, headroom):
    bare = plan(workload=chat(rate), n_plus=0, headroom=headroom, ends=False)
    spare = plan(workload=chat(rate), n_plus=1, headroom=headroom, ends=False)
    assert bare.instances <= spare.instances <= bare.instances + 1
    assert bare.degraded is None
    assert not breaches(spare.degraded, PROMISE)
    assert spare.degraded.utilisation >= spare.point.utilisation


@few
@given(st.floats(0.0, 0.9), st.floats(0.0, 0.9))
def test_more_headroom_is_never_fewer(one, other):
    low, high = sorted((one, other))
    tight, roomy = (plan(headroom=part, ends=False).instances for part in (low, high))
    assert tight <= roomy


@few
@given(st.floats(1.0, 3.0))
def test_more_bandwidth_never_needs_more(factor):
    card = G6E.accelerator
    faster = replace(card, bandwidth_bytes_per_s=card.bandwidth_bytes_per_s * factor)
    before = plan(ends=False, workload=chat(60.0)).instances
    after = plan(
        machine=replace(G6E, accelerator=faster), ends=False, workload=chat(60.0)
    ).instances
    assert after <= before


@few
@given(st.floats(0.01, 1000.0))
def test_cost_is_linear_in_price(factor):
    dearer = replace(G6E, prices=(Price("on-demand", 1.861 * factor, "us-east-1", SEEN),))
    cheap, dear = plan(ends=False), plan(machine=dearer, ends=False)
    assert dear.instances == cheap.instances
    assert dear.usd_per_hour == pytest.approx(cheap.usd_per_hour * factor)
    assert dear.usd_per_request == pytest.approx(cheap.usd_per_request * factor)


@few
@given(st.floats(5.0, 150.0))
def test_one_queue_never_needs_more_than_one_each(rate):
    """Where slots are what is short, sharing a queue is worth instances."""
    config = replace(FP16, max_num_seqs=16)
    workload = Workload.of(512, "geometric:mean=256,max=4000", rate, SLO(ttft_ms=1000))
    own, shared = (
        plan(config=config, workload=workload, routing=routing, ends=False)
        for routing in ("random", "shared")
    )
    assert shared.instances <= own.instances
    assert not breaches(shared.degraded, workload.slo)


def test_one_queue_saves_instances_where_slots_are_short():
    config = replace(FP16, max_num_seqs=16)
    workload = Workload.of(512, "geometric:mean=256,max=4000", 60.0, SLO(ttft_ms=1000))
    own, shared = (
        plan(config=config, workload=workload, routing=routing, ends=False)
        for routing in ("random", "shared")
    )
    assert shared.instances < own.instances
    # The pool carries with head-room what so many replicas by themselves would not.
    assert shared.fleet_goodput * 0.7 >= 60.0 * 0.99
    assert shared.instances * shared.goodput.rate < shared.fleet_goodput
    assert shared.load().utilisation() == pytest.approx(60.0 / shared.fleet_goodput)


def test_the_ends_are_around_the_plan():
    found = plan(workload=chat(30.0))
    assert found.goodput_band.low <= found.goodput.rate <= found.goodput_band.high
    assert found.fewest <= found.instances
    assert found.most is None or found.instances <= found.most
    alone = plan(workload=chat(30.0), ends=False)
    assert (alone.goodput_band, alone.fewest, alone.most) == (None, None, None)
    assert alone.instances == found.instances


def test_a_batch_that_does_not_fit_queues():
    """`estimate` refuses 500 sequences of 13B on an L40S; in a fleet the surplus waits."""
    config = replace(FP16, batch=500)
    found = plan(LLAMA_2_13B, config=config, workload=chat(2.0))
    assert found.instances is not None
    assert found.point.bound_by == "kv_cache"
    assert found.point.places < 50


@pytest.mark.parametrize(
    ("slo", "code", "words"),
    [
        (SLO(ttft_ms=5), "SLO_TTFT", r"Unloaded, TTFT is already [\d.]+ ms at percentile 95; "),
        (SLO(tpot_ms=5, percentile=99), "SLO_TPOT", r"TPOT is already [\d.]+ ms at percentile 99"),
    ],
)
def test_no_number_of_replicas_helps(slo, code, words):
    found = plan(workload=chat(slo=slo))
    (refusal,) = found.refusals
    assert refusal.code == code
    assert re.search(words, refusal.detail)
    assert "More replicas do not help" in refusal.detail
    assert (found.instances, found.usd_per_hour, found.holds) == (None, None, False)
    assert found.terms() == ()


@pytest.mark.parametrize(
    ("case", "code"),
    [
        ({"model": LLAMA_2_13B, "machine": G5}, "WEIGHTS"),
        ({"config": replace(FP16, tensor_parallel_size=2)}, "NOT_OFFERED"),
        ({"model": BERT}, "ENGINE_UNSUPPORTED"),
        ({"config": replace(FP16, engine="transformers")}, "ENGINE_UNSUPPORTED"),
        ({"model": LLAMA_2_7B, "workload": Workload.of(3000, 2000, 1.0)}, "ENGINE_UNSUPPORTED"),
        ({"model": SMOLLM2, "machine": G6F}, "ENGINE_UNSUPPORTED"),  # no share of its bandwidth
        ({"model": LLAMA_3_8B, "machine": G5, "workload": Workload.of(90_000, 9, 1.0)}, "KV_CACHE"),
    ],
)
def test_what_cannot_run_is_refused_with_its_code(case, code):
    found = plan(**case)
    assert code in [refusal.code for refusal in found.refusals]
    assert found.instances is None
    assert not found.holds


def test_the_mistake_of_planning_for_static_batching_is_said():
    found = plan(config=replace(FP16, engine="transformers"))
    assert "batches statically" in found.refusals[0].detail


def test_without_a_price_there_is_a_fleet_and_no_cost():
    found = plan(machine=replace(G6E, prices=()))
    assert [refusal.code for refusal in found.refusals] == ["UNKNOWN_PRICE"]
    assert found.instances is not None
    assert found.holds
    assert found.usd_per_hour is found.usd_per_request is None
    assert not [term for term in found.terms() if term.section == "Cost"]


def test_the_load_that_a_cost_report_asks_for():
    found = plan(workload=chat(rate=20.0))
    load = found.load(busy_hours=200)
    assert load.utilisation(200) == pytest.approx(20.0 / (found.replicas * found.goodput.rate))
    report = cost_report(found.usd_per_hour, load, paid_hours=200)
    assert report.usd_per_request.mid == pytest.approx(found.usd_per_request)
    assert plan(workload=chat(slo=SLO(ttft_ms=1))).load() is None


def test_the_terms_show_the_arithmetic():
    found = plan(machine=P4D, config=replace(FP16, tensor_parallel_size=4))
    terms = {(term.section, term.name): term for term in found.terms()}
    assert terms["One replica", "max_num_seqs"].value == 256
    assert terms["One replica", "goodput"].value == found.goodput.rate
    assert terms["Fleet", "replicas per instance"].source == "8 devices / 4"
    assert terms["Fleet", "instances"].value == found.instances
    assert terms["Each replica, all working", "load"].value * 2 * found.instances == 10.0
    ttft = terms["Each replica, 1 lost", "TTFT at the promised percentile"]
    assert ttft.low < ttft.value <= ttft.high
    assert "own prefill" in ttft.source
    assert terms["Cost", "cost"].unit == "USD/h"


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from(ALL_MODELS),
    st.sampled_from(ALL_INSTANCES),
    st.sampled_from(["fp16", "bf16", "int8", "int4", "fp8"]),
    st.sampled_from([None, 1, 2, 4, 8]),
    st.sampled_from([None, *ENGINES]),
    st.sampled_from(["1", "700", "lognormal:mean=600,sigma=1.0,max=6000"]),
    st.sampled_from(["1", "300", "geometric:mean=100,max=2000"]),
    st.floats(1e-3, 1e5),
    st.sampled_from([None, SLO(500, 50), SLO(60_000, 2000, 50.0)]),
    st.sampled_from([0.0, 0.9]),
)
def test_every_valid_input_gives_a_fleet_or_a_code(
    model, machine, weights, tp, engine, prompt, output, rate, slo, hit
):
    config = EngineConfig(weights, "fp16", 4, tp, engine)
    workload = Workload.of(prompt, output, rate, slo, hit)
    found = plan_fleet(model, machine, config, workload, ends=False)
    if found.instances is None:
        assert not found.holds
        assert all(refusal.detail.endswith(".") for refusal in found.refusals)
        assert found.refusals
        return
    assert found.holds
    assert 1 <= found.without_spare <= found.instances
    assert found.point.utilisation <= found.degraded.utilisation < 1.0
    assert not breaches(found.degraded, slo)
    for term in found.terms():
        assert math.isfinite(term.value)
    if found.price is not None:
        assert 0 < found.usd_per_million_output_tokens < math.inf


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: plan(workload=Workload(512, 256)), SizingError, "needs requests_per_second"),
        (lambda: plan(headroom=1.0), SizingError, "headroom must be at least 0 and below 1"),
        (lambda: plan(n_plus=-1), SizingError, "n_plus must be a whole number of at least 0"),
        (lambda: plan(routing="sharde"), UnknownNameError, "sharde.*shared"),
        (lambda: plan(config=replace(FP16, engine="vlm")), UnknownNameError, "vlm.*vllm"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_replicas_of_a_larger_machine_serve_more():
    small, large = plan(machine=G5), plan(machine=G5_12XL)
    assert large.replicas_per_instance == 4 * small.replicas_per_instance
    assert large.goodput.rate == pytest.approx(small.goodput.rate)
