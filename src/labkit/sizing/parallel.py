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
    """What an all-reduce costs on one kind of link.

    alpha: seconds of latency, fixed and per peer; share_of_two, share_of_more: of the one-way
    bandwidth among two and among more devices; *_spread: factors on the latency and on the
    transfer time at low, mid and high.
    """

    alpha: float
    alpha_per_peer: float
    share_of_two: float
    share_of_more: float
    shared_bridge: bool
    alpha_spread: tuple[float, float, float]
    transfer_spread: tuple[float, float, float]
    source: str


LINK_PRIORS: dict[str, LinkPrior] = {
    # The high end: +400 us per layer (two all-reduces) fits end-to-end runs on PCIe cards.
    "pcie": LinkPrior(
        alpha=25.4e-6,
        alpha_per_peer=1.45e-6,
        share_of_two=0.94,
        share_of_more=0.92,
        shared_bridge=True,
        alpha_spread=(0.7, 1.5, 7.0),
        transfer_spread=(0.7, 1.0, 1.6),
        source="prior: aiconfigurator's L40S operator tables (13B, TP 2/4/8), up to served runs",
    ),
    "nvlink": LinkPrior(
        alpha=10e-6,
        alpha_per_peer=1e-6,
        share_of_two=0.60,
        share_of_more=0.60,
        shared_bridge=False,
        alpha_spread=(0.6, 1.0, 5.0),
        transfer_spread=(0.7, 1.0, 2.0),
        source="prior: A100 prefill at TP 2/4/8 in aiconfigurator's tables",
    ),
    "neuronlink": LinkPrior(
        alpha=15e-6,
        alpha_per_peer=1e-6,
        share_of_two=0.50,
        share_of_more=0.40,
        shared_bridge=False,
        alpha_spread=(0.5, 1.0, 5.0),
        transfer_spread=(0.5, 1.0, 3.0),
        source="prior: no public measurement of the collectives",
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
    """Seconds for one all-reduce of `message_bytes` among `n` devices; 0 for a single one.

    alpha(n) + 2(n-1)/n x bytes / bw_eff(n), without the prior's spread.
    """
    if n <= 1:
        return 0.0
    return all_reduce_latency(n, link) + _transfer(message_bytes, n, link, link_bytes_per_s)


def all_reduce_latency(n: int, link: str) -> float:
    """Seconds of latency of one all-reduce among `n` devices, whatever its size."""
    prior = LINK_PRIORS[link_kind(link)]
    return prior.alpha + prior.alpha_per_peer * n


def communication_seconds(
    model: ModelSpec, tokens: float, n: int, link: str, link_bytes_per_s: float
) -> Band:
    """Seconds of all all-reduces in a step carrying `tokens` tokens, with the prior's spread."""
    if n <= 1:
        return Band(0.0, 0.0, 0.0)
    prior = LINK_PRIORS[link_kind(link)]
    count = ALL_REDUCES_PER_LAYER * model.layers
    latency = count * all_reduce_latency(n, link)
    message = tokens * model.hidden_size * ACTIVATION_BYTES
    transfer = count * _transfer(message, n, link, link_bytes_per_s)
    low, mid, high = (
        latency * a + transfer * b
        for a, b in zip(prior.alpha_spread, prior.transfer_spread, strict=True)
    )
    return Band(low, mid, high)


def _transfer(message_bytes: float, n: int, link: str, link_bytes_per_s: float) -> float:
    moved = 2 * (n - 1) / n * message_bytes
    return moved / effective_bandwidth(n, link, link_bytes_per_s)


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
