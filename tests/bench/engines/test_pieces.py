"""Requests, agreement and intervals: the pure parts."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.bench.engine.agreement import agreement
from labkit.bench.engine.interval import ratio_interval
from labkit.bench.engine.requests import (
    COUNT,
    SENTENCES,
    SLOTS,
    mixed_requests,
    output_lengths,
    prompt_lengths,
    rounds_of,
)

WORDS = [[1000 * n + i for i in range(12)] for n in range(len(SENTENCES))]


@given(st.integers(1, 200))
def test_lengths_are_those_of_the_distribution_in_another_order(count: int) -> None:
    lengths = output_lengths(count)
    assert len(lengths) == count
    assert min(lengths) >= 2
    assert statistics.fmean(lengths) == pytest.approx(14, rel=0.25, abs=4)
    prompts = prompt_lengths(count)
    assert len(prompts) == count
    assert all(8 <= length <= 56 for length in prompts)


def test_the_set_is_uneven_and_its_order_is_mixed() -> None:
    lengths = output_lengths(COUNT)
    assert max(lengths) > 4 * statistics.median(lengths)
    rises = sum(b > a for a, b in pairwise(lengths))
    assert COUNT // 4 < rises < 3 * COUNT // 4


def test_the_order_is_neither_kind_nor_unkind_to_static_batches() -> None:
    def useful(lengths: Sequence[int]) -> float:
        batches = [lengths[i : i + SLOTS] for i in range(0, COUNT, SLOTS)]
        return sum(lengths) / sum(SLOTS * max(batch) for batch in batches)

    ours = output_lengths(COUNT)
    draw = random.Random(0)
    others = [useful(draw.sample(ours, COUNT)) for _ in range(2000)]
    assert useful(ours) == pytest.approx(statistics.fmean(others), rel=0.03)


def test_no_two_prompts_share_a_beginning() -> None:
    requests = mixed_requests(COUNT, WORDS)
    assert len({request.prompt[:4] for request in requests}) == COUNT
    assert [r.id for r in requests] == list(range(COUNT))
    assert [len(r.prompt) for r in requests] == list(prompt_lengths(COUNT))


@given(st.integers(1, 64), st.integers(1, 8))
def test_rounds_deal_every_request_once_and_evenly(count: int, rounds: int) -> None:
    requests = mixed_requests(count, WORDS)
    groups = rounds_of(requests, rounds)
    assert sorted(r.id for group in groups for r in group) == list(range(count))
    sizes = [len(group) for group in groups]
    assert max(sizes) - min(sizes) <= 1


def test_the_baselines_shares_are_alike() -> None:
    """Else a round with long answers would flatter one mode."""
    groups = rounds_of(mixed_requests(COUNT, WORDS), 5)
    means = [statistics.fmean(r.output_tokens for r in group) for group in groups]
    assert max(means) / min(means) < 1.35


@pytest.mark.parametrize(
    ("said", "agreed", "positions"),
    [
        ({0: [1, 2, 3]}, 3, 3),
        ({0: [1, 9, 3]}, 2, 3),
        ({0: [1, 2]}, 2, 3),  # an answer cut short does not agree where it is silent
        ({0: [1, 2, 3, 4]}, 3, 4),  # nor one that goes on
        ({0: []}, 0, 3),
        ({0: [2, 3, 1]}, 0, 3),  # the same words shifted are not the same answer
        ({0: [1, 2, 3], 1: [5]}, 4, 4),
    ],
)
def test_agreement(said: dict[int, list[int]], agreed: int, positions: int) -> None:
    found = agreement({0: [1, 2, 3], 1: [5]}, said)
    assert (found.agreed, found.positions) == (agreed, positions)
    assert found.enough is (found.share >= 0.95)


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(ValueError, match="no outputs"):
        agreement({}, {})


def test_an_interval_as_in_the_textbook() -> None:
    """Five pairs, t = 2.776 for four degrees of freedom, on the logarithms."""
    ratios = [2.8, 3.1, 3.0, 3.3, 2.9]
    logs = [math.log(x) for x in ratios]
    half = 2.776 * statistics.stdev(logs) / math.sqrt(5)
    found = ratio_interval(ratios)
    assert found.ratio == pytest.approx(math.exp(statistics.fmean(logs)))
    assert (found.low, found.high) == pytest.approx(
        (found.ratio * math.exp(-half), found.ratio * math.exp(half))
    )
    assert found.pairs == 5


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=60))
def test_intervals_hold_their_middle_and_turn_around(ratios: list[float]) -> None:
    found, inverse = ratio_interval(ratios), ratio_interval([1 / x for x in ratios])
    assert found.low <= found.ratio * (1 + 1e-9)
    assert found.ratio <= found.high * (1 + 1e-9)
    assert inverse.ratio == pytest.approx(1 / found.ratio)
    assert inverse.low == pytest.approx(1 / found.high)


@pytest.mark.parametrize("ratios", [[], [2.0], [2.0, 0.0], [2.0, -1.0]])
def test_what_has_no_interval(ratios: list[float]) -> None:
    with pytest.raises(ValueError, match=r"pairs|positive"):
        ratio_interval(ratios)
