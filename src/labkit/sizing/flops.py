"""FLOPs of a forward pass: decode per token, prefill per prompt.

A multiply-accumulate counts as 2 FLOPs. Matrix weights cost 2 FLOPs each per token (of the
experts only the k that a token is routed to). Attention adds QK^T and PV: per query head and
cached token 2 x head_dim FLOPs each. Norms and activations are left out (well below 1 %).
"""

from __future__ import annotations

from labkit.catalog.specs import Attention, ModelSpec
from labkit.sizing.identity import remembered


def matmul_parameters(model: ModelSpec) -> int:
    """Matrix parameters that one token is multiplied with, the output head left out."""
    active = model.params.linear
    if model.moe is not None:
        active += model.moe.experts_per_token * model.moe.moe_layers * model.params.per_expert
    return active


def head_parameters(model: ModelSpec) -> int:
    """Parameters of the output head: the embedding table where the two are tied."""
    return model.params.embedding if model.params.tied else model.params.head


def attention_flops(model: ModelSpec, context: float) -> float:
    """FLOPs of one new token attending to `context` cached tokens, all layers."""
    total = 0.0
    for flops, window, grows in _per_cached_token(model):
        if not grows:
            total += flops
        else:
            total += flops * (context if window is None else min(context, window))
    return total


def decode_flops(model: ModelSpec, batch: int = 1, context: float = 0.0) -> float:
    """FLOPs of one decode step of `batch` sequences with a mean of `context` cached tokens."""
    return batch * (_matrix_flops(model) + attention_flops(model, context))


def prefill_flops(model: ModelSpec, tokens: int, *, cached_tokens: int = 0) -> float:
    """FLOPs to prefill `tokens` new tokens after `cached_tokens` that a prefix cache holds.

    Causal attention (token i looks at i tokens: half the square); the head is computed once, for
    the last token. Llama-3-8B at 2,048 tokens: 2.97e13.
    """
    matrices = 2.0 * (tokens * matmul_parameters(model) + head_parameters(model))
    attention = 0.0
    for kind in model.attention:
        pairs = _attended_pairs(kind, tokens, cached_tokens)
        attention += kind.layers * _flops_per_pair(kind) * pairs
    return matrices + attention


@remembered(objects=1)
def _matrix_flops(model: ModelSpec) -> float:
    """FLOPs of one token in all matrices, the head included."""
    return 2.0 * (matmul_parameters(model) + head_parameters(model))


@remembered(objects=1)
def _per_cached_token(model: ModelSpec) -> tuple[tuple[float, int | None, bool], ...]:
    """Decode attention by kind of layer: (FLOPs per cached token, window, grows).

    A linear layer costs the same at any context: it does not grow.
    """
    return tuple(
        (
            kind.layers * _flops_per_cached_token(kind),
            (kind.window or None) if kind.kind == "sliding" else None,
            kind.kind != "linear",
        )
        for kind in model.attention
    )


def attention_coefficients(
    model: ModelSpec,
) -> tuple[tuple[tuple[float, int | None], ...], float, float]:
    """Decode attention as (FLOPs per cached token, window) parts, its constant, and FLOPs per pair.

    A decode step's attention is constant + the sum of size x min(context, window); the last value
    is per query-key pair of a prefill, all growing layers together.
    """
    parts, constant, pair = [], 0.0, 0.0
    for kind in model.attention:
        if kind.kind == "linear":
            constant += kind.layers * _flops_per_cached_token(kind)
            continue
        window = kind.window if kind.kind == "sliding" and kind.window else None
        parts.append((kind.layers * _flops_per_cached_token(kind), window))
        pair += kind.layers * _flops_per_pair(kind)
    return tuple(parts), constant, pair


def prefill_coefficients(
    model: ModelSpec,
) -> tuple[tuple[tuple[float, int | None], ...], float]:
    """Prefill attention as (FLOPs per query-key pair, window) parts and FLOPs per token.

    In the order of `model.attention`, linear layers left out: those cost the same for each token.
    """
    parts, per_token = [], 0.0
    for kind in model.attention:
        if kind.kind == "linear":
            per_token += kind.layers * _flops_per_pair(kind)
            continue
        window = kind.window if kind.kind == "sliding" and kind.window else None
        parts.append((kind.layers * _flops_per_pair(kind), window))
    return tuple(parts), per_token


def _flops_per_cached_token(kind: Attention) -> float:
    if kind.kind == "mla":
        # Absorbed form, which decode uses: every head scores latent + rope and sums the latent.
        return 2.0 * kind.heads * (2 * kind.latent_dim + kind.rope_dim)
    return _flops_per_pair(kind)


def _flops_per_pair(kind: Attention) -> float:
    """FLOPs of one query-key pair, all heads; in a prefill MLA's keys and values are expanded."""
    if kind.kind == "linear":
        # The state update and read-out do not depend on the context: see `attention_flops`.
        return 4.0 * kind.heads * kind.head_dim * (kind.value_head_dim or kind.head_dim)
    return 2.0 * kind.heads * (kind.head_dim + (kind.value_head_dim or kind.head_dim))


def _attended_pairs(kind: Attention, tokens: int, cached: int) -> float:
    """Query-key pairs of a causal prefill, capped by the window where there is one."""
    if kind.kind == "linear":
        return float(tokens)
    if kind.kind == "sliding" and kind.window and cached + tokens > kind.window:
        ramp = max(0, min(tokens, kind.window - cached))
        return cached * ramp + ramp * ramp / 2 + (tokens - ramp) * kind.window
    return cached * tokens + tokens * tokens / 2
