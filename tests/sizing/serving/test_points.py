"""Evenly spread points, and the quantiles read at them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.sizing.serving.points import chain_quantiles, normal_quantiles, spread_points


def test_every_dimension_is_even_and_none_follows_another():
    points = spread_points(9)
    assert points.shape == (9, 2048)
    for row in points:
        assert np.array_equal(np.sort(row), (np.arange(2048) + 0.5) / 2048)
    together = np.corrcoef(points) - np.eye(9)
    assert np.abs(together).max() < 0.03


def test_the_points_cannot_be_changed_by_who_reads_them():
    with pytest.raises(ValueError, match="read-only"):
        spread_points(9)[0, 0] = 0.5


SHARES = (np.arange(20_000) + 0.5) / 20_000


@settings(max_examples=30, deadline=None)
@given(st.floats(0.05, 200.0), st.floats(0.0, 0.8))
def test_a_chain_has_the_mean_and_variance_of_its_law(seeds, ratio):
    """Each seed brings a Poisson number with mean `ratio`, and so on: Borel and Tanner."""
    drawn = chain_quantiles(SHARES, np.full(20_000, seeds), np.full(20_000, ratio))
    assert drawn.mean() == pytest.approx(seeds / (1 - ratio), rel=0.03, abs=0.02)
    assert drawn.var() == pytest.approx(seeds / (1 - ratio) ** 3, rel=0.25, abs=0.05)


def test_without_descendants_it_is_poisson():
    drawn = chain_quantiles(SHARES, np.full(20_000, 3.0), np.zeros(20_000))
    shares = [(drawn == k).mean() for k in range(4)]
    assert shares == pytest.approx([0.0498, 0.1494, 0.2240, 0.2240], abs=2e-4)


def test_the_normal_curve_is_read_closely():
    read = normal_quantiles(np.array([0.025, 0.5, 0.95, 0.99]))
    assert read == pytest.approx([-1.95996, 0.0, 1.64485, 2.32635], abs=2e-3)
