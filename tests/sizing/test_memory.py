"""The memory budget on a device: version, card, replication, and where it must refuse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labkit.sizing import EngineConfig, Workload, estimate, explain
from labkit.sizing.device import device_of
from labkit.sizing.engines import ENGINES, LOADERS, engine_named
from labkit.sizing.memory import (
    engine_visible_bytes,
    memory_budget,
    overhead_band,
    overhead_parts,
)
from tests.sizing.sizing_specs import G5, G6E, GIB, INF2, LLAMA_2_7B, LLAMA_3_8B, P5

CHAT = Workload(512, 256)


def budget(model, instance, n=1, engine="vllm", **config):
    config = {"weights": "fp16", "kv": "fp16"} | config
    return memory_budget(
        model, device_of(instance), engine_named(engine), EngineConfig(**config), n
    )


def test_the_version_moves_share_and_overhead():
    old = budget(LLAMA_3_8B, P5, engine_version="0.10.2")
    new = budget(LLAMA_3_8B, P5, engine_version="0.27.1")
    assert (old.utilization, new.utilization) == (0.90, 0.92)
    assert old.overhead.mid > 2 * new.overhead.mid
    assert budget(LLAMA_3_8B, P5) == new


def test_fewer_slots_leave_more_cache():
    few = budget(LLAMA_3_8B, P5, engine_version="0.10.2", max_num_seqs=64)
    assert few.kv_pool_bytes > budget(LLAMA_3_8B, P5, engine_version="0.10.2").kv_pool_bytes


def test_a_batch_above_the_default_raises_the_slots():
    many = budget(LLAMA_3_8B, G6E, engine_version="0.10.2", batch=512)
    assert many.overhead.mid > budget(LLAMA_3_8B, G6E, engine_version="0.10.2").overhead.mid


def test_a_share_that_was_asked_for_wins():
    assert budget(LLAMA_3_8B, G6E, gpu_memory_utilization=0.5).utilization == 0.5


def test_engines_see_less_than_the_card_s_label():
    """A T4 is sold with 16 GB; CUDA sees 15,360 MiB, and engines log 14.74 GiB."""
    card = replace(
        G5.accelerator,
        name="T4",
        memory_bytes=16_384 * 2**20,
        usable_bytes=15_360 * 2**20,
        engine_visible_bytes=int(14.74 * GIB),
        compute_capability="7.5",
    )
    device = replace(device_of(G5), accelerator=card, usable_bytes=float(card.usable_bytes))
    assert engine_visible_bytes(device) == int(14.74 * GIB)
    config = EngineConfig("fp16", "fp16", engine_version="0.10.2")
    pool = memory_budget(LLAMA_2_7B, device, engine_named("vllm"), config, 1).pool
    assert pool.mid < 0.3 * GIB  # the label would promise 1.6 GiB
    half = replace(device, usable_bytes=device.usable_bytes / 2)
    assert engine_visible_bytes(half) == half.usable_bytes


@pytest.mark.parametrize("engine", [e.name for e in ENGINES.values() if "gpu" in e.kinds])
def test_parts_add_up_to_the_overhead(engine):
    config = EngineConfig("fp16", "fp16")
    args = (LLAMA_3_8B, device_of(G6E), engine_named(engine), config, 2)
    parts, band = overhead_parts(*args), overhead_band(*args)
    assert sum(part.size.mid for part in parts) == pytest.approx(band.mid)
    assert all(part.source for part in parts)


def test_explain_shows_the_parts_with_their_sources():
    config = EngineConfig("fp16", "fp16", engine_version="0.10.2", tensor_parallel_size=2)
    terms = [
        term
        for term in explain(estimate(LLAMA_3_8B, P5, config, CHAT))
        if term.name.startswith("engine overhead")
    ]
    *parts, whole = terms
    assert len(parts) == 3
    assert sum(part.value for part in parts) == pytest.approx(whole.value)
    assert any("1,024 sequences x 128,256 vocabulary" in part.source for part in parts)


def test_sglang_sizes_its_pool_before_activations():
    sglang = budget(LLAMA_3_8B, P5, engine="sglang", gpu_memory_utilization=0.85)
    vllm = budget(
        LLAMA_3_8B, P5, engine="vllm", gpu_memory_utilization=0.85, engine_version="0.10.2"
    )
    assert sglang.kv_pool_bytes > vllm.kv_pool_bytes + 3 * GIB


def test_host_memory_by_loader():
    assert LOADERS["state_dict"].host_bytes(10e9) == 10e9 + LOADERS["state_dict"].reserve_bytes
    assert LOADERS["streamed"].host_bytes(10e9) == LOADERS["streamed"].reserve_bytes
    assert all(loader.source for loader in LOADERS.values())


def test_neuron_keeps_its_prior():
    result = budget(LLAMA_2_7B, INF2, engine="neuron", n=2)
    assert result.overhead.kind == "prior"
