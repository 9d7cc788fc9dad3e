"""The engine on the shipped facts: every model on every instance type, and the issue's example."""

from __future__ import annotations

import math

import pytest

from labkit.catalog import Catalog
from labkit.sizing import EngineConfig, Workload, estimate, kv_bytes_per_token
from labkit.sizing.bands import STEP_PRIORS, accelerator_class
from labkit.sizing.engines import ENGINES, LOADERS
from labkit.sizing.explain import explain
from labkit.sizing.parallel import LINK_PRIORS
from tests.sizing.sizing_specs import ALL_MODELS

CATALOG = Catalog.load()
CHAT = Workload(512, 256)


@pytest.mark.parametrize("instance", CATALOG.instances(), ids=lambda instance: instance.name)
def test_every_instance_answers_for_every_model(instance):
    for model in CATALOG.models():
        for weights in ("bf16", "int4"):
            result = estimate(model, instance, EngineConfig(weights, "fp16", 4), CHAT)
            if result.tpot_ms is None:
                unknown = result.device.bandwidth <= 0
                assert unknown or result.refusals
            else:
                assert math.isfinite(result.tpot_ms.high)
                assert result.tpot_ms.low * 1e-3 >= result.decode.roofline


@pytest.mark.parametrize(
    "instance", [i for i in CATALOG.instances() if i.accelerator_count > 1], ids=lambda i: i.name
)
def test_every_multi_device_instance_has_a_link(instance):
    result = estimate(
        CATALOG.model("llama-3-8b"), instance, EngineConfig("fp16", "fp16", 1, 2), CHAT
    )
    assert result.device.link_bytes_per_s > 0


def test_hand_built_specs_agree_with_the_catalogue():
    for model in ALL_MODELS:
        if model.name not in CATALOG.model_names() or model.name.startswith("gemma"):
            continue
        shipped = CATALOG.model(model.name)
        assert shipped.params == model.params
        assert kv_bytes_per_token(shipped) == kv_bytes_per_token(model)


def test_the_prior_tables_cover_every_accelerator_and_engine():
    for accelerator in CATALOG.accelerators():
        kind = "neuron" if accelerator.vendor == "AWS" else "gpu"
        for engine in ENGINES.values():
            if kind in engine.kinds:
                assert (engine.family, accelerator_class(accelerator)) in STEP_PRIORS
    assert ("llama.cpp", "cpu") in STEP_PRIORS
    assert {engine.loader for engine in ENGINES.values()} <= set(LOADERS)


def test_priors_are_shares_of_the_roofline():
    for prior in STEP_PRIORS.values():
        for band in (prior.mbu, prior.mfu):
            assert 0 < band.low <= band.mid <= band.high <= 1
        assert 0 <= prior.layer_seconds.low <= prior.layer_seconds.mid <= prior.layer_seconds.high
    for link in LINK_PRIORS.values():
        assert max(link.share_of_two, link.share_of_more) <= 1
        assert link.alpha_spread == tuple(sorted(link.alpha_spread))


def test_13b_fp16_batch_32_on_g6e_xlarge():
    result = estimate(
        CATALOG.model("llama-2-13b"),
        CATALOG.instance("g6e.xlarge"),
        EngineConfig("fp16", "fp16", 32),
        CHAT,
    )
    assert (result.fits, result.max_sequences) == (False, 27)
    assert result.memory.weights_bytes == 26_031_728_640
    assert result.memory.kv_bytes_per_token == 819_200
    sources = [term.source for term in explain(result)]
    assert all(sources)


@pytest.mark.parametrize(
    ("name", "machine", "low_ms", "high_ms"),
    [
        # Other public tools on batch 1, 16-bit, prompt 512 + output 256 (TPOT in ms): the band
        # holds the operator-table figures and stays above the physical floor.
        ("llama-3-8b", "g6e.xlarge", 17.4, 22.0),
        ("llama-2-13b", "g6e.xlarge", 29.7, 38.6),
    ],
)
def test_bands_hold_the_operator_table_figures(name, machine, low_ms, high_ms):
    result = estimate(
        CATALOG.model(name), CATALOG.instance(machine), EngineConfig("fp16", "fp16"), CHAT
    )
    assert low_ms < result.tpot_ms.low <= high_ms <= result.tpot_ms.high
