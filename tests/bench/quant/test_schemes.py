"""Rounding: error bounds, exact grids, packed bytes, and that the finer scheme wins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from labkit.bench.quant.formats import FORMATS
from labkit.bench.quant.kv import INT8_MAX, KV_FORMATS, round_e4m3, round_int8
from labkit.bench.quant.schemes import (
    E4M3_MAX,
    GROUP,
    SCHEMES,
    round_to_e4m3,
    round_to_groups,
    to_e4m3,
)

MATRICES = arrays(
    np.float32, (3, 2 * GROUP), elements=st.floats(-8, 8, width=32, allow_subnormal=False)
)
SMALL = np.random.default_rng(5).normal(0, 0.05, (96, 192)).astype(np.float32)


def error(rounded: np.ndarray, weights: np.ndarray = SMALL) -> float:
    return float(np.square(rounded - weights).mean() ** 0.5)


@given(MATRICES, st.sampled_from([2, 3, 4, 8]))
def test_a_weight_moves_by_half_a_step_at_most(weights: np.ndarray, bits: int) -> None:
    grouped = weights.reshape(3, 2, GROUP)
    span = grouped.max(axis=2) - grouped.min(axis=2)
    step = span / (2**bits - 1)
    moved = np.abs(round_to_groups(weights, bits).reshape(grouped.shape) - grouped).max(axis=2)
    # FP16 keeps the step and the minimum: eleven bits of each, or their smallest spacing.
    slack = span * 2**-11 + np.abs(grouped).max(axis=2) * 2**-11 + 2**bits * 2.0**-24
    assert (moved <= step / 2 + slack + 1e-6).all()


@given(MATRICES, st.sampled_from([2, 3]))
def test_a_group_holds_no_more_values_than_it_has_levels(weights: np.ndarray, bits: int) -> None:
    for group in round_to_groups(weights, bits).reshape(-1, GROUP):
        assert len(np.unique(group)) <= 2**bits


def test_a_constant_group_is_kept() -> None:
    weights = np.full((2, GROUP), 0.25, np.float32)
    assert (round_to_groups(weights, 2) == weights).all()


def test_columns_that_do_not_divide_are_refused() -> None:
    with pytest.raises(ValueError, match="100 columns do not divide into groups of 64"):
        round_to_groups(np.zeros((2, 100), np.float32), 4)


def test_one_outlier_spoils_a_whole_row_but_only_one_group() -> None:
    """Why groups: with one scale per row the outlier's row loses everything."""
    weights = SMALL.copy()
    weights[:, 0] = 4.0
    by_row = round_to_groups(weights, 4, group=192)
    assert error(round_to_groups(weights, 4), weights) < 0.7 * error(by_row, weights)


def test_fewer_bits_lose_more() -> None:
    losses = [error(SCHEMES[name].round(SMALL)) for name in ("RTN4", "RTN3", "RTN2")]
    assert losses[0] < losses[1] < losses[2]
    assert error(SCHEMES["Q8_0"].round(SMALL)) < error(SCHEMES["Q4_0"].round(SMALL)) / 8


@pytest.mark.parametrize("name", ["Q4_1", "Q8_0", "F16", "BF16"])
def test_what_lies_on_a_grid_stays_there(name: str) -> None:
    """The trap of the reference: rounded again, its weights do not move."""
    once = SCHEMES[name].round(SMALL)
    # Q4_1's minimum is kept in FP16 and re-read from the rounded weights: equal to the last bit
    # but for FP32's own rounding.
    np.testing.assert_allclose(SCHEMES[name].round(once), once, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "bits_per_weight"),
    [
        ("F32", 32),
        ("F16", 16),
        ("BF16", 16),
        ("Q8_0", 8.5),
        ("Q4_1", 5),
        ("Q4_0", 4.5),
        ("RTN4", 4.5),
        ("RTN3", 3.5),
        ("RTN2", 2.5),
        ("E4M3", 8 + 32 / 576),
    ],
)
def test_scales_cost_bits(name: str, bits_per_weight: float) -> None:
    packed = SCHEMES[name].packed_bytes(192, 576)
    assert 8 * packed / (192 * 576) == pytest.approx(bits_per_weight)


def test_e4m3_is_the_cast_of_torch() -> None:
    import torch

    rng = np.random.default_rng(1)
    values = np.concatenate(
        [
            rng.normal(0, 1, 4000) * 2.0 ** rng.integers(-14, 9, 4000),
            [0.0, -0.0, 448.0, -448.0, 464.0, 1e9, 2.0**-9, 2.0**-10, 3 * 2.0**-10, 17.0, 19.0],
        ]
    ).astype(np.float32)
    clipped = torch.from_numpy(np.clip(values, -E4M3_MAX, E4M3_MAX))
    cast = clipped.to(torch.float8_e4m3fn).to(torch.float32).numpy()
    assert (to_e4m3(values) == cast).all()
    assert (round_e4m3(torch.from_numpy(values)).numpy() == cast).all()


@settings(deadline=None)
@given(MATRICES)
def test_e4m3_with_a_scale_keeps_three_bits(weights: np.ndarray) -> None:
    largest = np.abs(weights).max(axis=1, keepdims=True)
    moved = np.abs(round_to_e4m3(weights) - weights)
    # half a step of the mantissa, or of the smallest numbers
    bound = np.maximum(np.abs(weights) / 16, largest / E4M3_MAX * 2.0**-10)
    assert (moved <= bound * 1.001 + 1e-7).all()


@settings(deadline=None)
@given(arrays(np.float32, (2, 3, 5, 8), elements=st.floats(-30, 30, width=32)))
def test_int8_vectors_move_by_half_a_scale_at_most(vectors: np.ndarray) -> None:
    import torch

    rounded = round_int8(torch.from_numpy(vectors)).numpy()
    largest = np.abs(vectors).max(axis=-1, keepdims=True)
    # The scale is kept in FP16: eleven bits, or its smallest spacing, times up to 127 levels.
    slack = largest * 2**-10 + INT8_MAX * 2.0**-24
    assert (np.abs(rounded - vectors) <= largest / INT8_MAX / 2 + slack + 1e-6).all()


def test_bytes_of_a_cached_token() -> None:
    int8, fp8 = KV_FORMATS
    assert fp8.bytes_per_token(30, 3, 64) == 2 * 30 * 3 * 64
    assert int8.bytes_per_token(30, 3, 64) == 2 * 30 * 3 * (64 + 2)


def test_every_format_names_known_schemes() -> None:
    for form in FORMATS.values():
        if not form.bitsandbytes:
            assert {form.matrices, form.embedding} <= SCHEMES.keys()
    assert next(iter(FORMATS)) == "fp32"
