"""Lab 05: the engine and the simulator compute every reference that they can."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import Any

import matplotlib as mpl
import pytest
from hypothesis import given as drawn_by
from hypothesis import settings
from hypothesis import strategies as st

from labkit.contract import Code
from labkit.exercises import Facts, givens_for, load
from labkit.exercises.lab05_batching import queue, variance
from labkit.exercises.spec import Draw
from labkit.sizing import EngineConfig, kv_bytes_per_token, prefill_floor_seconds
from labkit.sizing import resident_weight_bytes as weight_bytes
from labkit.sizing.lengths import parse_lengths
from labkit.sizing.simulation import (
    AffineSteps,
    Burst,
    ContinuousBatching,
    KVCache,
    Recorded,
    StaticBatching,
    Traffic,
    simulate,
)
from tests.exercises.batching_records import made_givens

mpl.use("Agg")
LAB = load("05")
LEARNERS = [f"learner-{n}" for n in range(20)]
ONE_TICK = AffineSteps(step=1.0)
ROOT = Path(__file__).parents[2]
QUEUES = st.lists(st.integers(1, 60), min_size=1, max_size=30)


def reference(number: str, facts: Facts) -> Any:
    return LAB[number].reference(givens_for(LAB[number], facts, learner="a"))


def test_the_curriculums_numbers(facts: Facts) -> None:
    assert (reference("5.1", facts), reference("5.2", facts)) == (160, 130)
    assert (reference("2.6", facts), reference("2.7", facts)) == (840, 1740)
    assert round(reference("5.5", facts)) == 848


def test_references_equal_the_engine(facts: Facts) -> None:
    llama2, llama3 = facts.model("llama-2-7b"), facts.model("llama-3-8b")
    bf16, a10g = facts.format("bf16"), facts.accelerator("A10G")
    floor = prefill_floor_seconds(llama3, a10g, bf16, 2048, efficiency=0.5)
    assert reference("5.5", facts) == pytest.approx(1e3 * floor, rel=1e-12)
    usable = facts.instance("g5.xlarge").accelerator_usable_bytes
    config = EngineConfig("bf16", "bf16", gpu_memory_utilization=0.90)
    pool = 0.9 * usable - weight_bytes(llama2, config.weight_format) - 2**30
    tokens = math.floor(pool / kv_bytes_per_token(llama2, bf16))
    assert reference("2.6", facts) == KVCache.of_tokens(tokens).blocks


def held(lengths: list[int], scheduler: Any) -> dict[str, tuple[float, float]]:
    """The simulator's timeline: when each request wrote."""
    log = Recorded((0.0,) * len(lengths), (1,) * len(lengths), tuple(lengths))
    found = simulate(log, scheduler, ONE_TICK, timeline=True).timeline
    assert found is not None
    return {
        f"R{request + 1}": (start, end)
        for request, start, end in zip(found.request, found.start, found.useful_end, strict=True)
    }


@drawn_by(QUEUES, st.integers(1, 6))
@settings(deadline=None)
def test_both_schedules_are_the_simulators(lengths: list[int], slots: int) -> None:
    for spans, scheduler in (
        (queue.static_spans(lengths, slots), StaticBatching(slots)),
        (queue.continuous_spans(lengths, slots), ContinuousBatching(slots)),
    ):
        ours = {span.name: (float(span.start), float(span.end)) for span in spans}
        assert ours == held(lengths, scheduler)
        assert max(span.slot for span in spans) < slots


@drawn_by(QUEUES, st.integers(1, 6))
def test_no_schedule_beats_packing_and_continuous_is_never_slower(
    lengths: list[int], slots: int
) -> None:
    static, continuous = (
        queue.steps(make(lengths, slots)) for make in (queue.static_spans, queue.continuous_spans)
    )
    assert max(*lengths, math.ceil(sum(lengths) / slots)) <= continuous <= static <= sum(lengths)


@pytest.mark.parametrize("law", variance.LAWS)
@pytest.mark.parametrize("slots", [variance.SLOTS[0], variance.SLOTS[-1]])
def test_the_gain_is_the_simulators_at_the_size_that_the_statement_names(
    law: str, slots: int
) -> None:
    lengths = parse_lengths(law)
    traffic = Traffic(parse_lengths("1"), lengths, Burst(), 3_000 * slots)
    static, continuous = (
        simulate(traffic, scheduler, ONE_TICK).output_tokens_per_second
        for scheduler in (StaticBatching(slots), ContinuousBatching(slots))
    )
    assert continuous / static == pytest.approx(variance.gain(lengths, slots), rel=0.015)


def test_the_labs_own_slots_are_told_from_the_learners_and_from_twice_those() -> None:
    mistake = next(m for m in variance.GAIN.mistakes if m.code is Code.AS_PRINTED)
    seen = {}
    for law in variance.LAWS:
        lengths = parse_lengths(law)
        for slots in variance.SLOTS:
            seen[law, slots] = mistake.value(made_givens("5.10", outputs=law, slots=slots))
            if seen[law, slots] is not None:
                assert seen[law, slots] == pytest.approx(variance.gain(lengths, variance.SHOWN))
    assert not any(seen[law, 4] for law in variance.LAWS)
    assert sum(made is not None for made in seen.values()) >= len(seen) // 3


def test_the_vocabulary_tables_are_no_part_of_the_layers(facts: Facts) -> None:
    g, params = givens_for(LAB["5.5"], facts, learner="a"), facts.model("llama-3-8b").params
    assert g.params_layers + g.params_head + g.params_embedding <= params.total
    labels = {item.name: item.label for item in LAB["5.5"].draw(Draw(facts, Random(5), {}))}
    assert not any("of these" in label for label in labels.values())
    assert "output head" in labels["params_head"]
    assert "input embedding" in labels["params_embedding"]
