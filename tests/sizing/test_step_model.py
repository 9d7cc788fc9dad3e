"""The coefficients of `step_model` give what `step_time` gives, for every shape of model."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.catalog import Catalog, ModelSpec
from labkit.sizing.device import device_of
from labkit.sizing.efficiency import efficiency_of
from labkit.sizing.inputs import EngineConfig
from labkit.sizing.step import step_time
from labkit.sizing.step_model import step_model
from labkit.sizing.work import decode_work, prefill_work

# Dense, grouped heads, experts, latent attention, sliding windows.
MODELS = ("Llama-2-7B", "Llama-3-8B", "Mixtral-8x7B", "DeepSeek-V3", "gpt-oss-20b")
VARIANTS = ("compiled", "launched", "eager")


@pytest.mark.parametrize("name", MODELS)
@given(
    variant=st.sampled_from(VARIANTS),
    devices=st.sampled_from((1, 2, 4, 8)),
    batch=st.integers(1, 300),
    context=st.integers(1, 100_000),
)
@settings(max_examples=60, deadline=None)
def test_a_decode_step_is_the_same_sum(name, variant, devices, batch, context):
    model, config, device = _case(name)
    efficiency = efficiency_of(variant, "hbm", "16-bit", "nvlink")
    fast = step_model(model, device, config, devices, efficiency)
    work = decode_work(model, config, batch=batch, context=context, devices=devices)
    slow = step_time(work, device, config.weight_format, efficiency)
    assert fast.decode_seconds(batch, context) == pytest.approx(slow.seconds, rel=1e-9)


@pytest.mark.parametrize("name", ["Llama-2-7B", "Llama-3-8B", "Mixtral-8x7B", "DeepSeek-V3"])
@given(devices=st.sampled_from((1, 2, 8)), tokens=st.integers(1, 30_000))
@settings(max_examples=60, deadline=None)
def test_a_prefill_is_the_same_sum(name, devices, tokens):
    model, config, device = _case(name)
    efficiency = efficiency_of("compiled", "hbm", "16-bit", "nvlink")
    fast = step_model(model, device, config, devices, efficiency)
    work = prefill_work(model, config, tokens=tokens, devices=devices)
    slow = step_time(work, device, config.weight_format, efficiency)
    assert fast.prefill_seconds(tokens) == pytest.approx(slow.seconds, rel=1e-9)


def test_a_mixed_step_reads_the_weights_once():
    model, config, device = _case("Llama-3-8B")
    fast = step_model(model, device, config, 1, efficiency_of("compiled", "hbm", "16-bit", "pcie"))
    apart = fast.prefill_seconds(512) + fast.decode_seconds(16, 600)
    together = fast.mixed_seconds(512, 512 * 512 / 2, 16, 16 * 600)
    assert together == pytest.approx(apart - fast.weights - fast.host)
    assert fast.mixed_seconds(0, 0, 0, 0) == 0.0


def _case(name):
    model = ModelSpec.from_config(name)
    config = EngineConfig(weights="bf16", kv="bf16")
    return model, config, device_of(Catalog.load().instance("p4de.24xlarge"))
