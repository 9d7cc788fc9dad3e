"""Replicas of real machines: their limits, both ends, and the simulator on the same step times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from labkit.sizing.device import device_of
from labkit.sizing.engines import engine_named
from labkit.sizing.estimate import estimate
from labkit.sizing.inputs import EngineConfig, SizingError, Workload
from labkit.sizing.serving import point_at
from labkit.sizing.serving.limits import limits_of
from labkit.sizing.serving.scenarios import kv_tokens_of, scenarios_of
from labkit.sizing.simulation import ContinuousBatching, KVCache, Poisson, Traffic, simulate
from labkit.sizing.step_model import step_model
from tests.sizing.serving.cases import MIXED_OUTPUT, MIXED_PROMPT
from tests.sizing.sizing_specs import (
    G5,
    G6,
    G6E,
    GEMMA_2,
    INF2,
    LLAMA_2_13B,
    LLAMA_3_8B,
    P5,
    TINYLLAMA,
)

FP16 = EngineConfig("fp16", "fp16")
CHAT = Workload(512, 256)


def limits(machine, config=FP16, model=LLAMA_3_8B, engine="vllm"):
    return limits_of(model, device_of(machine), engine_named(engine), config, 1)


def scenarios(machine, model=LLAMA_3_8B, workload=CHAT, config=FP16):
    found = estimate(model, machine, config, workload)
    return scenarios_of(found, limits(machine, config, model)), found


def test_limits_are_the_engine_s_own():
    assert (limits(G6E).slots, limits(G6E).batched_tokens) == (256, 2048)
    assert (limits(P5).slots, limits(P5).batched_tokens) == (1024, 8192)  # cards of 70 GiB and more


def test_limits_that_are_given_count():
    given = replace(FP16, max_num_seqs=48, max_num_batched_tokens=512)
    found = limits(G6E, given)
    assert (found.slots, found.batched_tokens) == (48, 512)
    assert (found.slots_source, found.tokens_source) == ("given", "given")


def test_a_step_has_room_for_every_sequence():
    assert limits(G6E, replace(FP16, max_num_seqs=4096)).batched_tokens == 4097


def test_a_compiled_batch_is_the_limit():
    found = limits(INF2, replace(FP16, batch=8), TINYLLAMA, "neuron")
    assert found.slots == 8
    assert "set up for" in found.slots_source


@pytest.mark.parametrize("machine", [G5, G6, G6E])
def test_the_ends_are_slower_and_faster(machine):
    found, _ = scenarios(machine)
    assert found.slow.capacity < found.mid.capacity < found.fast.capacity
    assert found.slow.places <= found.mid.places <= found.fast.places


def test_the_fast_end_stops_at_the_roofline():
    found, e = scenarios(G6E)
    reading = e.decode.work.weight_bytes / e.device.bandwidth
    assert found.fast.table.plain(np.array([1.0]))[0] >= reading
    # and the mid is the step model itself
    steps = step_model(e.model, e.device, e.config, 1, e.efficiency)
    expected = steps.decode_seconds(64, found.mid.traffic.context)
    assert found.mid.table.plain(np.array([64.0]))[0] == pytest.approx(expected, rel=1e-3)


def test_tokens_of_the_cache_are_what_the_pool_holds():
    found = estimate(LLAMA_3_8B, G6E, FP16, CHAT)
    tokens = kv_tokens_of(found, found.memory.pool.mid)
    assert tokens == pytest.approx(found.memory.max_cached_tokens, rel=0.001)


def test_a_window_makes_room():
    """Half of Gemma-2's layers keep 4,096 tokens: at 16,384 the cache holds 1.6 times as many."""
    model = replace(GEMMA_2, max_context=32_768)
    short, long = (estimate(model, G6E, FP16, Workload(tokens, 2)) for tokens in (2_000, 16_383))
    gain = kv_tokens_of(long, 1e10) / kv_tokens_of(short, 1e10)
    assert gain == pytest.approx(2 / (1 + 4096 / 16_384), rel=0.01)


def test_without_room_for_the_slow_end_there_is_none():
    found, _ = scenarios(G5, workload=Workload(30_000, 100))
    assert found.slow is None
    assert found.mid.places == 1


def test_what_was_not_timed_has_no_replica():
    refused = estimate(LLAMA_2_13B, G5, FP16, CHAT)
    with pytest.raises(SizingError, match=r"llama-2-13b on g5\.xlarge has no step time"):
        scenarios_of(refused, limits(G5))


@pytest.mark.parametrize(
    "workload", [CHAT, Workload.of(MIXED_PROMPT, MIXED_OUTPUT)], ids=["equal", "real"]
)
@pytest.mark.parametrize("machine", [G5, G6, G6E], ids=["A10G", "L4", "L40S"])
def test_the_simulator_agrees_on_the_engine_s_own_step_times(machine, workload):
    """Llama-3-8B at 70 % of capacity: the load that 30 % of head-room leaves."""
    found, e = scenarios(machine, workload=workload)
    limit = limits(machine)
    rate = 0.7 * found.mid.capacity
    point = point_at(found.mid, rate)
    run = simulate(
        Traffic(workload.prompts, workload.outputs, Poisson(rate), 12_000),
        ContinuousBatching(limit.slots, limit.batched_tokens),
        step_model(e.model, e.device, e.config, 1, e.efficiency),
        kv=KVCache.of_tokens(int(kv_tokens_of(e, e.memory.pool.mid))),
        seed=11,
    ).after(2000)
    assert point.tpot.mean == pytest.approx(run.tpot.mean(), rel=0.10)
    assert point.tpot.p95 == pytest.approx(run.percentile("tpot", 95), rel=0.20)
    assert point.ttft.p50 == pytest.approx(run.percentile("ttft", 50), rel=0.10)
    assert point.ttft.p95 == pytest.approx(run.percentile("ttft", 95), rel=0.20)
