"""Lab 06 on invented records: answers right, blank and wrong; references; records that lie.

What every lab is asked for stands in test_every_lab.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given as drawn_by
from hypothesis import strategies as st

from labkit.bench.drafting.acceptance import expected_speedup, gain
from labkit.contract import Code, LabkitError, Record, Status
from labkit.exercises import Exercise, Facts, Tier, givens_for, load
from labkit.exercises.lab06_attention import block_functions as blocks
from labkit.exercises.lab06_attention import decode_functions as decoding
from labkit.exercises.lab06_attention.expected import best_gamma
from labkit.exercises.lab06_attention.scores import cache_bytes, weight_bytes
from labkit.sizing import (
    decode_step_seconds,
    kv_bytes_per_sequence,
    resident_weight_bytes,
)
from tests.exercises.answering import answer_of, outcome
from tests.exercises.speculation_records import attention_record, run, speculation_record

mpl.use("Agg")
LAB = load("06")
LEARNERS = [f"learner-{n}" for n in range(12)]
RECORDS = {"attention": attention_record(), "speculation": speculation_record()}
GIB = 2**30


def names_for(exercise: Exercise, facts: Facts, learner: str) -> Any:
    import matplotlib.pyplot as plt

    g = givens_for(exercise, facts, learner=learner, records=RECORDS)
    c_design = LAB["6.4"].reference(givens_for(LAB["6.4"], facts, learner=learner))
    return {"g": g, "plt": plt, "np": np, "choices": decoding.chosen, "c_design": c_design}


def learners_for(exercise: Exercise) -> list[str]:
    drawn = exercise.tier in (Tier.PERSONAL, Tier.TRANSFER)
    return (LEARNERS if exercise.id != "6.6" else LEARNERS[:2]) if drawn else LEARNERS[:1]


@pytest.mark.parametrize("number", LAB)
def test_the_solution_passes_for_every_learner(number: str, facts: Facts) -> None:
    exercise = LAB[number]
    for learner in learners_for(exercise):
        answer = answer_of(exercise, exercise.solution, names_for(exercise, facts, learner))
        result = outcome(exercise, facts, answer, learner, RECORDS)
        assert result.passed, result
        assert result.points == exercise.points


@pytest.mark.parametrize("number", LAB)
def test_the_blank_is_not_attempted(number: str, facts: Facts) -> None:
    exercise = LAB[number]
    result = outcome(exercise, facts, answer_of(exercise, exercise.stub, {}), "a", RECORDS)
    assert result.status is Status.NOT_ATTEMPTED
    assert result.points == 0


@pytest.mark.parametrize("number", LAB)
def test_every_known_mistake_gets_its_own_diagnosis(number: str, facts: Facts) -> None:
    exercise = LAB[number]
    told = set()
    for learner in learners_for(exercise):
        g = givens_for(exercise, facts, learner=learner, records=RECORDS)
        for mistake in exercise.mistakes:
            wrong = mistake.value(g)
            if wrong is None:
                continue
            result = outcome(exercise, facts, wrong, learner, RECORDS)
            assert result.status is Status.FAILED
            assert (result.code, result.message) == (mistake.code, mistake.says), learner
            told.add(mistake.code)
    assert told == {mistake.code for mistake in exercise.mistakes}


def test_personal_numbers_differ_between_learners(facts: Facts) -> None:
    drawn = [givens_for(LAB["6.9"], facts, learner=who) for who in LEARNERS]
    assert len({(g.model, g.tokens) for g in drawn}) >= 4


# --- the engine computes every reference that it can ------------------------------------------


def reference(number: str, facts: Facts, learner: str = "a") -> Any:
    return LAB[number].reference(givens_for(LAB[number], facts, learner=learner, records=RECORDS))


def test_core_references(facts: Facts) -> None:
    assert reference("6.1", facts) == 1.0
    assert reference("6.2", facts) == pytest.approx(3.68928)
    small, large = facts.model("llama-2-7b"), facts.model("llama-2-70b")
    bandwidth = facts.accelerator("A10G").bandwidth_bytes_per_s
    drafter = decode_step_seconds(small, bandwidth, facts.format("fp16"))
    target = decode_step_seconds(large, 4 * bandwidth, facts.format("int4"))
    assert reference("6.4", facts) == pytest.approx(drafter / target, rel=1e-4)
    assert reference("6.4", facts) == pytest.approx(1.4647, abs=1e-3)
    slow = expected_speedup(0.8, 5, drafter / target)
    assert reference("6.5", facts) == pytest.approx(slow, rel=1e-4)
    assert slow < 0.5


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_rest_of_the_memory_is_the_engines(learner: str, facts: Facts) -> None:
    g = givens_for(LAB["6.9"], facts, learner=learner)
    model, bf16 = facts.model(str(g.model)), facts.format("bf16")
    assert weight_bytes(g) == pytest.approx(resident_weight_bytes(model, bf16), rel=1e-12)
    assert cache_bytes(g) == pytest.approx(kv_bytes_per_sequence(model, bf16, g.tokens), rel=1e-12)
    assert LAB["6.9"].reference(g) < 12
    assert g.tokens <= model.max_context


# --- block attention ----------------------------------------------------------------------------


@drawn_by(
    st.integers(0, 1000), st.integers(1, 20), st.integers(1, 40), st.integers(1, 50),
    st.sampled_from((0.1, 1.0, 30.0)),
)  # fmt: skip
def test_blocks_change_nothing(
    seed: int, queries: int, keys: int, block: int, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    q, k, v = (
        rng.standard_normal((n, 8)) * s for n, s in ((queries, scale), (keys, scale), (keys, 1.0))
    )
    np.testing.assert_allclose(
        blocks.block_attention(q, k, v, block), blocks.naive_attention(q, k, v), atol=1e-9
    )


@pytest.mark.parametrize("rows", [64, 128, 4096])
def test_whole_rows_of_many_queries_are_no_blocks_of_keys(facts: Facts, rows: int) -> None:

    def by_rows(q: Any, k: Any, v: Any, block: int) -> Any:
        found = [blocks.naive_attention(q[at : at + rows], k, v) for at in range(0, len(q), rows)]
        return np.concatenate(found)

    assert outcome(LAB["6.6"], facts, by_rows, "a", {}).code is Code.MEMORY_LIMIT


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_largest_score_that_begins_at_zero_is_told(facts: Facts, learner: str) -> None:
    def from_zero(q: Any, k: Any, v: Any, block: int) -> Any:
        return blocks.block_attention(q, k, v, block, start=0.0)

    assert outcome(LAB["6.6"], facts, from_zero, learner, {}).code is Code.START_AT_ZERO


def test_what_fails_on_every_call_is_not_laid_on_one(facts: Facts) -> None:
    def mismatched(q: Any, k: Any, v: Any, block: int) -> Any:
        return q @ v[:0]

    def grown(q: Any, k: Any, v: Any, block: int) -> Any:
        return np.full((len(q), v.shape[1]), np.nan)

    raised = outcome(LAB["6.6"], facts, mismatched, "a", {})
    assert raised.code is Code.RAISES
    assert raised.message.startswith("Every call raises ValueError")
    endless = outcome(LAB["6.6"], facts, grown, "a", {})
    assert endless.message == "On every call the result holds NaN or infinity."


def test_single_precision_is_enough(facts: Facts) -> None:
    def single(q: Any, k: Any, v: Any, block: int) -> Any:
        q, k, v = (x.astype(np.float32) for x in (q, k, v))
        return blocks.block_attention(q, k, v, block)

    result = outcome(LAB["6.6"], facts, single, "a", {})
    assert result.passed, result


def test_the_whole_matrix_is_seen_in_single_precision_too(facts: Facts) -> None:
    def single(q: Any, k: Any, v: Any, block: int) -> Any:
        q, k, v = (x.astype(np.float64 if len(k) < 100 else np.float32) for x in (q, k, v))
        return blocks.naive_attention(q, k, v)

    assert outcome(LAB["6.6"], facts, single, "a", {}).code is Code.MEMORY_LIMIT


# --- the decoder ----------------------------------------------------------------------------------


@drawn_by(
    st.integers(0, 5000), st.integers(0, 32), st.integers(0, 31), st.integers(1, 40),
    st.integers(1, 12),
)  # fmt: skip
def test_speculation_is_greedy_and_bounded(
    seed: int, wrong: int, start: int, new_tokens: int, gamma: int
) -> None:
    target, draft = decoding.toy_models(seed, wrong)
    text, gained = decoding.speculative_decode(target, draft, [start], new_tokens, gamma)
    alone, _ = decoding.one_by_one(target, draft, [start], new_tokens, gamma)
    assert text == alone
    assert sum(gained) == new_tokens
    assert all(1 <= n <= gamma + 1 for n in gained)
    if wrong == 0:
        assert len(gained) == -(-new_tokens // (gamma + 1))
    if wrong == decoding.VOCABULARY:
        assert gained == [1] * new_tokens


def test_the_decoder_is_tried_on_ten_prompts(facts: Facts) -> None:
    result = outcome(LAB["6.7"], facts, decoding.speculative_decode, "a", {})
    assert result.passed
    assert "10 of 10" in str(result.shown)


def test_a_shorter_last_draft_is_as_good(facts: Facts) -> None:
    def careful(target: Any, draft: Any, prompt: Any, new_tokens: int, gamma: int) -> Any:
        text: list[int] = []
        gained: list[int] = []
        while len(text) < new_tokens:
            most = min(gamma, new_tokens - len(text) - 1)
            more, _ = (
                decoding.speculative_decode(target, draft, [*prompt, *text], most + 1, most)
                if most
                else decoding.one_by_one(target, draft, [*prompt, *text], 1, 0)
            )
            proposal = decoding.drafted(draft, (text or prompt)[-1], most)
            count = next((i for i in range(most) if proposal[i] != more[i]), most)
            new = more[: count + 1]
            text += new
            gained.append(len(new))
        return np.array(text), np.array(gained)

    assert outcome(LAB["6.7"], facts, careful, "a", {}).passed


def test_a_text_without_its_counts_is_told_what_was_promised(facts: Facts) -> None:
    def text_only(*args: Any) -> Any:
        return decoding.speculative_decode(*args)[0]

    told = outcome(LAB["6.7"], facts, text_only, "a", {})
    assert told.code is Code.TYPE
    assert "(text, gained)" in told.message


# --- how far to draft ----------------------------------------------------------------------------


@drawn_by(st.floats(0, 1), st.floats(0, 2))
def test_no_other_length_is_better(alpha: float, c: float) -> None:
    gamma, speedup = best_gamma(alpha, c)
    assert speedup >= 1
    for other in range(17):
        assert expected_speedup(alpha, other, c) <= speedup + 1e-9
    assert speedup == pytest.approx(expected_speedup(alpha, gamma, c))


def test_of_two_lengths_that_gain_the_same_the_shorter(facts: Facts) -> None:
    def longer(alpha: float, c: float) -> Any:
        ups = [expected_speedup(alpha, n, c) for n in range(17)]
        return max(n for n in range(17) if ups[n] == max(ups)), max(ups)

    told = outcome(LAB["6.8"], facts, longer, "a", {})
    assert told.code is Code.NOT_BEST
    assert "as much with fewer drafts" in told.message


def test_the_closed_formula_is_told_where_it_breaks(facts: Facts) -> None:
    def closed(alpha: float, c: float) -> Any:
        ups = [(1 - alpha ** (n + 1)) / (1 - alpha) / (n * c + 1) for n in range(17)]
        return ups.index(max(ups)), max(ups)

    result = outcome(LAB["6.8"], facts, closed, "a", {})
    assert result.code is Code.RAISES
    assert "α = 1" in result.message
    typed = outcome(LAB["6.8"], facts, lambda _alpha, _c: (5, 2.0), "a", {})
    assert typed.code is Code.TYPED_CONSTANT


# --- records --------------------------------------------------------------------------------------


def given(number: str, facts: Facts, record: Record) -> Any:
    return givens_for(LAB[number], facts, learner="a", records={record.id: record})


def test_attention_outside_the_ten_largest_is_bounded_by_the_smallest(facts: Facts) -> None:
    g = given("6.11", facts, attention_record(without="attention"))
    assert g.attention_ms == 0.8
    with pytest.raises(LabkitError, match="longer than the step"):
        given("6.11", facts, attention_record(profiled_ms=30.0))


def test_all_drafts_accepted_is_no_division_by_zero(facts: Facts) -> None:
    perfect = run("lookup5", "copy", 5, 7, 7, 0.0001, 3.0) | {"alpha": 1.0}
    record = speculation_record(runs=[perfect, run("layers10", "copy", 5, 36, 36, 0.4, 0.3)])
    assert LAB["6.13"].reference(given("6.13", facts, record)) == pytest.approx(6 / 1.6, rel=1e-3)
    answer = answer_of(LAB["6.13"], LAB["6.13"].solution, {"g": given("6.13", facts, record)})
    assert outcome(LAB["6.13"], facts, answer, "a", {"speculation": record}).passed


def test_the_largest_batch_is_the_gain_of_counted_rounds(facts: Facts) -> None:
    g = given("6.14", facts, RECORDS["speculation"])
    assert LAB["6.14"].reference(g) == pytest.approx(gain(4.0, 0.8, g.verify_over_step))
    assert g.batch == 32


@pytest.mark.parametrize(
    "facts_of_record",
    [
        {"runs": []},
        {"runs": "x"},
        {"runs": [{"drafter": "lookup5", "prompt": "copy"}]},
        {"runs": [run("lookup5", "copy", 5, 10, 8, 0.1, 2.0) | {"tokens_per_forward": 9.0}]},
        {"runs": [run("lookup5", "copy", 5, 10, 8, 0.1, 2.0) | {"target_forwards": 80}]},
        {"runs": [run("lookup5", "copy", 5, 10, 8, 0.1, 2.0) | {"accepted": "many"}]},
        {"batches": {"gamma": 5, "batch": [1], "verify_over_step": [1.5, 2.0]}},
        {"batches": {"gamma": float("nan"), "batch": [1, 2], "verify_over_step": [1.5, 2.0]}},
        {"batches": None},
    ],
)
def test_a_record_that_does_not_add_up_is_told(
    facts_of_record: dict[str, Any], facts: Facts
) -> None:
    number = "6.14" if "batches" in facts_of_record else "6.13"
    record = speculation_record()
    record = dataclasses.replace(record, facts={**record.facts, **facts_of_record})
    with pytest.raises(LabkitError, match="run the bench again"):
        given(number, facts, record)


def test_givens_travel_as_json(facts: Facts) -> None:
    for number in LAB:
        g = givens_for(LAB[number], facts, learner="a", records=RECORDS)
        json.dumps(g.to_json())


# --- the figure ---------------------------------------------------------------------------------


def test_a_smooth_curve_and_other_label_styles_pass(facts: Facts) -> None:
    from matplotlib.figure import Figure

    g = given("6.15", facts, RECORDS["speculation"])
    ax = Figure().add_subplot()
    x = np.linspace(1, 10, 60)
    for alpha in g.alphas:
        y = (1 - alpha ** (x + 1)) / ((1 - alpha) * (x * g.c + 1))
        ax.plot(x, y, label=f"alpha={alpha:.2f}")
    ax.scatter(g.measured_gamma, g.measured_speedup, label="mine")
    ax.set_xlabel("gamma")
    ax.set_ylabel("Speedup")
    result = outcome(LAB["6.15"], facts, ax, "a", RECORDS)
    assert result.passed, result
