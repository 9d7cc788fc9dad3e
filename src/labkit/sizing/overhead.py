"""What a serving engine keeps of a device beside weights and KV cache: named parts and a band.

vLLM, before it sizes the cache, runs two trial passes and keeps the peak of the larger one:

- the longest step (`max_num_batched_tokens` tokens through one layer). A token's activations are
  about 6 x (hidden + intermediate / TP) bytes in 16 bit; with intermediate = 3.5 x hidden and
  12.8 x hidden^2 parameters per layer that is `step_bytes` x sqrt(parameters of a layer). Of a
  mixture of experts a token passes only a few: `expert_share` of that.
- the sampler (`max_num_seqs` sequences x vocabulary, fp32). Sorting for top-k/top-p holds
  `sort_copies` copies of the logits at once; a fused kernel about three (logits,
  probabilities, noise). Embedding models have no sampler.

To that come what lies outside PyTorch (`base`), buffers of the collectives per further device of
a tensor-parallel group (`rank`), the vision encoder's trial pass (`image`), and CUDA graphs in
the versions that count them inside. The parameters are fitted (`overhead_fitted`); what each era
of vLLM does is in `engine_defaults`.

SGLang sizes its pool before any of this: mem_fraction x free before loading - weights. What it
keeps lies in the other share; only the CUDA context comes off what it sees.

Other engines have no public logs here and keep their prior (`engines`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from labkit.sizing.bands import Band
from labkit.sizing.engine_defaults import Era, vllm_era
from labkit.sizing.overhead_fitted import FITTED, SOURCE
from labkit.sizing.units import GIB

# Logits, probabilities and the noise that draws from them, each fp32 of sequences x vocabulary.
FUSED_COPIES = 3.0
FP32_BYTES = 4.0
# 0.11 to 0.23 GiB of graphs are logged at 16 to 64 sequences, 0.4 to 0.6 GiB at the default limits.
GRAPHS = Band(0.1 * GIB, 0.25 * GIB, 0.6 * GIB)
# Intermediate width over hidden width: the part of a token's activations that TP divides.
_WIDE = 3.5
# The vision trial pass depends on the largest image that the model's processor lets through.
_IMAGE_LOW, _IMAGE_HIGH = 0.0, 3.2 * GIB
# The versions with fused kernels left six logs, 0.2 to 0.6 GiB apart in what is no trial pass.
_KERNEL_BASE_LOW, _KERNEL_BASE_HIGH = 0.0, 0.7 * GIB
# Per further device of a group: two GPUs of one host log 0.1 to 0.4 GiB more than one, eight H100
# 0.3 each, two hosts 0.6.
_RANK_LOW, _RANK_HIGH = 0.05 * GIB, 0.6 * GIB
_SGLANG_CONTEXT = Band(0.0, 0.5 * GIB, 1.5 * GIB)
_SGLANG_REST = Band(0.0, 0.1 * GIB, 1.0 * GIB)


@dataclass(frozen=True, slots=True)
class OverheadCase:
    """What the overhead of one device depends on.

    `layer_parameters`: parameters of one layer of the whole model, all experts; `generates`:
    False for embedding models; `images`: the model has a vision encoder.
    """

    engine: str
    version: str | None
    tensor_parallel_size: int
    layer_parameters: float
    moe: bool
    vocab_size: int
    max_num_seqs: int
    max_num_batched_tokens: int
    enforce_eager: bool = False
    before_ampere: bool = False
    generates: bool = True
    images: bool = False


@dataclass(frozen=True, slots=True)
class OverheadPart:
    """One named part, bytes per device; `source` says how it comes about and from where."""

    name: str
    size: Band
    source: str


Parameters = dict[str, float]


def step_bytes_per_token(case: OverheadCase, fitted: Parameters = FITTED) -> float:
    """Activation bytes per token of the longest step on one device."""
    share = fitted["expert_share"] if case.moe else 1.0
    divided = (1.0 + _WIDE / case.tensor_parallel_size) / (1.0 + _WIDE)
    return fitted["step_bytes"] * share * math.sqrt(case.layer_parameters) * divided


def vllm_parts(case: OverheadCase, fitted: Parameters = FITTED) -> tuple[OverheadPart, ...]:
    """The parts of vLLM's overhead; their sum is before the fit's own spread (`vllm_overhead`)."""
    era = vllm_era(case.version, case.before_ampere)
    kernel = era.sampler == "kernel"
    base = _exactly(fitted["base_gib"] * GIB)
    if kernel:
        mid = fitted["base_kernel_gib"] * GIB
        base = Band(_KERNEL_BASE_LOW, mid, max(mid, _KERNEL_BASE_HIGH), "fit")
    parts = [
        OverheadPart("outside PyTorch", base, f"{SOURCE}; {era.source}"),
        _larger_pass(case, era, fitted),
    ]
    further = case.tensor_parallel_size - 1
    if further:
        each = fitted["rank_gib"] * GIB
        buffers = Band(min(each, _RANK_LOW), each, max(each, _RANK_HIGH), "fit").times(further)
        parts.append(
            OverheadPart(
                "collectives' buffers",
                buffers,
                f"{SOURCE}: {fitted['rank_gib']:.2f} GiB per further device",
            )
        )
    if case.images:
        parts.append(
            OverheadPart(
                "vision encoder's trial pass",
                Band(_IMAGE_LOW, fitted["image_gib"] * GIB, _IMAGE_HIGH, "fit"),
                f"{SOURCE}: depends on the largest image allowed",
            )
        )
    if era.graphs_inside and not case.enforce_eager:
        parts.append(
            OverheadPart("CUDA graphs", GRAPHS, f"prior: sizes that logs print; {era.source}")
        )
    return tuple(parts)


def vllm_overhead(case: OverheadCase, fitted: Parameters = FITTED) -> Band:
    """Bytes per device that vLLM keeps: the parts' sum with the spread of the fit around it.

    The spread is (0.1 GiB + 5 % of the sum) times `below` and `above`, so that the band holds
    nine in ten rows of sources that the fit has not seen.
    """
    parts = vllm_parts(case, fitted)
    low = sum(part.size.low for part in parts)
    mid = sum(part.size.mid for part in parts)
    high = sum(part.size.high for part in parts)
    unit = spread_unit(mid)
    return Band(
        max(0.0, low - fitted["below"] * unit), mid, high + fitted["above"] * unit, kind="fit"
    )


def spread_unit(mid: float) -> float:
    """The scale of the fit's residuals at an overhead of `mid` bytes."""
    return 0.1 * GIB + 0.05 * mid


def sglang_parts(utilization: float, *, free_known: bool = False) -> tuple[OverheadPart, ...]:
    """SGLang's own: the context that is there before it looks, times its share.

    `free_known`: the memory given is what SGLang logs as free before loading, context already
    off; then only what loading leaves beside the weights remains.
    """
    size, name = (_SGLANG_REST, "left by loading") if free_known else (_SGLANG_CONTEXT, "context")
    return (
        OverheadPart(
            name,
            size.times(utilization),
            "prior: mem_fraction x free before loading - weights",
        ),
    )


def _larger_pass(case: OverheadCase, era: Era, fitted: Parameters) -> OverheadPart:
    step = step_bytes_per_token(case, fitted) * case.max_num_batched_tokens
    logits = case.max_num_seqs * case.vocab_size * FP32_BYTES if case.generates else 0.0
    copies = fitted["sort_copies"] if era.sampler == "sort" else FUSED_COPIES
    sampler = copies * logits
    if step >= sampler:
        return OverheadPart(
            "activations of the longest step",
            _exactly(step),
            f"{SOURCE}: {case.max_num_batched_tokens:,} tokens x "
            f"{step / case.max_num_batched_tokens:,.0f} bytes; more than the sampler's "
            f"{sampler / GIB:.2f} GiB",
        )
    fused = max(step, FUSED_COPIES * logits)
    return OverheadPart(
        "sampler's trial pass",
        Band(fused if era.sampler_may_fuse else sampler, sampler, sampler, "fit"),
        f"{SOURCE}: {copies:.1f} x {case.max_num_seqs:,} sequences x {case.vocab_size:,} "
        f"vocabulary x 4 bytes; more than the longest step's {step / GIB:.2f} GiB",
    )


def _exactly(size: float) -> Band:
    return Band(size, size, size, "fit")
