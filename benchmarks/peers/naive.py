"""The formula everybody starts with: bytes ÷ bandwidth for decode, FLOPs ÷ peak for prefill.

Weights alone, the data sheet's rates, devices as one big one, nothing else. Two sides: what labkit
must beat to be worth having, and the floor that no measurement can go under.
"""

from __future__ import annotations

from benchmarks.peers.question import Question, Times, Unsupported

VERSION = "textbook"
TRANSLATION = (
    "Decode step = parameters x bits / 8 / (bandwidth x devices), whatever the batch. "
    "Prefill = 2 x parameters x tokens of the batch / (dense 16-bit peak x devices); the FP8 peak "
    "where FP8 is native. No KV cache, no overhead, no communication."
)


def answer(question: Question) -> Times:
    """Milliseconds by the data sheet; `Unsupported` where no bandwidth is known."""
    if question.bandwidth <= 0:
        raise Unsupported(f"no bandwidth of {question.gpu} is known")
    weight_bytes = question.parameters * question.bits_per_weight / 8
    devices = question.tensor_parallel
    tokens = question.prompt_tokens * question.batch
    native_fp8 = question.weights == "fp8" and not question.weight_only
    peak = question.flops["fp8"] if native_fp8 else question.flops.get("fp16", 0.0)
    prefill = 2 * question.parameters * tokens / (peak * devices) * 1e3 if peak else None
    return Times(
        prefill_ms=prefill if tokens else None,
        step_ms=weight_bytes / (question.bandwidth * devices) * 1e3,
        memory_gb=weight_bytes / devices / 1e9,
    )
