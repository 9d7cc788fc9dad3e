"""The chain of waiting prompts, against the one case that has a textbook formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.sizing.serving.backlog import backlog, reach_of


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, 0.7), st.floats(10.0, 800.0))
def test_a_gated_server_with_vacations(utilisation, prompt):
    """Steps of d + g x tokens without a budget: E[C] = d / (1 - rho), and its variance known.

    Var[C] = rate E[C] e^2 / (1 - rho^2) with e = g x prompt; an arrival meets a step in
    proportion to its length, so the mean step it meets lasts E[C^2] / E[C].
    """
    plain, per_token = 0.03, 1e-4
    extra = per_token * prompt
    rate = utilisation / extra
    prompts = np.full(16, prompt)
    cycle = plain / (1 - utilisation)
    variance = rate * cycle * extra**2 / (1 - utilisation**2)
    reach = reach_of(prompts, rate * cycle * prompt, utilisation, 1e12)
    found = backlog(lambda tokens: plain + per_token * tokens, rate, prompts, 1e12, reach)
    met = float(np.dot(found.shares, found.seconds))
    assert met == pytest.approx(cycle + variance / cycle, rel=0.02)
    assert found.left.max() == 0.0


def test_a_budget_leaves_the_rest_for_the_next_step():
    prompts = np.full(16, 3000.0)
    found = backlog(lambda tokens: 0.02 + 1e-4 * tokens, 1.0, prompts, 2000.0, 30_000.0)
    waiting = found.left + np.minimum(found.unit * np.arange(len(found.left)), 2000.0)
    assert found.left[-1] == pytest.approx(28_000.0)
    assert np.allclose(waiting, found.unit * np.arange(len(found.left)))
    # 3,000 tokens at 1/s are 0.3 s of work a second; most arrivals find nobody waiting.
    assert 0.5 < found.shares[0] < 0.75


def test_arrivals_are_a_distribution_with_the_mean_that_arrives():
    prompts = np.array([100.0, 300.0, 500.0, 1100.0])
    found = backlog(lambda tokens: 0.1 + 0.0 * tokens, 2.0, prompts, 1e6, 12_000.0)
    density = np.diff(np.concatenate(([0.0], found.arrivals[0])))
    assert found.arrivals[0][-1] == pytest.approx(1.0)
    mean = float(np.dot(density, np.arange(len(density)))) * found.unit
    assert mean == pytest.approx(2.0 * 0.1 * 500.0, rel=1e-6)
