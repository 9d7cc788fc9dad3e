"""Remembered functions give what the plain ones give, and never an answer of another object."""

from __future__ import annotations

import gc
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from labkit.sizing import EngineConfig, Workload, estimate, resident_weight_bytes
from labkit.sizing.identity import remembered
from tests.sizing.sizing_specs import ALL_INSTANCES, ALL_MODELS, FP16, G6E, LLAMA_3_8B


def test_objects_are_told_apart_by_identity_and_the_rest_by_value():
    calls = []

    @remembered(objects=1)
    def joined(parts, end):
        calls.append(end)
        return "".join(parts) + end

    one, twin = ["a"], ["a"]
    assert joined(one, "!") == joined(one, "!") == joined(twin, "!") == "a!"
    assert calls == ["!", "!"], "an equal list is still another object"
    assert joined(one, "?") == "a?"
    assert joined(parts=one, end="!") == "a!"
    assert len(calls) == 4, "a call by keyword is worked out, not remembered"


def test_a_new_object_never_gets_the_answer_of_one_that_is_gone():
    @remembered(objects=1)
    def first(items):
        return items[0]

    for number in range(200):  # an id would be used again at once if entries let go
        assert first([number]) == number
        gc.collect(0)


def test_it_starts_anew_when_full():
    calls = []

    @remembered(objects=1, most=3)
    def same(item, n):
        calls.append(n)
        return n

    thing = object()
    for n in (0, 1, 2, 3, 3, 0):
        assert same(thing, n) == n
    assert calls == [0, 1, 2, 3, 0]


def test_a_changed_copy_of_a_model_or_machine_is_another_one():
    config, workload = EngineConfig("fp16", "fp16"), Workload(512, 256)
    before = estimate(LLAMA_3_8B, G6E, config, workload)
    tall = replace(LLAMA_3_8B, layers=64, attention=(replace(LLAMA_3_8B.attention[0], layers=64),))
    assert estimate(tall, G6E, config, workload).memory.kv_bytes_per_token == (
        2 * before.memory.kv_bytes_per_token
    )
    wide = replace(LLAMA_3_8B, params=replace(LLAMA_3_8B.params, linear=2))
    assert resident_weight_bytes(wide, FP16) < resident_weight_bytes(LLAMA_3_8B, FP16)
    small = replace(G6E, accelerator_usable_bytes=G6E.accelerator_usable_bytes // 2)
    assert estimate(LLAMA_3_8B, small, config, workload).max_sequences < before.max_sequences


@given(
    st.sampled_from(ALL_MODELS),
    st.sampled_from(ALL_INSTANCES),
    st.sampled_from(["fp16", "bf16", "fp8", "int8", "int4", "int4-g64"]),
    st.sampled_from(["fp16", "bf16", "fp8"]),
    st.integers(1, 600),
    st.sampled_from([None, 1, 2, 8]),
    st.sampled_from([None, "0.8.5", "0.12.0"]),
    st.integers(1, 9_000),
    st.integers(1, 900),
)
def test_what_is_remembered_equals_what_is_worked_out_anew(
    model, machine, weights, kv, batch, tp, version, prompt, output
):
    config = EngineConfig(weights, kv, batch, tp, engine_version=version)
    workload = Workload(prompt, output, prefix_hit_rate=0.3)
    # Copies are other objects, so that nothing of them is remembered.
    fresh = replace(machine, accelerator=machine.accelerator and replace(machine.accelerator))
    known = estimate(model, machine, config, workload)
    anew = estimate(replace(model), fresh, replace(config), workload)
    for name in (
        "fits", "max_sequences", "running_sequences", "refusals", "memory", "ttft_ms", "tpot_ms",
        "output_tokens_per_s", "bound", "usd_per_million_output_tokens", "decode", "prefill",
    ):  # fmt: skip
        assert getattr(known, name) == getattr(anew, name), name
