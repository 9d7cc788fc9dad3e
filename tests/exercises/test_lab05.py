"""Lab 05: right answers pass, blanks are not attempted, mistakes are told; the engine agrees."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from hypothesis import given as drawn_by
from hypothesis import settings
from hypothesis import strategies as st

from labkit.contract import Record, Status
from labkit.exercises import Exercise, Facts, Tier, givens_for, load
from labkit.exercises.draws import collisions
from labkit.exercises.lab05_batching import queue, variance
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
from tests.exercises.answering import answer_of, outcome
from tests.exercises.batching_records import engines_record, load_record

mpl.use("Agg")
LAB = load("05")
LEARNERS = [f"learner-{n}" for n in range(20)]
ONE_TICK = AffineSteps(step=1.0)
ROOT = Path(__file__).parents[2]
QUEUES = st.lists(st.integers(1, 60), min_size=1, max_size=30)


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    return {"engines": engines_record(), "load": load_record()}


def learners_for(exercise: Exercise) -> list[str]:
    return LEARNERS if exercise.kind.name in ("quantity", "choice", "interval") else LEARNERS[:2]


def names_for(exercise: Exercise, facts: Facts, learner: str, records: dict[str, Record]) -> Any:
    """What the notebook has before the answer cell: its imports and the cell with the timeline."""
    import matplotlib.pyplot as plt

    def draw_slots(ax: Any, spans: Any) -> None:
        for name, slot, start, end in spans:
            ax.barh(slot, end - start, left=start, label=name)
        ax.set_xlabel("engine steps")

    def static_spans(lengths: Any, slots: int) -> Any:
        return [(s.name, s.slot, s.start, s.end) for s in queue.static_spans(lengths, slots)]

    return {
        "g": givens_for(exercise, facts, learner=learner, records=records),
        "plt": plt,
        "draw_slots": draw_slots,
        "static_spans": static_spans,
        "Traffic": Traffic,
        "parse_lengths": parse_lengths,
        "Burst": Burst,
        "simulate": simulate,
        "one_tick": ONE_TICK,
        "StaticBatching": StaticBatching,
        "ContinuousBatching": ContinuousBatching,
    }


@pytest.mark.parametrize("number", LAB)
def test_the_solution_passes(number: str, facts: Facts, records: dict[str, Record]) -> None:
    exercise = LAB[number]
    for learner in learners_for(exercise)[: 4 if number == "5.10" else None]:
        names = names_for(exercise, facts, learner, records)
        answer = answer_of(exercise, exercise.solution, names)
        result = outcome(exercise, facts, answer, learner, records)
        assert result.passed, result
        assert result.points == exercise.points


@pytest.mark.parametrize("number", LAB)
def test_the_blank_is_not_attempted(number: str, facts: Facts, records: dict[str, Record]) -> None:
    exercise = LAB[number]
    result = outcome(exercise, facts, answer_of(exercise, exercise.stub, {}), "a", records)
    assert result.status is Status.NOT_ATTEMPTED


@pytest.mark.parametrize("number", LAB)
def test_every_known_mistake_gets_its_own_diagnosis(
    number: str, facts: Facts, records: dict[str, Record]
) -> None:
    exercise, seen = LAB[number], set()
    for learner in learners_for(exercise):
        g = givens_for(exercise, facts, learner=learner, records=records)
        for mistake in exercise.mistakes:
            wrong = mistake.value(g)
            if wrong is None:
                continue
            seen.add(mistake.code)
            result = outcome(exercise, facts, wrong, learner, records)
            assert result.status is Status.FAILED
            assert (result.code, result.message) == (mistake.code, mistake.says), learner
    if exercise.tier is not Tier.OWN:
        assert seen == {mistake.code for mistake in exercise.mistakes}


@pytest.mark.parametrize("number", LAB)
def test_codes_and_sentences_are_not_used_twice_in_one_exercise(number: str) -> None:
    mistakes = LAB[number].mistakes
    assert len({m.code for m in mistakes}) == len(mistakes)
    assert len({m.says for m in mistakes}) == len(mistakes)


@pytest.mark.parametrize("number", [n for n in LAB if LAB[n].tier in (Tier.CORE, Tier.PERSONAL)])
def test_no_two_answers_look_alike(number: str, facts: Facts) -> None:
    for learner in LEARNERS:
        assert not collisions(LAB[number], givens_for(LAB[number], facts, learner=learner))


def test_the_load_stays_within_the_course_rules() -> None:
    assert len([e for e in LAB.values() if e.points]) <= 12
    tiers = [exercise.tier for exercise in LAB.values()]
    assert tiers.count(Tier.PERSONAL) + tiers.count(Tier.OWN) >= 3
    beyond = [e.objective for e in LAB.values() if e.tier is Tier.TRANSFER]
    assert len(set(beyond)) == len(beyond)
    assert {e.objective for e in LAB.values()} == set(beyond)


def test_personal_numbers_differ_between_learners(facts: Facts) -> None:
    for number, fields in (("5.9", ("lengths",)), ("5.10", ("outputs", "slots"))):
        drawn = [givens_for(LAB[number], facts, learner=who) for who in LEARNERS]
        assert len({str([g[f] for f in fields]) for g in drawn}) >= 10


# --- the engine and the simulator compute every reference that they can ------------------------


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
