"""Every distribution says of itself what its samples show and what a sum over the lengths gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.contract.errors import UnknownNameError
from labkit.sizing.checks import LONGEST, SizingError
from labkit.sizing.lengths import (
    Empirical,
    Fixed,
    Geometric,
    Lengths,
    LogNormal,
    Uniform,
    lengths_of,
    mean_progress,
    parse_lengths,
)

fixed = st.builds(Fixed, st.integers(1, 3000))
uniform = st.tuples(st.integers(1, 3000), st.integers(1, 3000)).map(
    lambda ends: Uniform(min(ends), max(ends))
)
geometric = st.tuples(st.floats(0.0, 0.9), st.integers(2, 3000)).map(
    lambda p: Geometric(1.0 + p[0] * (p[1] - 1), p[1])
)
lognormal = st.builds(LogNormal, st.floats(-1.0, 9.0), st.floats(0.05, 2.5), st.integers(1, 3000))
empirical = st.dictionaries(st.integers(1, 3000), st.floats(0.01, 9.0), min_size=1, max_size=9).map(
    lambda counts: Empirical(tuple(counts), tuple(counts.values()))
)
any_lengths = st.one_of(fixed, uniform, geometric, lognormal, empirical)


@given(any_lengths)
def test_mean_and_variance_are_the_sums_over_the_cdf(lengths: Lengths) -> None:
    tails = [1.0 - lengths.cdf(k) for k in range(lengths.largest)]
    mean = math.fsum(tails)
    second = math.fsum((2 * k + 1) * tail for k, tail in enumerate(tails))
    assert lengths.mean == pytest.approx(mean, rel=2e-5)
    assert lengths.variance + lengths.mean**2 == pytest.approx(second, rel=2e-5)


@given(any_lengths, st.floats(0.001, 0.999))
def test_a_quantile_is_the_smallest_length_that_covers_the_share(
    lengths: Lengths, q: float
) -> None:
    found = lengths.quantile(q)
    assert lengths.cdf(found) >= q - 1e-9
    assert lengths.cdf(found - 1) <= q + 1e-9
    assert lengths.smallest <= found <= lengths.largest


@given(any_lengths)
def test_the_cdf_rises_from_0_to_1(lengths: Lengths) -> None:
    grid = np.linspace(0, lengths.largest + 1, 50)
    values = [lengths.cdf(x) for x in grid]
    assert values == sorted(values)
    assert lengths.cdf(lengths.smallest - 1) == 0.0
    assert lengths.cdf(lengths.largest) == pytest.approx(1.0)
    assert lengths.quantile(1.0) <= lengths.largest
    assert lengths.quantile(0.0) >= lengths.smallest


@given(any_lengths, st.integers(0, 2**32))
def test_samples_are_whole_in_range_and_the_same_for_the_same_seed(
    lengths: Lengths, seed: int
) -> None:
    drawn = lengths.sample(np.random.default_rng(seed), 200)
    assert drawn.dtype == np.int64
    assert drawn.shape == (200,)
    assert lengths.smallest <= drawn.min() <= drawn.max() <= lengths.largest
    assert np.array_equal(drawn, lengths.sample(np.random.default_rng(seed), 200))


@pytest.mark.parametrize(
    "text",
    [
        "512",
        "uniform:32-512",
        "lognormal:mean=300,p95=900,max=2048",
        "lognormal:mean=3,sigma=.5,max=20",
        "geometric:mean=128,max=1536",
        "geometric:mean=100,max=128",
        "values:128=0.7,2048=0.3",
    ],
)
def test_a_large_sample_has_the_stated_moments_and_quantiles(text: str) -> None:
    lengths = parse_lengths(text)
    n = 200_000
    drawn = lengths.sample(np.random.default_rng(7), n)
    error = math.sqrt(lengths.variance / n)
    assert abs(drawn.mean() - lengths.mean) <= 5 * error + 1e-9
    assert drawn.std() == pytest.approx(math.sqrt(lengths.variance), rel=0.02, abs=1e-9)
    for q in (0.1, 0.5, 0.95):
        share = float((drawn <= lengths.quantile(q)).mean())
        assert share >= q - 0.006
        assert float((drawn < lengths.quantile(q)).mean()) <= q + 0.006


@given(any_lengths)
def test_the_text_reads_back_as_the_same_distribution(lengths: Lengths) -> None:
    if isinstance(lengths, LogNormal) and not 1.001 < lengths.mean < 0.9 * lengths.cap:
        return  # all lengths at one end: mean and sigma do not tell such curves apart
    again = parse_lengths(lengths.text)
    assert again.mean == pytest.approx(lengths.mean, rel=1e-5)
    assert again.quantile(0.9) == pytest.approx(lengths.quantile(0.9), rel=1e-3, abs=1)


def test_a_log_normal_has_the_stated_mean_and_p95_after_the_cut() -> None:
    lengths = LogNormal.with_mean(300, p95=900, cap=2048)
    assert lengths.mean == pytest.approx(300, rel=1e-6)
    assert lengths.quantile(0.95) == 900
    assert lengths.largest == 2048


def test_a_log_normal_without_a_cap_has_the_textbook_sigma() -> None:
    # ln p95 - ln mean = 1.645 sigma - sigma^2 / 2  ->  sigma = 1.645 - sqrt(1.645^2 - 2 ln 3)
    lengths = LogNormal.with_mean(300, p95=900)
    assert lengths.sigma == pytest.approx(1.6449 - math.sqrt(1.6449**2 - 2 * math.log(3)), rel=1e-3)


def test_progress_of_answers_seen_while_they_are_written() -> None:
    assert mean_progress(Fixed(101)) == 50.0
    # Without memory: what is written when seen has the mean of a whole answer, less the last token.
    assert mean_progress(Geometric(128.0)) == pytest.approx(127.0)
    both = Empirical((1, 1001))
    # Half the answers have 1,001 tokens, and 1001 of 1002 looks meet one of them, half-way.
    assert mean_progress(both) == pytest.approx(500 * 1001 / 1002)


def test_counts_of_a_log_become_weights() -> None:
    lengths = Empirical.of([5, 7, 5, 5])
    assert lengths.values == (5, 7)
    assert lengths.weights == (3.0, 1.0)
    assert lengths.mean == 5.5


def test_numbers_texts_and_distributions_are_taken() -> None:
    assert lengths_of(512) == Fixed(512)
    assert lengths_of(" Uniform:32-512 ") == Uniform(32, 512)
    assert lengths_of(Fixed(3)) == Fixed(3)
    assert isinstance(Fixed(3), Lengths)
    assert parse_lengths("geometric:mean=9").largest == LONGEST
    assert parse_lengths("values:5,9") == Empirical((5, 9), (1.0, 1.0))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "write 512, uniform:32-512"),
        ("about 300", "'about 300'"),
        ("-5", "'-5'"),
        ("512.5", "'512.5'"),
        ("9**9**9**9", "'9**9**9**9'"),
        ("0", "at least 1, not 0"),
        ("99999999", "at most 1,048,576"),
        ("uniform:5", "LOW-HIGH"),
        ("uniform:a-b", "'a'"),
        ("uniform:512-32", "512 > 32"),
        ("lognorml:mean=300,p95=900", "did you mean lognormal?"),
        ("lognormal:mean=300", "either p95 or sigma"),
        ("lognormal:mean=300,p95=900,sigma=1", "either p95 or sigma"),
        ("lognormal:mean=300,p90=900", "did you mean p95?"),
        ("lognormal:mean=300,mean=400,p95=900", "mean once"),
        ("lognormal:mean=x,p95=900", "'x'"),
        ("lognormal:mean=nan,p95=900", "'nan'"),
        ("lognormal:mean=100,p95=900,max=2048", "from 194 to 898"),
        ("lognormal:mean=300,p95=9000,max=2048", "9000 > 2048"),
        ("lognormal:mean=3000,sigma=1,max=2048", "below max=2048"),
        ("lognormal:mean=300,sigma=50", "at most 5"),
        ("geometric:max=9", "needs its mean"),
        ("geometric:mean=0,max=9", "at least 1"),
        ("values:", "''"),
        ("values:5=1,5=2", "given twice"),
        ("values:5=0", "above 0"),
        ("values:5=1e99999", "1e99999"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises((SizingError, UnknownNameError)) as caught:
        parse_lengths(text)
    message = str(caught.value)
    assert said in message
    assert "\n" not in message


def test_a_huge_text_is_refused_before_it_is_taken_apart() -> None:
    with pytest.raises(SizingError, match="too long"):
        parse_lengths("values:" + "1," * 100_000)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Fixed(True),
        lambda: Uniform(0, 5),
        lambda: Geometric(float("nan"), 9),
        lambda: Empirical(()),
        lambda: Empirical((5,), (1.0, 2.0)),
        lambda: Empirical((5,), (-1.0,)),
        lambda: LogNormal(float("inf"), 1.0),
        lambda: LogNormal.with_mean(300),
        lambda: Fixed(5).quantile(1.5),
    ],
)
def test_what_makes_no_sense_is_refused(make) -> None:
    with pytest.raises(SizingError):
        make()
