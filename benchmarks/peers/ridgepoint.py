"""ridgepoint: a Rust core for vLLM, SGLang and llama.cpp on eleven accelerators."""

from __future__ import annotations

import json

from benchmarks.peers.question import Question, Times, Unsupported

DISTRIBUTION = "ridgepoint"
TRANSLATION = (
    "Asked through the call that its Hugging Face adapter makes, with the model's own dimensions. "
    "Its answer is a rate per request and a TTFT at batch 1; it takes no batch, so rows of more "
    "than one sequence stay unsupported. Every serving engine is asked as vllm. "
    "Formats: its name of the same width (gptq for int4 and 4-bit GPTQ, awq for bitsandbytes). "
    "Context is prompt + output / 2. A10G, A10, L4, T4, PCIe versions, CPUs, Inferentia2 and eager "
    "engines are not in it. 'best' values."
)

_GPUS = {
    "A100-40GB": "a100-40gb",
    "A100-80GB": "a100-80gb",
    "H100": "h100-80gb",
    "H200": "h200-141gb",
    "L40S": "l40s-48gb",
}
_ENGINES = {"serving": "vllm", "llama.cpp": "llamacpp"}
_FORMATS = {
    "fp16": "fp16",
    "bf16": "bf16",
    "fp8": "fp8",
    "int8": "int8",
    "bnb8": "int8",
    "awq4": "awq",
    "bnb4": "awq",
    "gptq4": "gptq",
    "int4": "gptq",
    "q4_0": "q4_0",
    "q4_k_m": "q4_k_m",
}


def answer(question: Question) -> Times:
    """Milliseconds at batch 1; `Unsupported` for what it has no name for."""
    from ridgepoint import _core

    for what, known, asked in (
        ("accelerator", _GPUS, question.gpu),
        ("engine family", _ENGINES, question.family),
        ("weight format", _FORMATS, question.weights),
    ):
        if asked not in known:
            raise Unsupported(f"{what} {asked} is not in it")
    if question.batch > 1:
        raise Unsupported("it takes no batch")
    reply = json.loads(
        _core.fit_shape(
            *_shape(question),
            gpu=_GPUS[question.gpu],
            count=question.tensor_parallel,
            engine=_ENGINES[question.family],
            dtype=_FORMATS[question.weights],
            kv_cache_dtype="fp8" if question.kv_bits == 8 else "fp16",
            ctx=question.context,
            prompt=max(1, question.prompt_tokens),
            as_json=True,
        )
    )
    if not reply["verdict"]["serves"]:
        raise Unsupported("it says that the model does not fit")
    return Times(
        prefill_ms=reply["speed"]["ttft_s"]["best"] * 1e3 if question.prompt_tokens else None,
        step_ms=1e3 / reply["speed"]["decode_tok_s"]["best"],
    )


def _shape(question: Question) -> tuple[object, ...]:
    """id, layers, KV layers, width, parameters, active parameters, geometry, head width, heads."""
    config = question.config
    layers, width = config["num_hidden_layers"], config["hidden_size"]
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    head_dim = config.get("head_dim") or width // heads
    geometry = "mha" if kv_heads == heads else "gqa"
    sizes = (layers, layers, width, question.parameters, question.parameters)
    return (question.id, *sizes, geometry, head_dim, heads, kv_heads, 0, 0)
