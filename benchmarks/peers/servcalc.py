"""servcalc: a roofline with efficiency curves for vLLM, ollama and transformers on one GPU."""

from __future__ import annotations

import dataclasses
from typing import Any

from benchmarks.peers.question import Question, Times, Unsupported

DISTRIBUTION = "servcalc"
TRANSLATION = (
    "One GPU: TP > 1 stays unsupported. Cards by its own name; A10G, A100-PCIe and H100-PCIe as a "
    "GpuSpec, which its README provides for, with labkit's catalogue numbers. Serving engines use "
    "its vllm profile, llama.cpp its ollama profile (one slot per sequence, context as long as the "
    "run), transformers its hf profile. Where all sequences start together the profile's "
    "batching is set to static, so that TTFT and TPOT are those of a static batch; else prefill "
    "runs as its own pass unless the engine chunks it (vLLM, SGLang). Formats: gptq for int4 and "
    "4-bit GPTQ, gptq_8 for int8; bitsandbytes is not in it. Architectures: llama, mistral, qwen2. "
    "Middle values."
)

_GPUS = {
    "T4": "T4",
    "A10": "A10",
    "L4": "L4",
    "L40S": "L40S",
    "A100-40GB": "A100 40GB",
    "A100-80GB": "A100 80GB",
    "H100": "H100 80GB",
    "H200": "H200",
}
_GIVEN = ("A10G", "A100-80GB-PCIe", "H100-PCIe")
_FORMATS = {
    "fp16": None,
    "bf16": None,
    "fp8": "fp8",
    "int8": "gptq_8",
    "int4": "gptq",
    "gptq4": "gptq",
    "awq4": "awq",
    "q4_0": "gguf_q4_0",
    "q4_k_m": "gguf_q4_k_m",
}
_CHUNKS = ("vllm", "sglang")


def answer(question: Question) -> Times:
    """Milliseconds of one batch size; `Unsupported` for what it does not model."""
    import servcalc
    from servcalc.modes import DoesNotFitError
    from vramcalc import Arch
    from vramcalc.arch import UnsupportedModelError

    if question.tensor_parallel > 1:
        raise Unsupported("it models one GPU")
    if question.weights not in _FORMATS:
        raise Unsupported(f"weight format {question.weights} is not in it")
    try:
        arch = Arch.from_config(question.config)
        reply = servcalc.estimate(
            arch,
            _gpu(question),
            # It wants a prompt and at least one decode step.
            workload=servcalc.Workload(
                prompt_len=max(1, question.prompt_tokens),
                gen_len=max(2, question.output_tokens),
                concurrency=(question.batch,),
            ),
            profile=_profile(question),
        )
    except UnsupportedModelError:
        kind = question.config["model_type"]
        raise Unsupported(f"architecture {kind} is not in it") from None
    except DoesNotFitError:
        raise Unsupported("it says that the weights do not fit") from None
    point = reply.points[0]
    if not point.feasible and point.infeasible_reason == "memory":
        raise Unsupported("it says that the cache does not fit")
    ttft = point.ttft_ms.mid if point.ttft_ms and question.prompt_tokens else None
    cache = reply.kv_bytes_per_token * question.batch
    length = question.prompt_tokens + question.output_tokens
    return Times(
        prefill_ms=ttft,
        step_ms=point.itl_ms.mid,
        memory_gb=(reply.weight_bytes + cache * length) / 1e9,
        steady=not question.static,
    )


def _gpu(question: Question) -> Any:
    from servcalc.gpus import GpuSpec

    if question.gpu in _GPUS:
        return _GPUS[question.gpu]
    if question.gpu not in _GIVEN:
        raise Unsupported(f"accelerator {question.gpu} is not in it")
    return GpuSpec(
        question.gpu,
        question.memory_bytes,
        question.bandwidth / 1e9,
        question.flops["fp16"] / 1e12,
    )


def _profile(question: Question) -> Any:
    from servcalc import profiles

    quant = _FORMATS[question.weights]
    kv_bits = 8 if question.kv_bits == 8 else 16
    length = max(1, question.prompt_tokens) + max(2, question.output_tokens)
    if question.family == "eager":
        return profiles.hf(quant=quant, kv_bits=kv_bits)
    if question.family == "llama.cpp":
        return profiles.ollama(
            num_parallel=question.batch, num_ctx=length, quant=quant, kv_bits=kv_bits
        )
    if question.family != "serving":
        raise Unsupported(f"engine family {question.family} is not in it")
    chunked = question.engine.casefold() in _CHUNKS and not question.static
    profile = profiles.vllm(chunked=chunked, quant=quant, kv_bits=kv_bits)
    return dataclasses.replace(profile, batching="static") if question.static else profile
