"""How a matrix of weights is rounded, and how many bytes the rounded one takes.

A scheme gives the rounded values back in FP32 ("fake quantisation"): what its own kernel would
multiply with. The GGUF ones are gguf-py's, byte for byte those of the files. NumPy only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float32]

GROUP = 64
# Largest finite E4M3 number, and its three bits of mantissa.
E4M3_MAX = 448.0
_E4M3_MANTISSA = 3
_E4M3_LEAST_EXPONENT = -6


@dataclass(frozen=True, slots=True)
class Scheme:
    """Rounding of a matrix [rows, columns] and its packed size in bytes; `bits` per level."""

    name: str
    bits: int
    round: Callable[[Matrix], Matrix]
    packed_bytes: Callable[[int, int], int]


def round_to_groups(weights: Matrix, bits: int, group: int = GROUP) -> Matrix:
    """Round to nearest on 2**bits levels between the smallest and largest weight of each group.

    A group is `group` neighbours of a row. Its minimum and its step are kept in FP16, and the
    rounding uses them as kept. Error per weight: at most half a step, and the FP16 of both.
    Raises ValueError when the columns do not divide into groups.
    """
    rows, columns = weights.shape
    if columns % group:
        raise ValueError(f"{columns} columns do not divide into groups of {group}.")
    grouped = weights.reshape(rows, columns // group, group)
    low = grouped.min(axis=2, keepdims=True)
    levels = 2**bits - 1
    step = (grouped.max(axis=2, keepdims=True) - low) / levels
    low = low.astype(np.float16).astype(np.float32)
    step = step.astype(np.float16).astype(np.float32)
    code = np.round((grouped - low) / np.where(step > 0, step, 1.0)).clip(0, levels)
    rounded: Matrix = (low + step * code).reshape(rows, columns).astype(np.float32)
    return rounded


def to_e4m3(values: Matrix) -> Matrix:
    """The nearest FP8 E4M3 number of each value (ties to even), saturating at ±448.

    OCP 8-bit floating point, E4M3: 4 bits of exponent (bias 7), 3 of mantissa, no infinity.
    """
    clipped = np.clip(values, -E4M3_MAX, E4M3_MAX)
    _, exponent = np.frexp(clipped)  # |x| in [0.5, 1) · 2**exponent
    step = np.exp2(np.maximum(exponent - 1, _E4M3_LEAST_EXPONENT) - _E4M3_MANTISSA)
    rounded: Matrix = (np.round(clipped / step) * step).astype(np.float32)
    return rounded


def round_to_e4m3(weights: Matrix) -> Matrix:
    """E4M3 with one FP32 scale per row, which puts the row's largest weight on 448."""
    largest = np.abs(weights).max(axis=1, keepdims=True)
    scale = np.where(largest > 0, largest / E4M3_MAX, 1.0).astype(np.float32)
    rounded: Matrix = to_e4m3(weights / scale) * scale
    return rounded


def _floating(name: str, bits: int, convert: Callable[[Matrix], Matrix]) -> Scheme:
    return Scheme(name, bits, convert, lambda rows, columns: rows * columns * bits // 8)


def _fp16(weights: Matrix) -> Matrix:
    return weights.astype(np.float16).astype(np.float32)


def _gguf(name: str, bits: int) -> Scheme:
    """A block format of GGUF: 32 weights of a row and their scale(s)."""

    def convert(weights: Matrix) -> Matrix:
        import gguf

        kind = gguf.GGMLQuantizationType[name]
        back: Any = gguf.quants.dequantize(gguf.quants.quantize(weights, kind), kind)
        rounded: Matrix = back.astype(np.float32)
        return rounded

    def packed(rows: int, columns: int) -> int:
        import gguf

        weights, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
        return rows * columns // weights * size

    return Scheme(name, bits, convert, packed)


def _groups(bits: int) -> Scheme:
    def packed(rows: int, columns: int) -> int:
        codes, groups = rows * columns * bits, rows * columns // GROUP
        return math.ceil(codes / 8) + 4 * groups  # FP16 step and minimum

    return Scheme(f"RTN{bits}", bits, lambda w: round_to_groups(w, bits), packed)


SCHEMES = {
    scheme.name: scheme
    for scheme in (
        _floating("F32", 32, lambda weights: weights),
        _floating("F16", 16, _fp16),
        _gguf("BF16", 16),
        _gguf("Q8_0", 8),
        _gguf("Q4_1", 4),
        _gguf("Q4_0", 4),
        _groups(4),
        _groups(3),
        _groups(2),
        Scheme("E4M3", 8, round_to_e4m3, lambda rows, columns: rows * columns + 4 * rows),
    )
}
