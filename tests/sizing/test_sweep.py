"""A sweep's rows equal `estimate`, whatever the model, machine, format and load."""

from __future__ import annotations

import math
from dataclasses import replace
from operator import attrgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.catalog import Catalog
from labkit.catalog.specs import Attention
from labkit.contract.errors import UnknownNameError
from labkit.sizing import SLO, EngineConfig, SizingError, Workload, estimate
from labkit.sizing.engines import ENGINES
from labkit.sizing.sweep import sweep
from tests.sizing.sizing_specs import (
    ALL_INSTANCES,
    ALL_MODELS,
    G5_48XL,
    G6E,
    GEMMA_2,
    LLAMA_2_13B,
    LLAMA_3_8B,
    MIXTRAL,
    MLA,
)

NAME = attrgetter("name")
BANDS = ("ttft_ms", "tpot_ms", "output_tokens_per_s", "usd_per_million_output_tokens")


def several(values, most=2, by=None):
    return st.lists(values, min_size=1, max_size=most, unique_by=by or (lambda value: value))


def same(value: float, wanted: float | None) -> bool:
    if wanted is None:
        return math.isnan(value)
    return math.isclose(value, wanted, rel_tol=1e-9)


def check(frame, models, instances, slo, price_kind="on-demand"):
    by_model = {model.name: model for model in models}
    by_instance = {instance.name: instance for instance in instances}
    for row in frame.itertuples():
        config = EngineConfig(
            row.weights, row.kv, row.batch, row.tensor_parallel_size, engine=row.engine
        )
        workload = Workload(
            row.prompt_tokens, row.output_tokens, slo=slo, prefix_hit_rate=row.prefix_hit_rate
        )
        wanted = estimate(
            by_model[row.model], by_instance[row.instance], config, workload, price_kind=price_kind
        )
        assert row.fits == wanted.fits
        assert row.max_sequences == wanted.max_sequences
        assert row.running_sequences == wanted.running_sequences
        for name in BANDS:
            band = getattr(wanted, name)
            for ending, value in (("_low", "low"), ("", "mid"), ("_high", "high")):
                assert same(getattr(row, name + ending), band and getattr(band, value)), name
        assert same(row.usd_per_hour, wanted.usd_per_hour)
        assert row.bound == wanted.bound or (wanted.bound is None and row.bound != row.bound)
        codes = [str(refusal.code) for refusal in wanted.refusals]
        assert row.refusal == codes[0] if codes else row.refusal != row.refusal
        assert set(row.refusals.split("+")) - {""} == set(codes)


# Three layers in four keep a state of constant size, as in hybrid state-space models.
HYBRID = replace(
    LLAMA_3_8B,
    name="hybrid-8b",
    attention=(
        Attention("linear", 24, 32, 32, 128),
        Attention("full", 8, 32, 8, 128),
    ),
)


lengths = st.integers(1, 40_000)
slos = st.none() | st.builds(SLO, st.none() | st.floats(1, 5_000), st.none() | st.floats(0.5, 200))
axes = {
    "weights": several(
        st.sampled_from(["fp32", "fp16", "bf16", "fp8", "int8", "int4", "int4-g64", "mxfp4"])
    ),
    "kv": several(st.sampled_from([None, "fp16", "bf16", "fp8", "int8", "fp32"])),
    "tensor_parallel_sizes": several(st.sampled_from([None, 1, 2, 3, 4, 8, 16])),
    "engines": several(st.sampled_from([None, *ENGINES])),
    "batches": several(st.integers(1, 3_000), most=3),
    "prompt_tokens": several(lengths),
    "output_tokens": several(lengths | st.just(1)),
    "prefix_hit_rates": several(st.floats(0, 0.999)),
}


@settings(max_examples=60)
@given(
    several(st.sampled_from([*ALL_MODELS, HYBRID]), by=NAME),
    several(st.sampled_from(ALL_INSTANCES), by=NAME),
    st.fixed_dictionaries(axes),
    slos,
)
def test_every_row_equals_estimate(models, instances, choice, slo):
    frame = sweep(models, instances, slo=slo, **choice)
    assert len(frame) == math.prod(len(axis) for axis in (models, instances, *choice.values()))
    if len(frame) > 200:
        frame = frame.sample(200, random_state=1)
    check(frame, models, instances, slo)


@settings(max_examples=40)
@given(st.data())
def test_every_row_equals_estimate_on_the_catalogue(data):
    catalog = Catalog.load()
    models = data.draw(several(st.sampled_from(catalog.models()), by=NAME))
    instances = data.draw(several(st.sampled_from(catalog.instances()), most=3, by=NAME))
    kind = data.draw(st.sampled_from(["on-demand", "spot", "sagemaker"]))
    slo = data.draw(slos)
    choice = data.draw(st.fixed_dictionaries(axes))
    frame = sweep(models, instances, slo=slo, price_kind=kind, **choice)
    check(frame.sample(min(150, len(frame)), random_state=1), models, instances, slo, kind)


def test_the_kinds_of_models_that_differ_stand_side_by_side():
    models = [LLAMA_3_8B, LLAMA_2_13B, MIXTRAL, GEMMA_2, MLA, HYBRID]
    frame = sweep(
        models,
        [G6E, G5_48XL],
        weights=["fp16", "int4"],
        tensor_parallel_sizes=[1, 8],
        batches=[1, 2, 7, 64],
        prompt_tokens=[100, 6_000],
        output_tokens=[1, 300],
        prefix_hit_rates=[0.0, 0.8],
    )
    assert len(frame) == 6 * 2 * 2 * 2 * 4 * 2 * 2 * 2
    check(frame, models, [G6E, G5_48XL], None)
    assert {"NOT_OFFERED", "WEIGHTS", "KV_CACHE"} <= set(frame.refusal.dropna())
    assert frame.fits.any()
    assert (~frame.fits).any()


def test_rows_stand_in_the_order_of_the_axes():
    frame = sweep(
        LLAMA_3_8B, G6E, weights=["fp16", "int8"], batches=[1, 4], prompt_tokens=[10, 20, 30]
    )
    assert list(frame.weights) == ["fp16"] * 6 + ["int8"] * 6
    assert list(frame.batch) == [1, 1, 1, 4, 4, 4] * 2
    assert list(frame.prompt_tokens) == [10, 20, 30] * 4
    assert set(frame.engine) == {"vllm"}
    assert set(frame.output_tokens) == {256}


@pytest.mark.parametrize(
    ("axis", "message"),
    [
        ({"batches": [1, 0]}, "batches must be a whole number of at least 1, not 0."),
        ({"prompt_tokens": 2.5}, "prompt_tokens must be a whole number of at least 1, not 2.5."),
        ({"output_tokens": 2**21}, "output_tokens must be at most 1,048,576 tokens"),
        ({"prefix_hit_rates": 1.0}, "prefix_hit_rates must be at least 0 and below 1, not 1.0."),
        ({"tensor_parallel_sizes": 0}, "tensor_parallel_sizes must be a whole number"),
        ({"batches": []}, "A sweep needs at least one value on every axis."),
        (
            {"batches": range(1, 5_000), "prompt_tokens": range(1, 5_001)},
            "24,995,000 rows are too many at once; the most is 20,000,000.",
        ),
    ],
)
def test_a_value_that_makes_no_sense_is_named(axis, message):
    with pytest.raises(SizingError) as error:
        sweep(LLAMA_3_8B, G6E, **axis)
    assert message in str(error.value)


def test_an_unknown_format_or_engine_is_named():
    with pytest.raises(UnknownNameError, match="fp61"):
        sweep(LLAMA_3_8B, G6E, weights="fp61")
    with pytest.raises(UnknownNameError, match="vlm"):
        sweep(LLAMA_3_8B, G6E, engines="vlm")
