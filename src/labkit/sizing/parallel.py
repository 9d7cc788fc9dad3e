"""Tensor parallelism: which sizes a model and an instance allow, and what one all-reduce costs.

Each layer ends its attention and its MLP with an all-reduce of tokens x hidden activations (16
bits). A ring moves 2(n-1)/n of the message over every link:
t = alpha + 2(n-1)/n x bytes / bw_eff(n).

On PCIe two peers reach nearly the one-way rate of their links, more share the host bridge, so the
effective rate falls with n. With the x8 links of g5, g6 and g6e that is 15, 3.7 and 1.8 GB/s at 2,
4 and 8. The values are in `priors` and `fitted`.
"""

from __future__ import annotations

from labkit.catalog.specs import ModelSpec
from labkit.sizing.efficiency import build_link, shipped

ACTIVATION_BYTES = 2
ALL_REDUCES_PER_LAYER = 2


def link_kind(link: str) -> str:
    """pcie, nvlink or neuronlink; anything unstated is treated as PCIe, the slowest."""
    folded = link.casefold()
    for kind in ("neuronlink", "nvlink"):
        if kind in folded:
            return kind
    return "pcie"


def all_reduce_seconds(message_bytes: float, n: int, link: str, link_bytes_per_s: float) -> float:
    """Seconds for one all-reduce of `message_bytes` among `n` devices; 0 for a single one.

    `link_bytes_per_s` is bidirectional, as the catalogue states it. alpha(n) + 2(n-1)/n x bytes /
    bw_eff(n), with the shipped parameters of that kind of link.
    """
    return build_link(shipped(), link_kind(link)).seconds(message_bytes, n, link_bytes_per_s)


def divides_heads(model: ModelSpec, n: int) -> bool:
    """Whether every attention layer can be cut `n` ways.

    Query heads must divide evenly; KV heads must divide evenly or be replicated evenly.
    """
    for kind in model.attention:
        if kind.heads % n:
            return False
        if kind.kind in ("full", "sliding") and kind.kv_heads % n and n % kind.kv_heads:
            return False
    return True


def valid_tensor_parallel_sizes(model: ModelSpec, limit: int) -> tuple[int, ...]:
    """All sizes up to `limit` that the model's heads allow."""
    return tuple(n for n in range(1, limit + 1) if divides_heads(model, n))
