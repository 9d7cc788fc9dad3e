"""Names of engines, hardware, formats and models as measurement tables write them."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.catalog import Catalog
from labkit.sizing.validate import names
from labkit.sizing.validate.format_names import cache_of, weights_of
from labkit.sizing.validate.result import Unsupported


def refusal(call: Callable[[], object]) -> str:
    """Why `call` is refused, "" where it is not."""
    try:
        call()
    except Unsupported as error:
        return error.reason
    return ""


@pytest.mark.parametrize(
    ("written", "version", "engine", "variant"),
    [
        ("vLLM", "0.6.3", "vllm", "compiled"),
        ("vllm", "", "vllm", "compiled"),
        ("TGI", "HF LLM DLC 1.0.3", "tgi", "launched"),
        ("TGI", "2.3.1", "tgi", "compiled"),
        ("text-generation-inference", "3.0", "tgi", "compiled"),
        ("SGLang", "", "sglang", "compiled"),
        ("TensorRT-LLM", "0.6.1", "tensorrt-llm", "compiled"),
        ("Nvidia TensorRT-LLM", "", "tensorrt-llm", "compiled"),
        ("Optimum Nvidia", "", "tensorrt-llm", "launched"),
        ("TensorRT 9.3.0", "", "tensorrt-llm", "compiled"),
        ("NIM (TensorRT-LLM)", "1.8.0", "tensorrt-llm", "compiled"),
        ("LMDeploy TurboMind", "0.2.0", "lmdeploy", "compiled"),
        ("MLC", "", "tensorrt-llm", "compiled"),
        ("mlc-llm", "", "tensorrt-llm", "compiled"),
        ("gpt-fast (torch.compile)", "", "transformers", "compiled"),
        ("ctranslate", "", "tensorrt-llm", "compiled"),
        ("CTranslate2", "", "tensorrt-llm", "compiled"),
        ("DeepSpeed-MII/FastGen", "", "vllm", "launched"),
        ("LightLLM", "", "vllm", "launched"),
        ("transformers", "", "transformers", "eager"),
        ("transformers fp16+gptq+exllamav2", "", "transformers", "eager"),
        ("transformers (eager) + FastAPI", "5.16.1", "transformers", "eager"),
        ("transformers (pytorch)", "", "transformers", "eager"),
        ("HF Transformers", "", "transformers", "eager"),
        ("AutoGPTQ/transformers", "", "transformers", "eager"),
        ("AutoAWQ GEMM", "", "transformers", "launched"),
        ("PyTorch Lightning", "", "transformers", "eager"),
        ("onnx", "", "transformers", "eager"),
        ("exllamav2", "", "transformers", "compiled"),
        ("llama.cpp", "b3000", "llama.cpp", "llama.cpp"),
        ("llama-bench", "", "llama.cpp", "llama.cpp"),
        ("ollama", "", "llama.cpp", "llama.cpp"),
        ("llamafile 0.8.11", "", "llama.cpp", "llama.cpp"),
        ("ctransformers", "", "llama.cpp", "llama.cpp"),
        ("NIM (vLLM)", "", "vllm", "compiled"),
        ("DJL Serving LMI (vLLM)", "", "vllm", "compiled"),
        ("transformers + torch.compile", "", "transformers", "compiled"),
        ("llama cpp python", "", "llama.cpp", "llama.cpp"),
        ("Transformers NeuronX", "Neuron 2.18.0", "neuron", "neuron"),
        ("NxD Inference", "2.24", "neuron", "neuron"),
        ("optimum-neuron", "", "neuron", "neuron"),
    ],
)
def test_engines(written, version, engine, variant):
    for spelling in (written, written.upper(), f"  {written.lower()} ", written.replace(" ", "_")):
        found = names.engine_of(spelling, version)
        assert (found.engine, found.variant) == (engine, variant), spelling


@pytest.mark.parametrize(
    ("written", "variant"),
    [("AutoAWQ/IPEX", "cpu"), ("PyTorch+IPEX", "cpu"), ("llama.cpp", "llama.cpp")],
)
def test_engines_on_a_cpu(written, variant):
    assert names.engine_of(written, cpu=True).variant == variant


def test_what_an_engines_name_and_version_say_besides():
    assert names.engine_of("TensorRT-LLM", "0.6.1").quirks == ("pre-xqa",)
    assert names.engine_of("TensorRT-LLM", "0.9.0").quirks == ()
    # NIM's version is its own: 1.8.0 says nothing about TensorRT-LLM's.
    assert names.engine_of("NIM (TensorRT-LLM)", "0.5.0").version is None
    assert names.engine_of("transformers fp16+gptq+exllamav2").kernels == "exllamav2"
    assert names.engine_of("Transformers NeuronX", "Neuron 2.18.0").version == "2.18.0"
    assert names.engine_of("llama.cpp").layer_split
    assert not names.engine_of("vLLM").static


def test_an_unknown_engine_names_the_nearest():
    with pytest.raises(Unsupported, match="engine 'vLMM' is not known: the nearest are vLLM"):
        names.engine_of("vLMM")
    with pytest.raises(Unsupported, match="has no model of a run on a CPU"):
        names.engine_of("TensorRT-LLM", cpu=True)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("A100-80GB-SXM", "A100-80GB"),
        ("A100-SXM4-80GB", "A100-80GB"),
        ("NVIDIA A100-SXM4-80GB", "A100-80GB"),
        ("A100 SXM 80GB", "A100-80GB"),
        ("A100-40GB-SXM", "A100-40GB"),
        ("NVIDIA A100-SXM4-40GB", "A100-40GB"),
        ("A100-80GB-PCIe", "A100-80GB-PCIe"),
        ("NVIDIA A100 80GB PCIe", "A100-80GB-PCIe"),
        ("A100-PCIE-40GB", "A100-40GB-PCIe"),
        ("H100-SXM", "H100"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("H100-PCIe", "H100-PCIe"),
        ("H200", "H200"),
        ("NVIDIA L4", "L4"),
        ("L40S", "L40S"),
        ("A10G", "A10G"),
        ("NVIDIA A10G", "A10G"),
        ("A10", "A10"),
        ("Tesla T4", "T4"),
        ("NVIDIA Tesla T4", "T4"),
        ("Tesla V100", "V100"),
        ("Inferentia2", "Inferentia2"),
        ("AWS Inferentia2", "Inferentia2"),
        ("Trainium", "Trainium"),
        ("Trn1", "Trainium"),
        ("CPU Sapphire Rapids", "Sapphire Rapids"),
        ("CPU Sapphire Rapids 2S", "Sapphire Rapids"),
        ("CPU Intel Xeon Sapphire Rapids", "Sapphire Rapids"),
        ("CPU Graviton4", "Graviton4"),
        ("CPU AWS Graviton3", "Graviton3"),
        ("CPU 8488C", "Sapphire Rapids"),
        ("Graviton4", "Graviton4"),
        ("Intel Xeon 8488C", "Sapphire Rapids"),
        ("c7i.24xlarge", "Sapphire Rapids"),
        ("g5.2xlarge", "A10G"),
        ("8x A100-80GB-SXM", "A100-80GB"),
        ("4 x L4", "L4"),
        ("NVIDIA A10G (24 GB)", "A10G"),
        ("L40S 48GB", "L40S"),
        ("T4 16GB", "T4"),
        ("H200 141GB", "H200"),
    ],
)
def test_hardware(written, name):
    assert names.hardware_of(written, 1).name == name


@pytest.mark.parametrize(
    ("written", "name", "says"),
    [
        ("H100-PCIe?", "H100-PCIe", "'H100-PCIe?': taken as H100-PCIe"),
        ("A100 80GB", "A100-80GB", "SXM is assumed"),
        ("H100", "H100", "SXM is assumed"),
    ],
)
def test_doubtful_hardware_is_taken_and_said(written, name, says):
    found = names.hardware_of(written, 1)
    assert found.name == name
    assert any(says in text for text in found.assumptions)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("A100", "A100-40GB-SXM, A100-80GB-SXM"),
        ("RTX 4090", "'RTX 4090' is not in the catalogue: the nearest are"),
        ("L4OS", "the nearest are L40S"),
        ("CPU Pentium", "is no CPU of the catalogue"),
        ("", "gpu is not stated"),
        ("?", "is not in the catalogue"),
    ],
)
def test_unknown_hardware_names_the_nearest(written, says):
    with pytest.raises(Unsupported, match=says):
        names.hardware_of(written, 1)


def test_links_are_those_of_the_card_or_of_the_aws_instance():
    assert names.hardware_of("A100-80GB-SXM", 8).device.link == "nvlink"
    assert names.hardware_of("H100-PCIe", 2).device.link == "pcie"
    on_aws = names.hardware_of("A10G", 4, "ml.g5.12xlarge (4 GPUs)")
    assert on_aws.instance is Catalog.load().instance("g5.12xlarge")
    assert on_aws.device.link_bytes_per_s == 32e9  # x8, as seen on real hosts
    # Another card in the same cell: the instance says nothing about it.
    assert names.hardware_of("A10", 1, "g5.xlarge").instance is None
    chip = names.hardware_of("Inferentia2", 12, "inf2.48xlarge")
    assert (chip.device.noun, chip.device.count) == ("NeuronCore", 24)


def test_cpus_have_the_share_that_worked():
    socket = Catalog.load().cpu("Sapphire Rapids")
    whole = names.hardware_of("CPU Sapphire Rapids", 1, cores=48)
    two = names.hardware_of("CPU Sapphire Rapids 2S", 2)
    part = names.hardware_of("CPU Sapphire Rapids", 1, "GCP c3-highcpu-44", cores=22)
    assert whole.device.bandwidth == socket.bandwidth_bytes_per_s
    assert two.device.bandwidth == 2 * socket.bandwidth_bytes_per_s
    assert (two.count, two.cores) == (2, 96)
    assert part.device.bandwidth == pytest.approx(socket.bandwidth_bytes_per_s * 22 / 48)
    assert part.assumptions
    # Half of a Graviton4, of which 20 of 48 cores were busy: all of its bandwidth, 20 cores' FLOPs.
    aws = names.hardware_of("CPU Graviton4", 1, "r8g.12xlarge", cores=20)
    assert aws.device.bandwidth == Catalog.load().instance("r8g.12xlarge").cpu_bandwidth_bytes_per_s
    assert aws.cpu_flops is not None
    assert aws.cpu_flops["bf16"] == pytest.approx(20 * 2.8e9 * 128)


@pytest.mark.parametrize(
    ("written", "name", "kernels"),
    [
        ("fp16", "fp16", ""),
        ("bfloat16", "bf16", ""),
        ("FP8", "fp8", ""),
        ("int8", "int8", ""),
        ("w8a8", "int8", ""),
        ("gptq4", "int4", "gptq"),
        ("GPTQ-Int4", "int4", "gptq"),
        ("awq4", "int4", "awq"),
        ("int4", "int4", ""),
        ("bnb4", "int4-g64", "bnb"),
        ("NF4", "int4-g64", "bnb"),
        ("bnb8", "int8", "bnb"),
        ("q4_k_m", "int4-q4_k_m", "gguf"),
        ("Q4_0", "int4-q4_0", "gguf"),
        ("q8_0", "int8-q8_0", "gguf"),
        ("mxfp4", "mxfp4", ""),
        ("int4-g32", "int4-g32", ""),
        ("GPTQ-4bit-128g", "int4", "gptq"),
        ("gptq 8 bit", "int8", "gptq"),
        ("int4 (AWQ, g128)", "int4", "awq"),
        ("8-bit bitsandbytes", "int8", "bnb"),
        ("4-bit NF4", "int4-g64", "bnb"),
        ("FP8 per tensor", "fp8", ""),
        ("int8 weight-only", "int8", ""),
    ],
)
def test_weight_formats(written, name, kernels):
    found = weights_of(written)
    assert (found.format.name, found.kernels) == (name, kernels)
    assert found.assumption == ""


def test_an_engine_on_gguf_files_means_gguf_formats():
    found = weights_of("int4", gguf=True)
    assert found.format.name == "int4-q4_k_m"
    assert "q4_k_m" in found.assumption
    assert weights_of("fp16", gguf=True).format.name == "fp16"


@pytest.mark.parametrize(
    ("written", "says"),
    [("?", "not stated"), ("", "not stated"), ("q9_9", "no GGUF format"), ("fp17", "are fp16")],
)
def test_unknown_weight_formats_are_refused(written, says):
    with pytest.raises(Unsupported, match=says):
        weights_of(written)


def test_a_cache_that_is_not_stated_goes_with_the_weights():
    assert cache_of("", weights_of("bf16").format).format.name == "bf16"
    assert cache_of("auto", weights_of("awq4").format).format.name == "fp16"
    assert cache_of("fp8", weights_of("fp16").format).format.name == "fp8"


def test_models():
    assert names.model_of("Llama-2-7b").name == "llama-2-7b"
    assert names.model_of("TheBloke/Llama-2-7B-Chat-AWQ").name == "llama-2-7b"
    with pytest.raises(Unsupported, match="'Lama-9-7b' is not in the catalogue: the nearest are"):
        names.model_of("Lama-9-7b")
    with pytest.raises(Unsupported, match="no decoder"):
        names.model_of("bert-base-uncased")
    with pytest.raises(Unsupported, match="not stated"):
        names.model_of("?")


@given(st.text(max_size=60), st.integers(1, 8))
def test_any_name_is_known_or_refused_in_a_sentence(text, count):
    for look_up in (
        lambda: names.engine_of(text),
        lambda: names.engine_of(text, text, cpu=True),
        lambda: names.hardware_of(text, count, text),
        lambda: names.hardware_of("CPU " + text, count, text, count),
        lambda: weights_of(text),
        lambda: names.model_of(text),
    ):
        reason = refusal(look_up)
        assert reason == "" or reason.endswith(".")
        assert len(reason) < 300
