"""The engine on the shipped facts: every model on every instance type, and the issue's example."""

from __future__ import annotations

import math

import pytest

from labkit.catalog import Catalog
from labkit.sizing import EngineConfig, Workload, estimate, kv_bytes_per_token
from labkit.sizing.efficiency import efficiency_of, hardware_class
from labkit.sizing.engines import ENGINES, LOADERS
from labkit.sizing.explain import explain
from labkit.sizing.variants import variant_of
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


def test_every_engine_has_an_efficiency_on_every_accelerator_it_runs_on():
    for accelerator in [*CATALOG.accelerators(), None]:
        kind = "cpu" if accelerator is None else "neuron" if accelerator.vendor == "AWS" else "gpu"
        for engine in ENGINES.values():
            if kind not in engine.kinds:
                continue
            for version in (None, "1.0"):
                for bits in ("16-bit", "8-bit", "4-bit"):
                    for link in ("pcie", "nvlink", "neuronlink"):
                        found = efficiency_of(
                            variant_of(engine, version), hardware_class(accelerator), bits, link
                        )
                        _shares_of_a_roof(found)
    assert {engine.loader for engine in ENGINES.values()} <= set(LOADERS)


def _shares_of_a_roof(efficiency):
    for share in (efficiency.mbu, efficiency.mbu_kv, efficiency.mfu, efficiency.mfu_decode):
        assert 0 < share < 1
    assert max(efficiency.link.share_of_two, efficiency.link.share_of_more) < 1
    for seconds in (efficiency.layer_seconds, efficiency.step_seconds, efficiency.prompt_seconds):
        assert seconds >= 0
    for spread in efficiency.spreads.values():
        assert 0 < spread.low <= 1 <= spread.high


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
