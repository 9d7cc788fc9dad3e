"""Tensor parallelism: which sizes a model and an instance allow, and what the all-reduces cost.

Each layer ends its attention and its MLP with an all-reduce of tokens x hidden activations (16
bits). A ring moves 2(n-1)/n of the message over every link:
t = alpha + 2(n-1)/n x bytes / bw_eff(n).

On PCIe two peers reach nearly the one-way rate of their links, more share the host bridge, so the
effective rate falls with n: about 0.94 x one way at n = 2 and 0.92 x one way / n beyond. With the
x8 links of g5, g6 and g6e that is 15, 3.7 and 1.8 GB/s at 2, 4 and 8, the rates implied by operator
tables of an L40S without NVLink; alpha there is 27, 31 and 37 us. NVLink and NeuronLink: priors.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.specs import ModelSpec
from labkit.sizing.bands import Band

ACTIVATION_BYTES = 2
ALL_REDUCES_PER_LAYER = 2


@dataclass(frozen=True, slots=True)
class LinkPrior:
    """Latency of one all-reduce (seconds, fixed + per peer) and the share of one-way bandwidth."""

    alpha: float
    alpha_per_peer: float
    share_of_two: float
    share_of_more: float
    shared_bridge: bool
    spread: tuple[float, float, float]  # factor on the time at low, mid, high
    source: str


LINK_PRIORS: dict[str, LinkPrior] = {
    "pcie": LinkPrior(
        25.4e-6,
        1.45e-6,
        0.94,
        0.92,
        True,
        (0.7, 1.0, 1.8),
        "prior: aiconfigurator's L40S operator tables, 13B, TP 2/4/8",
    ),
    "nvlink": LinkPrior(
        10e-6,
        1e-6,
        0.60,
        0.60,
        False,
        (0.6, 1.0, 2.5),
        "prior: A100 prefill at TP 2/4/8 in the same tables",
    ),
    "neuronlink": LinkPrior(
        15e-6,
        1e-6,
        0.50,
        0.40,
        False,
        (0.5, 1.0, 3.0),
        "prior: no public measurement",
    ),
}


def link_kind(link: str) -> str:
    """pcie, nvlink or neuronlink; anything unstated is treated as PCIe, the slowest."""
    folded = link.casefold()
    for kind in ("neuronlink", "nvlink"):
        if kind in folded:
            return kind
    return "pcie"


def effective_bandwidth(n: int, link: str, link_bytes_per_s: float) -> float:
    """Bytes/s at which an all-reduce among `n` devices moves data over one link.

    `link_bytes_per_s` is bidirectional, as the catalogue states it; one way is half.
    """
    prior = LINK_PRIORS[link_kind(link)]
    one_way = link_bytes_per_s / 2
    if n == 2:
        return one_way * prior.share_of_two
    return one_way * prior.share_of_more / (n if prior.shared_bridge else 1)


def all_reduce_seconds(message_bytes: float, n: int, link: str, link_bytes_per_s: float) -> float:
    """Seconds for one all-reduce of `message_bytes` among `n` devices; 0 for a single one."""
    if n <= 1:
        return 0.0
    prior = LINK_PRIORS[link_kind(link)]
    moved = 2 * (n - 1) / n * message_bytes
    latency = prior.alpha + prior.alpha_per_peer * n
    return latency + moved / effective_bandwidth(n, link, link_bytes_per_s)


def communication_seconds(
    model: ModelSpec, tokens: float, n: int, link: str, link_bytes_per_s: float
) -> Band:
    """Seconds of all all-reduces in a step carrying `tokens` tokens, with the prior's spread."""
    if n <= 1:
        return Band(0.0, 0.0, 0.0)
    message = tokens * model.hidden_size * ACTIVATION_BYTES
    once = all_reduce_seconds(message, n, link, link_bytes_per_s)
    total = ALL_REDUCES_PER_LAYER * model.layers * once
    low, mid, high = LINK_PRIORS[link_kind(link)].spread
    return Band(total * low, total * mid, total * high)


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
