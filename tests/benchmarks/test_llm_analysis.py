"""llm-analysis' formulas as written here give what its own code gives.

The expected numbers were printed by `LLMAnalysis.inference` of commit d841e40a with
flops_efficiency 0.7 and hbm_memory_efficiency 0.9: prefill_latency and decode_latency in ms.
"""

from __future__ import annotations

import pytest

from benchmarks.peers import llm_analysis
from benchmarks.peers.question import Question, Unsupported

LLAMA_2_13B = (40, 40, 40, 5120, 13824, 32000)
LLAMA_3_8B = (32, 32, 8, 4096, 14336, 128256)
LLAMA_2_70B = (80, 64, 8, 8192, 28672, 32000)


def question(
    gpu: str,
    shape: tuple[int, ...],
    weights: str,
    bits: float,
    n: int,
    batch: int,
    prompt: int,
    output: int,
) -> Question:
    layers, heads, kv_heads, hidden, inner, vocabulary = shape
    return Question(
        id="x",
        engine="",
        family="serving",
        config={
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": kv_heads,
            "hidden_size": hidden,
            "intermediate_size": inner,
            "vocab_size": vocabulary,
        },
        parameters=0,
        gated_mlp=True,
        gpu=gpu,
        memory_bytes=0,
        bandwidth=0.0,
        flops={"fp16": 1.0, "fp8": 1.0} if gpu == "H100" else {"fp16": 1.0},
        link="",
        link_bytes_per_s=0.0,
        weights=weights,
        bits_per_weight=bits,
        # Its cache is as wide as its activations.
        kv_bits=8 if weights == "fp8" else 16,
        tensor_parallel=n,
        batch=batch,
        prompt_tokens=prompt,
        output_tokens=output,
        static=True,
    )


@pytest.mark.parametrize(
    ("asked", "prefill_ms", "decode_ms"),
    [
        (("A100-80GB", LLAMA_2_13B, "fp16", 16, 1, 1, 512, 256), 61.87559, 14.69579),
        (("A100-80GB", LLAMA_2_13B, "fp16", 16, 2, 32, 512, 256), 1032.62954, 18.77003),
        (("A10G", LLAMA_3_8B, "fp16", 16, 1, 1, 512, 256), 162.57682, 28.19440),
        (("A10G", LLAMA_3_8B, "fp16", 16, 4, 8, 128, 50), 106.76847, 9.15393),
        (("H100", LLAMA_2_70B, "fp8", 8, 2, 64, 128, 2048), 438.78471, 20.49444),
        (("H100", LLAMA_2_70B, "fp16", 16, 8, 1, 2048, 128), 74.43090, 7.19756),
        (("A100-80GB", LLAMA_2_70B, "gptq4", 4.15, 1, 1, 5, 200), 18.98569, 19.01930),
        (("A100-40GB", LLAMA_2_70B, "int8", 8, 16, 4, 300, 200), 67.90246, 4.89964),
    ],
)
def test_it_answers_what_the_tool_answers(
    asked: tuple, prefill_ms: float, decode_ms: float
) -> None:
    times = llm_analysis.answer(question(*asked))
    assert times.prefill_ms == pytest.approx(prefill_ms, abs=1e-5)
    assert times.step_ms == pytest.approx(decode_ms, abs=1e-5)


def test_a_model_that_does_not_fit_is_refused() -> None:
    with pytest.raises(Unsupported, match="weights do not fit"):
        llm_analysis.answer(question("A10G", LLAMA_2_70B, "fp16", 16, 1, 1, 512, 256))
    with pytest.raises(Unsupported, match="cache and activations do not fit"):
        llm_analysis.answer(question("A100-40GB", LLAMA_2_13B, "fp16", 16, 1, 64, 512, 256))


def test_hardware_that_it_does_not_know_is_refused() -> None:
    with pytest.raises(Unsupported, match="accelerator CPU"):
        llm_analysis.answer(question("CPU", LLAMA_3_8B, "fp16", 16, 1, 1, 512, 256))
    with pytest.raises(Unsupported, match="Inferentia2"):
        llm_analysis.answer(question("Inferentia2", LLAMA_3_8B, "fp16", 16, 1, 1, 512, 256))


def test_without_a_prompt_there_is_no_ttft() -> None:
    times = llm_analysis.answer(question("A10G", LLAMA_3_8B, "fp16", 16, 1, 1, 0, 512))
    assert times.prefill_ms is None
    assert times.step_ms
