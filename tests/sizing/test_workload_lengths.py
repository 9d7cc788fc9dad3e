"""A workload with lengths that vary: means follow from them; the context is length-biased."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.sizing.inputs import SLO, SizingError, Workload
from labkit.sizing.lengths import Empirical, Fixed, LogNormal, Uniform, mean_progress


def test_the_means_come_from_the_lengths():
    mixed = Workload.of(Uniform(32, 512), "values:1=0.5,256=0.5", 2.0, SLO(500, 50), 0.25)
    assert (mixed.prompt_tokens, mixed.output_tokens) == (272, 128)  # 128.5 rounds to even
    assert (mixed.requests_per_second, mixed.prefix_hit_rate) == (2.0, 0.25)
    assert mixed.slo == SLO(500, 50)
    assert mixed.outputs == Empirical((1, 256), (0.5, 0.5))


def test_without_lengths_all_are_the_same():
    plain = Workload(512, 256)
    assert (plain.prompts, plain.outputs) == (Fixed(512), Fixed(256))
    assert plain.mean_context == Workload.of(512, 256).mean_context == 512 + 128


def test_long_answers_weigh_more_in_the_context_of_a_step():
    # Half the answers have 1 token, half 399: a decode step practically always meets the long ones.
    mixed = Workload.of(100, Empirical((1, 399)))
    assert mixed.output_tokens == 200
    assert mixed.mean_context == pytest.approx(100 + (1 + 399**2) / 2 / (2 * 200))
    assert mixed.mean_context > 1.4 * Workload(100, 200).mean_context - 100


@given(st.integers(2, 4000), st.floats(0.1, 1.5))
def test_the_context_agrees_with_renewal_theory(mean, sigma):
    answers = LogNormal.with_mean(float(mean), sigma=sigma, cap=100_000)
    context = Workload.of(1, answers).mean_context - 1
    assert context == pytest.approx(mean_progress(answers) + 0.5, rel=1e-2)


@pytest.mark.parametrize(("prompt", "output"), [(511, 256), (512, 255)])
def test_a_mean_that_is_not_that_of_its_lengths_is_refused(prompt, output):
    with pytest.raises(SizingError, match=r"must be the mean of its lengths, (512|256), not"):
        Workload(prompt, output, prompt_lengths=Fixed(512), output_lengths=Fixed(256))
