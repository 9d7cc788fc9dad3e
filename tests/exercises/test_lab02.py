"""Lab 02: references are the engine's; other units, half right answers. See also test_every_lab."""

from __future__ import annotations

import dataclasses
from random import Random
from typing import Any

import matplotlib as mpl
import pytest
from hypothesis import given as drawn_by
from hypothesis import strategies as st

from labkit.catalog import ModelSpec
from labkit.contract import Code, Status
from labkit.exercises import Facts, givens_for, load
from labkit.exercises.lab02_memory import budget, figure
from labkit.exercises.lab02_memory.cache_function import kv_bytes_per_token
from labkit.exercises.lab02_memory.parameters import count
from labkit.exercises.lab02_memory.shapes import KINDS, draw_config
from labkit.sizing import (
    EngineConfig,
    decode_ceiling_tokens_per_s,
    decode_step_seconds,
    kv_bytes_per_sequence,
    resident_weight_bytes,
)
from labkit.sizing import kv_bytes_per_token as engine_kv
from labkit.sizing.memory import max_sequences
from tests.exercises.answering import outcome

mpl.use("Agg")
LAB = load("02")
LEARNERS = [f"learner-{n}" for n in range(20)]
GIB, MIB = 2**30, 2**20


def test_personal_numbers_differ_between_learners(facts: Facts) -> None:
    for number, fields in (("2.13", ("model", "weights", "instance")), ("2.9", ("model",))):
        drawn = [givens_for(LAB[number], facts, learner=who) for who in LEARNERS]
        assert len({tuple(g[f] for f in fields) for g in drawn}) >= 4


# --- the engine computes every reference that it can ------------------------------------------


def reference(number: str, facts: Facts, learner: str = "a") -> Any:
    return LAB[number].reference(givens_for(LAB[number], facts, learner=learner))


def test_references_equal_the_engine(facts: Facts) -> None:
    bf16, fp16, int8 = facts.format("bf16"), facts.format("fp16"), facts.format("int8")
    llama2, llama3 = facts.model("llama-2-7b"), facts.model("llama-3-8b")

    assert reference("2.1", facts) == engine_kv(facts.model("llama-3-70b"), fp16) == 327_680
    assert reference("2.2", facts) == engine_kv(facts.model("qwen2.5-7b"), int8) == 28_672
    weights = resident_weight_bytes(llama2, bf16)
    full = kv_bytes_per_sequence(llama2, bf16, 4096)
    assert reference("2.10", facts) == pytest.approx(weights / full, rel=1e-12)
    assert round(reference("2.10", facts), 1) == 6.3

    a10g, l4 = facts.accelerator("A10G"), facts.accelerator("L4")
    rate = decode_ceiling_tokens_per_s(llama3, a10g, bf16, context=4096, kv=bf16)
    assert reference("1.5", facts) == pytest.approx(rate, rel=1e-12)
    assert round(rate, 2) == 38.59
    step = decode_step_seconds(llama2, l4, bf16, batch=16, context=1024, kv=bf16)
    assert reference("1.6", facts) == pytest.approx(1e3 * step, rel=1e-12)
    assert round(1e3 * step, 1) == 72.7


def test_the_budget_is_the_engines(facts: Facts) -> None:
    """The engine's rule, with the overhead that the statement assumes."""
    bf16, fp16 = facts.format("bf16"), facts.format("fp16")
    llama2, llama13 = facts.model("llama-2-7b"), facts.model("llama-2-13b")
    usable = facts.instance("g5.xlarge").accelerator_usable_bytes
    assert usable == 22_888 * MIB
    pool = 0.9 * usable - resident_weight_bytes(llama2, bf16) - GIB
    tokens = pool / engine_kv(llama2, bf16)
    assert reference("2.3", facts) == pytest.approx(tokens, rel=1e-12)
    assert round(tokens, 1) == 13_445.4

    config = EngineConfig("int8", "fp16")
    pool = 0.9 * usable - resident_weight_bytes(llama13, config.weight_format) - GIB
    assert reference("2.4", facts) == max_sequences(llama13, config, pool, 4096, 1) == 2
    assert engine_kv(llama13, fp16) == 819_200


@pytest.mark.parametrize("learner", LEARNERS)
def test_personal_budgets_are_the_engines(learner: str, facts: Facts) -> None:
    for number in ("2.13", "2.9"):
        g = givens_for(LAB[number], facts, learner=learner)
        model = facts.model(str(g.model))
        weights = resident_weight_bytes(model, facts.format(str(g.weights)))
        assert budget.weights_of(g) == pytest.approx(weights, rel=1e-12)
        pool = 0.9 * g.usable_mib * MIB - weights - GIB
        if number == "2.9":
            parts = figure.segments(g)
            assert parts["KV cache"] == pytest.approx(pool, rel=1e-9)
            assert sum(parts.values()) == pytest.approx(22_888 * MIB, rel=1e-12)
            continue
        usable = facts.instance(str(g.instance)).accelerator_usable_bytes
        assert usable == g.usable_mib * MIB
        config = EngineConfig(str(g.weights), "fp16")
        fits = max_sequences(model, config, pool, float(g.tokens), 1)
        assert LAB[number].reference(g) == fits
        assert g.tokens <= model.max_context


@drawn_by(st.integers(0, 10_000), st.sampled_from(KINDS), st.sampled_from((8, 16, 32)))
def test_the_cache_function_is_the_engines(seed: int, kind: str, bits: int) -> None:
    config = draw_config(Random(seed), kind)
    spec = ModelSpec.from_config({"model_type": "llama", **config})
    assert {a.kind for a in spec.attention} == ({"mla"} if kind == "mla" else {"full"})
    assert kv_bytes_per_token(config, bits) == engine_kv(spec) * bits / 16


@drawn_by(st.integers(0, 10_000), st.sampled_from(KINDS[:3]))
def test_the_parameter_count_is_the_catalogues(seed: int, kind: str) -> None:
    config = draw_config(Random(seed), kind)
    assert count(config) == ModelSpec.from_config({"model_type": "llama", **config}).params.total


@pytest.mark.parametrize("number", ["2.8", "2.11"])
def test_edges_agree_with_the_engine_too(number: str, facts: Facts) -> None:
    for learner in LEARNERS:
        g = givens_for(LAB[number], facts, learner=learner)
        calls = LAB[number].kind.edges(g)  # type: ignore[attr-defined]
        assert len({LAB[number].kind.describe(args) for args in calls}) >= 4  # type: ignore[attr-defined]
        for config, *bits in calls:
            spec = ModelSpec.from_config({"model_type": "llama", **config})
            if number == "2.11":
                assert count(config) == spec.params.total
            else:
                assert kv_bytes_per_token(config, *bits) == engine_kv(spec) * bits[0] / 16


def test_published_models_too(facts: Facts) -> None:
    for name in ("llama-2-7b", "llama-3-8b", "qwen3-8b", "deepseek-v3", "smollm2-135m", "opt-6.7b"):
        config = facts.catalog.config(name)
        assert kv_bytes_per_token(config) == engine_kv(facts.model(name)), name
    for name in ("llama-2-7b", "llama-3-8b", "mistral-7b", "smollm2-135m", "tinyllama-1.1b"):
        assert count(facts.catalog.config(name)) == facts.model(name).params.total, name


# --- answers under other conventions, and half right ones --------------------------------------


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        ("2.1", "320 KiB"),
        ("2.1", 327_680.0),
        ("2.2", "28 KiB"),
        ("2.3", 13_440),  # in whole blocks of 16
        ("2.3", 13_447),  # by rounded GiB
        ("2.4", 2.0),
        ("2.10", 6.3),
        ("2.10", 6.28),
        ("1.5", "38.6 tok/s"),
        ("1.6", "0.0727 s"),
    ],
)
def test_rounded_answers_and_other_units_pass(number: str, answer: Any, facts: Facts) -> None:
    assert outcome(LAB[number], facts, answer, "a", {}).passed


@pytest.mark.parametrize("answer", [2.14, 2.24, "2.1 sequences"])
def test_a_fraction_of_a_sequence_is_told_to_be_rounded_down(answer: Any, facts: Facts) -> None:
    result = outcome(LAB["2.4"], facts, answer, "a", {})
    assert result.code is Code.NOT_WHOLE
    assert "Round down" in result.message


def _no_head_dim(config: dict[str, Any], kv_bits: int = 16) -> float:
    heads = config.get("num_key_value_heads", config["num_attention_heads"])
    if "kv_lora_rank" in config:
        return kv_bytes_per_token(config, kv_bits)
    return float(config["num_hidden_layers"] * 2 * heads * config["head_dim"] * kv_bits / 8)


def _latent_times(config: dict[str, Any], kv_bits: int, factor: float) -> float:
    """Right, but with latent attention off by a factor."""
    right = kv_bytes_per_token(config, kv_bits)
    return right * factor if "kv_lora_rank" in config else right


def test_what_is_right_on_complete_configs_is_told_where_it_fails(facts: Facts) -> None:
    raised = outcome(LAB["2.8"], facts, _no_head_dim, "a", {})
    assert raised.code is Code.RAISES
    assert "Right on configs with all fields" in raised.message
    assert "without head_dim" in raised.message
    assert "KeyError" in raised.message

    latent = outcome(LAB["2.8"], facts, lambda c, kv_bits=16: _latent_times(c, kv_bits, 3), "a", {})
    assert latent.code is Code.OTHER
    assert "MLA" in latent.message


def test_a_latent_counted_as_k_and_v_is_told_by_name(facts: Facts) -> None:
    for learner in LEARNERS:
        for code, rule in (
            (Code.MLA_DOUBLED, lambda c, kv_bits=16: _latent_times(c, kv_bits, 2)),
            (
                Code.MLA_PER_HEAD,
                lambda c, kv_bits=16: _latent_times(c, kv_bits, c["num_attention_heads"]),
            ),
        ):
            told = outcome(LAB["2.8"], facts, rule, learner, {})
            assert told.code is code
            assert "With MLA" in told.message


def test_a_typed_constant_is_seen(facts: Facts) -> None:
    for number in ("2.8", "2.11"):
        result = outcome(LAB[number], facts, lambda *_args: 131_072, "a", {})
        assert result.code is Code.TYPED_CONSTANT


def test_a_parameter_count_is_exact(facts: Facts) -> None:
    assert outcome(LAB["2.11"], facts, lambda config: float(count(config)), "a", {}).passed
    near = outcome(LAB["2.11"], facts, lambda config: count(config) + 1, "a", {})
    assert near.status is Status.FAILED
    assert near.message.startswith("Wrong on every call.")
    assert "not exact" in near.message


# --- the record ---------------------------------------------------------------------------------


def test_resident_memory_need_not_grow(facts: Facts, make_memory: Any) -> None:
    record = make_memory()
    fallen = dataclasses.replace(
        record,
        series=tuple(
            dataclasses.replace(s, samples=(-1.0, 0.0, 2.0)) if s.name == "rss.growth" else s
            for s in record.series
        ),
    )
    assert outcome(LAB["2.12"], facts, fallen, "a", {}).passed


@pytest.mark.parametrize(
    "facts_of_record",
    [
        {},
        {"kv": {}},
        {"kv": {"fp32": {"tokens": [1, 2], "bytes": "x"}}, "config": {}},
        {"kv": {"fp32": {"tokens": [1], "bytes": [1]}}, "config": {"head_dim": True}},
        {"kv": [1], "config": [2]},
    ],
)
def test_a_record_without_its_counts_is_refused(
    facts_of_record: dict[str, Any], facts: Facts, make_memory: Any
) -> None:
    record = dataclasses.replace(make_memory(), facts=facts_of_record)
    assert outcome(LAB["2.12"], facts, record, "a", {}).code is Code.UNPLAUSIBLE


def test_one_byte_too_many_is_refused(facts: Facts, make_memory: Any, make_decode: Any) -> None:
    result = outcome(LAB["2.12"], facts, make_memory(extra_bytes=1), "a", {})
    assert result.code is Code.UNPLAUSIBLE
    assert "512 tokens" in result.message
    assert outcome(LAB["2.12"], facts, make_decode(), "a", {}).code is Code.NOT_YOUR_RECORD


# --- the figure ---------------------------------------------------------------------------------


def test_the_figure_may_lie_or_stand_and_use_any_unit_that_it_names(facts: Facts) -> None:
    exercise = LAB["2.9"]
    g = givens_for(exercise, facts, learner="a")
    for lying in (False, True):
        for unit, size in (("MiB", MIB), ("GiB", GIB), ("GB", 1e9), ("MB", 1e6)):
            result = outcome(exercise, facts, bars(g, unit, size, lying=lying), "a", {})
            assert result.passed, (lying, unit, result)
        wrong = outcome(exercise, facts, bars(g, "GB", GIB, lying=lying), "a", {})
        assert wrong.code is Code.PREFIX


def bars(g: Any, unit: str, size: float, *, lying: bool) -> Any:
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    start = 0.0
    for part, length in figure.segments(g).items():
        if lying:
            ax.barh(["A10G"], [length / size], left=start, label=f"{part}: some")
        else:
            ax.bar(["A10G"], [length / size], bottom=start, label=part)
        start += length / size
    (ax.set_xlabel if lying else ax.set_ylabel)(f"memory ({unit})")
    return ax


@pytest.mark.parametrize("gone", figure.PARTS)
def test_the_figure_needs_every_part(gone: str, facts: Facts) -> None:
    exercise = LAB["2.9"]
    ax = bars(givens_for(exercise, facts, learner="a"), "MiB", MIB, lying=False)
    next(c for c in ax.containers if c.get_label() == gone).remove()
    result = outcome(exercise, facts, ax, "a", {})
    assert result.code is Code.SERIES_MISSING
    assert repr(gone) in result.message


def test_a_figure_of_another_size_is_told_what_it_adds_up_to(facts: Facts) -> None:
    exercise = LAB["2.9"]
    ax = bars(givens_for(exercise, facts, learner="a"), "MiB", MIB, lying=False)
    next(c for c in ax.containers if c.get_label() == "engine").patches[0].set_height(4096)
    result = outcome(exercise, facts, ax, "a", {})
    assert result.code is Code.MAGNITUDE
    assert "'engine'" in result.message


def test_a_forged_figure_is_told_and_never_raises(facts: Facts) -> None:
    from labkit.exercises import judge

    for axes in ([{}], [{"bars": 1}], [{"bars": [{"x": None}]}], [{"bars": [], "x": {}}]):
        result = judge(LAB["2.9"], facts, {"kind": "figure", "axes": axes}, learner="a")
        assert result.status is Status.FAILED


# --- feedback that names the mistake instead of accusing a small one ------------------------------


@pytest.mark.parametrize(
    ("number", "answer", "code"),
    [
        ("2.10", 7, Code.CLOSE),
        ("1.5", 600e9 / (2 * 8_030_261_248), Code.OTHER_QUANTITY),
        ("1.6", 1e3 * 2 * 6_738_415_616 / 300e9, Code.OTHER_QUANTITY),
        ("2.3", (0.9 * 22_888e6 - 2 * 6_738_415_616 - GIB) / 524_288, Code.PREFIX),
        ("2.3", (0.9 * 22_888 * MIB - 2 * 6_738_415_616 - 1e9) / 524_288, Code.CLOSE),
        ("2.3", (0.9 * 22_888 * MIB - 2 * 6_738_415_616 - GIB) / 16_384, Code.PER_LAYER),
    ],
)
def test_two_slips_at_once_and_mixed_units_are_named(
    number: str, answer: float, code: Code, facts: Facts
) -> None:
    assert outcome(LAB[number], facts, answer, "a", {}).code is code


def test_late_mistakes_of_2_13_take_no_draw_away(facts: Facts) -> None:
    """Beside its own number each is None or told; none of them equals an earlier answer."""
    told = set()
    for learner in LEARNERS:
        g = givens_for(LAB["2.13"], facts, learner=learner)
        seen = {LAB["2.13"].reference(g)}
        for mistake in LAB["2.13"].mistakes:
            value = mistake.value(g)
            if value is None:
                continue
            assert value not in seen
            seen.add(value)
            assert outcome(LAB["2.13"], facts, value, learner, {}).code is mistake.code
            told.add(mistake.code)
    assert {Code.HEAD_QUANTIZED, Code.OVERHEAD_FORGOTTEN, Code.NOT_WHOLE} <= told


def test_a_part_of_wrong_length_is_told_which_way_and_how_it_is_made(facts: Facts) -> None:
    exercise = LAB["2.9"]
    g = givens_for(exercise, facts, learner="a")
    ax = figure.plot(g)
    bars = dict(zip(figure.PARTS, ax.containers, strict=True))
    bar = bars["not used"].patches[0]
    bar.set_height(bar.get_height() * 1.05)
    told = outcome(exercise, facts, ax, "a", {})
    assert told.code is Code.OTHER
    assert "too long" in told.message
    assert figure.HOW["not used"] in told.message
