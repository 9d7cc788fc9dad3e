"""The roofline: ridge points, arithmetic intensity, ceilings of decode and floors of prefill.

Everything here is the physical bound of one device: no efficiency, no engine, no overhead. The
estimate (`step`) is slower than these by construction, never faster. The model: Williams,
Waterman and Patterson, "Roofline" (CACM 2009): attainable = min(peak, bandwidth x intensity).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, overload

from labkit.catalog.specs import Accelerator, ModelSpec, NumberFormat
from labkit.sizing.flops import (
    attention_flops,
    decode_flops,
    head_parameters,
    matmul_parameters,
    prefill_flops,
)
from labkit.sizing.inputs import SizingError, require_count
from labkit.sizing.kv import kv_bytes_per_sequence, kv_growth_bytes_per_token
from labkit.sizing.weights import resident_weight_bytes, streamed_weight_bytes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def compute_dtype(accelerator: Accelerator, fmt: NumberFormat) -> str:
    """The number format in which the accelerator multiplies weights stored as `fmt`.

    A format with units of its own on this silicon computes in itself. Weight-only formats, and
    8-bit formats where the silicon lacks the units, are widened to 16 bits before the multiply:
    they save bytes and no FLOPs. Raises `SizingError` where nothing fits (bf16 on a T4).
    """
    if not fmt.weight_only and accelerator.peak_flops(fmt.name) > 0:
        return fmt.name
    if fmt.weight_only or fmt.bits < 16:
        for candidate in (fmt.compute_dtype, "bf16", "fp16", "fp32"):
            if accelerator.peak_flops(candidate) > 0:
                return candidate
    has = ", ".join(name for name, rate in accelerator.flops.items() if rate > 0) or "no known rate"
    raise SizingError(f"{accelerator.name} does not compute in {fmt.name} (it has: {has}).")


def compute_peak(accelerator: Accelerator, fmt: NumberFormat) -> float:
    """Dense FLOP/s at which the accelerator multiplies weights stored as `fmt`."""
    return accelerator.peak_flops(compute_dtype(accelerator, fmt))


def ridge_point(accelerator: Accelerator, fmt: NumberFormat) -> float:
    """FLOP/byte at which the two roofs meet: dense peak / bandwidth. A10G in fp16: 116.7."""
    return compute_peak(accelerator, fmt) / accelerator.bandwidth_bytes_per_s


@overload
def attainable_flops(intensity: float, peak_flops: float, bandwidth: float) -> float: ...


@overload
def attainable_flops(
    intensity: NDArray[np.float64], peak_flops: float, bandwidth: float
) -> NDArray[np.float64]: ...


def attainable_flops(
    intensity: float | NDArray[np.float64], peak_flops: float, bandwidth: float
) -> float | NDArray[np.float64]:
    """FLOP/s under the roof: min(peak, bandwidth x intensity), for a number or an array."""
    if isinstance(intensity, int | float):
        return min(peak_flops, bandwidth * intensity)
    import numpy as np  # only the array form needs it

    return np.minimum(peak_flops, bandwidth * intensity)


def decode_bytes(
    model: ModelSpec,
    fmt: NumberFormat,
    *,
    batch: int = 1,
    context: float = 0.0,
    kv: NumberFormat | None = None,
    resident: bool = False,
) -> float:
    """Bytes one decode step moves: weights once, plus each sequence's cache of `context` tokens.

    `resident=True` counts all stored weights instead of the streamed ones, for statements that
    say so (it includes the input embedding, which a step does not read).
    """
    require_count("batch", batch)
    weights = (
        resident_weight_bytes(model, fmt) if resident else streamed_weight_bytes(model, fmt, batch)
    )
    return weights + batch * kv_bytes_per_sequence(model, kv, context)


def arithmetic_intensity(
    model: ModelSpec,
    fmt: NumberFormat,
    *,
    batch: int = 1,
    context: float = 0.0,
    kv: NumberFormat | None = None,
) -> float:
    """FLOP/byte of one decode step. 16-bit weights and no context: about 1 x batch."""
    moved = decode_bytes(model, fmt, batch=batch, context=context, kv=kv)
    return decode_flops(model, batch, context) / moved


def critical_batch(accelerator: Accelerator, fmt: NumberFormat) -> float:
    """Batch at which reading a weight matrix takes as long as multiplying with it.

    ridge x bytes per weight / 2. It ignores the KV cache, which moves the real knee to the right
    or, with long contexts, away altogether (`compute_bound_context_limit`).
    """
    return ridge_point(accelerator, fmt) * fmt.bytes_per_weight / 2


def compute_bound_context_limit(
    model: ModelSpec, accelerator: Accelerator, fmt: NumberFormat, kv: NumberFormat | None = None
) -> float:
    """Mean context in tokens beyond which no batch, however large, makes decode compute-bound.

    With a batch without limit weights cost nothing and the intensity tends to FLOPs per token /
    KV bytes per token: (2P + a c) / (k c). Set equal to the ridge r: c = 2P / (r k - a). For
    sliding-window models the windowed layers are left out. Infinite where r k <= a.
    """
    per_token = kv_growth_bytes_per_token(model, kv)
    growing = attention_flops(model, 2e9) - attention_flops(model, 1e9)
    slope = ridge_point(accelerator, fmt) * per_token - growing / 1e9
    matrices = 2.0 * (matmul_parameters(model) + head_parameters(model))
    return matrices / slope if slope > 0 else math.inf


def decode_step_seconds(
    model: ModelSpec,
    accelerator: Accelerator | float,
    fmt: NumberFormat,
    *,
    batch: int = 1,
    context: float = 0.0,
    kv: NumberFormat | None = None,
    resident: bool = False,
) -> float:
    """Shortest possible decode step on one device: the later of bytes / bandwidth and FLOPs / peak.

    `accelerator` may be a bandwidth in bytes/s; then only the memory roof counts.
    """
    moved = decode_bytes(model, fmt, batch=batch, context=context, kv=kv, resident=resident)
    if isinstance(accelerator, Accelerator):
        computing = decode_flops(model, batch, context) / compute_peak(accelerator, fmt)
        return max(moved / accelerator.bandwidth_bytes_per_s, computing)
    return moved / accelerator


def decode_ceiling_tokens_per_s(
    model: ModelSpec,
    accelerator: Accelerator | float,
    fmt: NumberFormat,
    *,
    batch: int = 1,
    context: float = 0.0,
    kv: NumberFormat | None = None,
    resident: bool = False,
) -> float:
    """Most output tokens per second of all `batch` sequences together: batch / step time.

    Llama-3-8B in bf16 on an A10G, batch 1, no context: 39.97 on streamed bytes.
    """
    seconds = decode_step_seconds(
        model, accelerator, fmt, batch=batch, context=context, kv=kv, resident=resident
    )
    return batch / seconds


def prefill_floor_seconds(
    model: ModelSpec,
    accelerator: Accelerator,
    fmt: NumberFormat,
    tokens: int,
    *,
    efficiency: float = 1.0,
) -> float:
    """Shortest prefill of one prompt on one device at a stated share of the dense peak.

    Causal attention, head once: Llama-3-8B, 2,048 tokens, A10G at 50 %: 848 ms.
    """
    require_count("tokens", tokens)
    computing = prefill_flops(model, tokens) / (compute_peak(accelerator, fmt) * efficiency)
    reading = streamed_weight_bytes(model, fmt, tokens) / accelerator.bandwidth_bytes_per_s
    return max(computing, reading)
