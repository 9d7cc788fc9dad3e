"""Weight bytes: what a model occupies (resident) and what one decode step reads (streamed).

Resident and streamed differ by the input embedding: a step reads one row of it per sequence, so
the table fills memory but costs no bandwidth. The output head is read whole at every step; where
it is tied to the embedding, that table is stored once and read as the head.

A format below 16 bits quantizes the linear layers and the experts. Embeddings, head, norms,
biases and routers stay at 16 bits, as GPTQ, AWQ, FP8 and INT8 checkpoints publish them; GGUF
files quantize the tables as well (`NumberFormat.tables`). A model
asked for in the format it was published in quantizes what its publisher did (gpt-oss in MXFP4:
the experts only).
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.specs import ModelSpec, NumberFormat
from labkit.sizing.identity import remembered
from labkit.sizing.inputs import require_count

SIXTEEN_BIT_BYTES = 2.0


@dataclass(frozen=True, slots=True)
class WeightParts:
    """Bytes of a model's weights by how they behave; `total` is their sum."""

    embedding: float
    head: float
    positions: float
    linear: float
    experts: float
    other: float

    @property
    def total(self) -> float:
        """All parts together, in bytes."""
        return self.embedding + self.head + self.positions + self.linear + self.experts + self.other


def resident_weight_parts(
    model: ModelSpec, fmt: NumberFormat, *, quantize_everything: bool = False
) -> WeightParts:
    """Bytes of every part of the stored model.

    `quantize_everything` counts all parameters in `fmt`, the textbook shortcut "parameters x
    bytes"; real checkpoints below 16 bits do not look like that.
    """
    return _parts(model, fmt, quantize_everything)


@remembered(objects=2)
def _parts(model: ModelSpec, fmt: NumberFormat, quantize_everything: bool) -> WeightParts:
    params = model.params
    width = fmt.bytes_per_weight
    everything = quantize_everything or fmt.bits >= 16 or fmt.tables
    kept = width if everything else SIXTEEN_BIT_BYTES
    small = _quantized_parts(model, fmt)
    return WeightParts(
        embedding=params.embedding * (width if "embedding" in small else kept),
        head=params.head * (width if "head" in small else kept),
        positions=params.positions * kept,
        linear=params.linear * (width if "linear" in small else kept),
        experts=params.experts * (width if "experts" in small else kept),
        other=params.other * kept,
    )


def resident_weight_bytes(
    model: ModelSpec, fmt: NumberFormat, *, quantize_everything: bool = False
) -> float:
    """Bytes the whole model occupies: all experts, both tables, scales and zero points included."""
    return resident_weight_parts(model, fmt, quantize_everything=quantize_everything).total


def streamed_weight_bytes(
    model: ModelSpec, fmt: NumberFormat, batch: int = 1, *, quantize_everything: bool = False
) -> float:
    """Bytes of weights that one decode step of `batch` sequences reads.

    Linear layers, head and norms once for the whole batch; no input embedding; of each MoE
    layer's experts min(N, batch x k) (see `experts_touched`).
    """
    parts = resident_weight_parts(model, fmt, quantize_everything=quantize_everything)
    streamed_head = parts.embedding if model.params.tied else parts.head
    return parts.linear + parts.other + streamed_head + _streamed_experts(model, parts, batch)


def experts_touched(experts: int, experts_per_token: int, tokens: int) -> int:
    """Most experts of one layer that `tokens` tokens can need: min(N, tokens x k)."""
    require_count("tokens", tokens)
    return min(experts, tokens * experts_per_token)


def expected_distinct_experts(experts: int, experts_per_token: int, tokens: int) -> float:
    """Expected distinct experts of one layer under independent, uniform routing.

    N x (1 - (1 - k/N)^tokens): each token leaves a given expert out with probability 1 - k/N.
    Real routers are skewed and touch fewer; `experts_touched` is the upper bound.
    """
    require_count("tokens", tokens)
    return experts * (1.0 - (1.0 - experts_per_token / experts) ** tokens)


def device_weight_bytes(model: ModelSpec, fmt: NumberFormat, tensor_parallel_size: int) -> float:
    """Resident bytes on each device of a tensor-parallel group.

    Matrices, experts and both vocabulary tables are cut into equal parts; norms and learned
    positions are on every device. The copies of K/V projections that devices beyond the number
    of KV heads keep are left out (below 0.5 % of the weights in the models of the catalogue).
    """
    parts = resident_weight_parts(model, fmt)
    replicated = parts.other + parts.positions
    return (parts.total - replicated) / tensor_parallel_size + replicated


def device_streamed_bytes(
    model: ModelSpec, fmt: NumberFormat, batch: int, tensor_parallel_size: int
) -> float:
    """Weight bytes that each device of a tensor-parallel group reads in one decode step."""
    parts = resident_weight_parts(model, fmt)
    head = parts.embedding if model.params.tied else parts.head
    cut = parts.linear + head + _streamed_experts(model, parts, batch)
    return cut / tensor_parallel_size + parts.other


def fixed_streamed_bytes(model: ModelSpec, fmt: NumberFormat, tensor_parallel_size: int) -> float:
    """Weight bytes each device reads in every step, whatever the batch: all but the experts."""
    parts = resident_weight_parts(model, fmt)
    head = parts.embedding if model.params.tied else parts.head
    return (parts.linear + head) / tensor_parallel_size + parts.other


def expert_bytes_per_device(
    model: ModelSpec, fmt: NumberFormat, tensor_parallel_size: int
) -> float:
    """Bytes of all routed experts on each device; 0 for a dense model."""
    return resident_weight_parts(model, fmt).experts / tensor_parallel_size


def active_parameters(model: ModelSpec, batch: int = 1) -> int:
    """Stored parameters that a batch of tokens makes use of: all but the experts left out."""
    params = model.params
    return params.total - params.experts + _touched_expert_parameters(model, batch)


def _quantized_parts(model: ModelSpec, fmt: NumberFormat) -> tuple[str, ...]:
    """Which parts a checkpoint in `fmt` stores that way; the others keep 16 bits."""
    return model.native_parts if fmt.name == model.native_format else ("linear", "experts")


def _touched_expert_parameters(model: ModelSpec, tokens: int) -> int:
    if model.moe is None:
        return 0
    touched = experts_touched(model.moe.experts, model.moe.experts_per_token, tokens)
    return touched * model.moe.moe_layers * model.params.per_expert


def _streamed_experts(model: ModelSpec, parts: WeightParts, batch: int) -> float:
    if model.moe is None or not model.params.experts:
        return 0.0
    return parts.experts * _touched_expert_parameters(model, batch) / model.params.experts
