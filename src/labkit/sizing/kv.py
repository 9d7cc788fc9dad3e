"""KV-cache bytes: per token, per sequence, in blocks, for every kind of attention in the catalogue.

Per layer and token: GQA/MHA/MQA store K and V for the KV heads (kv_heads x (head_dim +
value_head_dim) elements), MLA stores one latent of latent_dim + rope_dim. Sliding-window layers
stop growing at their window; linear-attention layers hold a state of constant size. The element
width is the cache's own format, which need not be that of the weights.

Under tensor parallelism KV heads are divided, but never below one per device: beyond that they
are replicated. An MLA latent belongs to all heads and is on every device whole.
"""

from __future__ import annotations

import math

from labkit.catalog.specs import Attention, ModelSpec, NumberFormat
from labkit.sizing.identity import remembered
from labkit.sizing.inputs import require_count

BLOCK_TOKENS = 16
# Linear-attention (state-space) layers keep their running state in fp32 for stability.
LINEAR_STATE_BYTES = 4.0


def kv_heads_per_device(kv_heads: int, tensor_parallel_size: int = 1) -> int:
    """KV heads that each device stores: max(1, ceil(kv_heads / TP))."""
    require_count("tensor_parallel_size", tensor_parallel_size)
    return max(1, math.ceil(kv_heads / tensor_parallel_size))


def kv_bytes_per_token(
    model: ModelSpec, kv: NumberFormat | None = None, *, tensor_parallel_size: int = 1
) -> float:
    """Bytes that one more token of context adds on each device, while no window is full.

    GQA: 2 x layers x kv_heads x head_dim x bytes. With the default TP of 1 this is the model's
    own figure. `kv` None means a 16-bit cache. Encoders and CNNs have no cache: 0.
    """
    element = element_bytes(kv)
    return sum(
        kind.layers * elements_per_token(kind, tensor_parallel_size) * element
        for kind in _cached_kinds(model)
        if kind.kind != "linear"
    )


def kv_growth_bytes_per_token(
    model: ModelSpec, kv: NumberFormat | None = None, *, tensor_parallel_size: int = 1
) -> float:
    """Bytes per further token once every sliding window is full: full and MLA layers only."""
    element = element_bytes(kv)
    return sum(
        kind.layers * elements_per_token(kind, tensor_parallel_size) * element
        for kind in _cached_kinds(model)
        if kind.kind in ("full", "mla")
    )


def kv_bytes_per_sequence(
    model: ModelSpec,
    kv: NumberFormat | None,
    tokens: float,
    *,
    tensor_parallel_size: int = 1,
    block_tokens: int = 1,
) -> float:
    """Bytes on each device for one sequence of `tokens` cached tokens.

    Tokens are rounded up to whole blocks of `block_tokens` (vLLM: 16); sliding layers hold at
    most their window; linear layers add their constant state.
    """
    held = math.ceil(tokens / block_tokens) * block_tokens if block_tokens > 1 else tokens
    total = 0.0
    for size, window, grows in cache_parts(model, kv, tensor_parallel_size):
        if not grows:
            total += size
        else:
            total += size * (held if window is None else min(held, window))
    return total


@remembered(objects=2)
def cache_parts(
    model: ModelSpec, kv: NumberFormat | None, tensor_parallel_size: int
) -> tuple[tuple[float, int | None, bool], ...]:
    """The cache of one sequence by kind of layer, on each device: (bytes, window, grows).

    Bytes are per token where it grows (up to `window` tokens, None: without end), else in all.
    """
    element, parts = element_bytes(kv), list[tuple[float, int | None, bool]]()
    for kind in _cached_kinds(model):
        if kind.kind == "linear":
            parts.append(
                (kind.layers * linear_state_bytes(kind, tensor_parallel_size), None, False)
            )
            continue
        size = kind.layers * elements_per_token(kind, tensor_parallel_size) * element
        parts.append((size, (kind.window or None) if kind.kind == "sliding" else None, True))
    return tuple(parts)


def cache_coefficients(
    model: ModelSpec, kv: NumberFormat | None, tensor_parallel_size: int = 1
) -> tuple[tuple[tuple[float, int | None], ...], float]:
    """One sequence's cache as (bytes per token, window) parts and its constant, on each device.

    `kv_bytes_per_sequence` = constant + the sum of size x min(tokens, window).
    """
    parts = cache_parts(model, kv, tensor_parallel_size)
    constant = sum(size for size, _, grows in parts if not grows)
    return tuple((size, window) for size, window, grows in parts if grows), float(constant)


def max_cached_tokens(
    pool_bytes: float, bytes_per_token: float, block_tokens: int = BLOCK_TOKENS
) -> int:
    """Tokens that a pool holds, in whole blocks."""
    return kv_blocks(pool_bytes, bytes_per_token, block_tokens) * block_tokens


def kv_blocks(pool_bytes: float, bytes_per_token: float, block_tokens: int = BLOCK_TOKENS) -> int:
    """Whole blocks of `block_tokens` tokens that fit a pool."""
    if pool_bytes <= 0 or bytes_per_token <= 0:
        return 0
    return math.floor(pool_bytes / (bytes_per_token * block_tokens))


def elements_per_token(kind: Attention, tensor_parallel_size: int = 1) -> int:
    """Elements one token adds to one layer of this kind, on each device."""
    if kind.kind == "mla":
        return kind.latent_dim + kind.rope_dim
    heads = kv_heads_per_device(kind.kv_heads, tensor_parallel_size)
    return heads * (kind.head_dim + (kind.value_head_dim or kind.head_dim))


def linear_state_bytes(kind: Attention, tensor_parallel_size: int = 1) -> float:
    """Constant state of one linear-attention layer and sequence, on each device."""
    heads = max(1, math.ceil(kind.heads / tensor_parallel_size))
    return heads * kind.head_dim * (kind.value_head_dim or kind.head_dim) * LINEAR_STATE_BYTES


def element_bytes(kv: NumberFormat | None) -> float:
    """Bytes per cached element; None is a 16-bit cache."""
    return 2.0 if kv is None else kv.bytes_per_weight


def _cached_kinds(model: ModelSpec) -> tuple[Attention, ...]:
    """The attention layers that keep anything between steps: none outside decoders."""
    return model.attention if model.kind == "decoder" else ()
