"""Counting a decoder's parameters, to the last one.

Each function counts one part of one layer as (matrix elements, other elements): matrices are
what a quantizer would touch, the rest is norms, biases, routers and sinks. Checked against the
parameter shapes of transformers' own models on torch's meta device.
"""

from __future__ import annotations

from labkit.catalog.architecture import Architecture, Experts, Latent
from labkit.catalog.family import Family
from labkit.catalog.specs import ParamCounts


def count(shape: Architecture, family: Family) -> ParamCounts:
    """Parameters of the whole model by what happens to them at decode (see `ParamCounts`)."""
    linear = other = experts = per_expert = 0
    norm = shape.hidden * (2 if family.norm_bias else 1)
    matrices, rest = _attention(shape, family)
    linear += shape.layers * matrices
    other += shape.layers * (rest + shape.norms * norm)

    dense_layers = shape.layers - sum(shape.moe_mask)
    matrices, rest = _mlp(shape, shape.mlp_width, family.gated)
    linear += dense_layers * matrices
    other += dense_layers * rest

    if shape.experts is not None:
        moe_layers = sum(shape.moe_mask)
        per_expert = _matrices(family.gated) * shape.hidden * shape.experts.width
        experts = moe_layers * shape.experts.count * per_expert
        if shape.experts.shared_width:
            matrices, rest = _mlp(shape, shape.experts.shared_width, family.gated)
            linear += moe_layers * matrices
            other += moe_layers * rest
        other += moe_layers * _routing(shape, shape.experts, family)

    if shape.embedding_width != shape.hidden:  # OPT-350M projects in and out of a narrower table
        linear += 2 * shape.embedding_width * shape.hidden
    other += norm * (shape.final_norm + family.embedding_norm)
    other += shape.vocab if shape.head_bias else 0
    table = shape.vocab * shape.embedding_width
    return ParamCounts(
        embedding=table,
        head=0 if shape.tied else table,
        positions=shape.position_rows * shape.hidden,
        linear=linear,
        other=other,
        experts=experts,
        per_expert=per_expert,
        tied=shape.tied,
    )


def _attention(shape: Architecture, family: Family) -> tuple[int, int]:
    if shape.latent is not None:
        return _latent_attention(shape, shape.latent)
    q = shape.heads * shape.head_dim
    kv = shape.kv_heads * shape.head_dim
    matrices = shape.hidden * (q + 2 * kv) + q * shape.hidden
    rest = (q + 2 * kv if shape.qkv_bias else 0) + (shape.hidden if shape.out_bias else 0)
    rest += {"": 0, "head": 2 * shape.head_dim, "full": q + kv}[shape.qk_norm]
    rest += shape.heads if family.sinks else 0
    return matrices, rest


def _latent_attention(shape: Architecture, latent: Latent) -> tuple[int, int]:
    q = shape.heads * (latent.nope_dim + latent.rope_dim)
    compressed = latent.kv_rank + latent.rope_dim
    matrices = shape.hidden * compressed
    matrices += latent.kv_rank * shape.heads * (latent.nope_dim + latent.value_dim)
    matrices += shape.heads * latent.value_dim * shape.hidden
    rest = latent.kv_rank  # the norm of the latent
    rest += compressed + shape.hidden if shape.qkv_bias else 0
    if latent.q_rank is None:
        return matrices + shape.hidden * q, rest
    matrices += latent.q_rank * (shape.hidden + q)
    rest += latent.q_rank + (latent.q_rank if shape.qkv_bias else 0)
    return matrices, rest


def _matrices(gated: bool) -> int:
    return 3 if gated else 2


def _mlp(shape: Architecture, width: int, gated: bool) -> tuple[int, int]:
    biases = (_matrices(gated) - 1) * width + shape.hidden if shape.mlp_bias else 0
    return _matrices(gated) * shape.hidden * width, biases


def _routing(shape: Architecture, experts: Experts, family: Family) -> int:
    """Router, its biases, the shared expert's gate, and the experts' biases (never quantized)."""
    total = shape.hidden * experts.count
    if family.expert_bias:
        per_expert = (_matrices(family.gated) - 1) * experts.width + shape.hidden
        total += experts.count * (1 + per_expert)
    return total + (shape.hidden if experts.shared_gate else 0)
