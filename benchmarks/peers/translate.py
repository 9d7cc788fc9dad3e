"""From labkit's catalogue and a published row to the plain numbers of a `Question`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.peers.metrics import Reading
from benchmarks.peers.question import Question, Unsupported
from labkit.catalog import Catalog
from labkit.catalog.specs import Accelerator, ModelSpec
from labkit.sizing.validate.remarks import remarks_of
from labkit.sizing.validate.runs import MeasuredRun

# Bits of one stored weight, scales included: 4-bit integers in groups of 128 (GPTQ, AWQ, gpt-fast),
# bitsandbytes' NF4 with one fp32 scale per 64, llama.cpp's q4_0 (18 bytes per 32) and q4_k_m mix.
BITS = {
    "fp32": 32.0,
    "fp16": 16.0,
    "bf16": 16.0,
    "fp8": 8.0,
    "int8": 8.0,
    "bnb8": 8.0,
    "awq4": 4.15625,
    "gptq4": 4.15625,
    "int4": 4.15625,
    "bnb4": 4.5,
    "q4_0": 4.5,
    "q4_k_m": 4.85,
}

# Variants of labkit's step-time model that are no GPU server with compiled or launched kernels.
FAMILIES = {"eager": "eager", "cpu": "cpu", "llama.cpp": "llama.cpp", "neuron": "neuron"}

# Architectures whose MLP has two matrices; the others have a gate as a third.
_UNGATED = ("gptj", "gpt_neox", "gpt2", "falcon", "opt", "bloom", "mpt")


def question_of(
    name: str,
    model: ModelSpec,
    accelerator: Accelerator | None,
    *,
    engine: str,
    family: str,
    weights: str,
    kv_bits: int = 16,
    tensor_parallel: int = 1,
    batch: int = 1,
    prompt_tokens: int,
    output_tokens: int,
    static: bool = True,
    host: str = "CPU",
    host_bandwidth: float = 0.0,
    host_flops: Mapping[str, float] | None = None,
) -> Question:
    """One run as plain numbers; `accelerator` None is the host's CPU at `host_bandwidth` bytes/s.

    Raises KeyError for a word in `weights` that is not in `BITS`.
    """
    rates = (host_flops or {}) if accelerator is None else accelerator.flops
    flops = {name: rate for name, rate in rates.items() if rate > 0}
    # A NeuronCore is a part of its chip: tensor parallel counts cores.
    share = 1.0 if accelerator is None else 1.0 / accelerator.cores
    return Question(
        id=name,
        engine=engine,
        family=family,
        config=dimensions(model),
        parameters=model.params.total,
        gated_mlp=_architecture(model) not in _UNGATED,
        gpu=host if accelerator is None else accelerator.name,
        memory_bytes=0 if accelerator is None else round(accelerator.memory_bytes * share),
        bandwidth=host_bandwidth
        if accelerator is None
        else accelerator.bandwidth_bytes_per_s * share,
        flops={k: v * share for k, v in flops.items()},
        link="" if accelerator is None else accelerator.link,
        link_bytes_per_s=0.0 if accelerator is None else accelerator.link_bytes_per_s,
        weights=weights,
        bits_per_weight=BITS[weights],
        kv_bits=kv_bits,
        tensor_parallel=tensor_parallel,
        batch=batch,
        prompt_tokens=prompt_tokens,
        output_tokens=output_tokens,
        static=static,
    )


def question_of_run(row: Mapping[str, str], run: MeasuredRun) -> tuple[Question, Reading]:
    """A published row as a question, and what its number is.

    Raises `Unsupported` where the row leaves open what every tool has to be told.
    """
    if run.saturated:
        raise Unsupported("how many sequences run at once is not stated: the engine was saturated")
    written = row["weights_dtype"].strip().casefold()
    if written not in BITS:
        raise Unsupported(f"weight format {written or 'unstated'}")
    question = question_of(
        run.id,
        run.model,
        run.device.accelerator,
        engine=run.engine.name,
        family=FAMILIES.get(run.variant, "serving"),
        weights=written,
        kv_bits=round(run.kv.bits),
        tensor_parallel=run.devices,
        batch=run.batch,
        prompt_tokens=round(run.prompt_tokens),
        output_tokens=max(1, round(run.output_tokens)),
        static=not run.closed_loop,
        host=f"CPU {run.accelerator}",
        host_bandwidth=run.device.bandwidth,
        host_flops=run.cpu_flops,
    )
    total = run.metric in ("decode_tok_s_total", "req_s")
    reading = Reading(
        metric=run.metric,
        prefill_inside=not run.decode_only if total else run.prefill_inside,
        per_gpu=run.per_device,
        one_by_one=remarks_of(run.notes).one_by_one,
    )
    return question, reading


def dimensions(model: ModelSpec) -> dict[str, Any]:
    """The model's sizes under the names that Hugging Face's Llama configuration has for them."""
    attention = model.attention[0]
    published = Catalog.load().config(model.name)
    width = model.hidden_size
    inner = (published.get(key) for key in ("intermediate_size", "n_inner", "ffn_hidden_size"))
    return {
        "model_type": _architecture(model),
        "hidden_size": width,
        "num_hidden_layers": model.layers,
        "num_attention_heads": attention.heads,
        "num_key_value_heads": attention.kv_heads,
        "head_dim": attention.head_dim,
        "intermediate_size": next((size for size in inner if size), 4 * width),
        "vocab_size": model.vocab_size,
        "tie_word_embeddings": model.params.tied,
    }


def _architecture(model: ModelSpec) -> str:
    return str(Catalog.load().config(model.name)["model_type"])


def example() -> Question:
    """The run that calls are timed on: llama-3-8b in fp16, one L40S, 512 + 256 tokens, batch 1."""
    catalog = Catalog.load()
    return question_of(
        "example",
        catalog.model("llama-3-8b"),
        catalog.accelerator("L40S"),
        engine="vllm",
        family="serving",
        weights="fp16",
        prompt_tokens=512,
        output_tokens=256,
    )
