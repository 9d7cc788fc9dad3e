"""Specs built by hand, so that the math is tested without the catalogue's files."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from labkit.catalog.formats import number_format
from labkit.catalog.specs import (
    Accelerator,
    Attention,
    Instance,
    ModelSpec,
    MoE,
    ParamCounts,
    Price,
    Provenance,
)

SEEN = Provenance(source="written for a test", as_of=date(2026, 11, 30))
MIB = 2**20
GIB = 2**30


def llama(
    name: str,
    layers: int,
    heads: int,
    kv_heads: int,
    head_dim: int,
    hidden: int,
    ffn: int,
    vocab: int,
    *,
    tied: bool = False,
    qkv_bias: bool = False,
    max_context: int = 131_072,
) -> ModelSpec:
    attention = hidden * heads * head_dim * 2 + 2 * hidden * kv_heads * head_dim
    mlp = 3 * hidden * ffn
    bias = (heads + 2 * kv_heads) * head_dim if qkv_bias else 0
    return ModelSpec(
        name=name,
        kind="decoder",
        layers=layers,
        hidden_size=hidden,
        vocab_size=vocab,
        max_context=max_context,
        attention=(Attention("full", layers, heads, kv_heads, head_dim),),
        params=ParamCounts(
            embedding=vocab * hidden,
            head=0 if tied else vocab * hidden,
            positions=0,
            linear=layers * (attention + mlp),
            other=layers * (2 * hidden + bias) + hidden,
            tied=tied,
        ),
    )


LLAMA_2_7B = llama("llama-2-7b", 32, 32, 32, 128, 4096, 11008, 32000, max_context=4096)
LLAMA_2_13B = llama("llama-2-13b", 40, 40, 40, 128, 5120, 13824, 32000, max_context=4096)
LLAMA_3_8B = llama("llama-3-8b", 32, 32, 8, 128, 4096, 14336, 128256)
LLAMA_3_70B = llama("llama-3-70b", 80, 64, 8, 128, 8192, 28672, 128256)
QWEN_7B = llama("qwen2.5-7b", 28, 28, 4, 128, 3584, 18944, 152064, qkv_bias=True)
TINYLLAMA = llama("tinyllama-1.1b", 22, 32, 4, 64, 2048, 5632, 32000)
SMOLLM2 = llama("smollm2-135m", 30, 9, 3, 64, 576, 1536, 49152, tied=True)


def _mixtral() -> ModelSpec:
    base = llama("mixtral-8x7b", 32, 32, 8, 128, 4096, 14336, 32000)
    per_expert = 3 * 4096 * 14336
    return replace(
        base,
        moe=MoE(experts=8, experts_per_token=2, shared_experts=0, moe_layers=32),
        params=replace(
            base.params,
            linear=base.params.linear - 32 * per_expert,
            other=base.params.other + 32 * 4096 * 8,
            experts=32 * 8 * per_expert,
            per_expert=per_expert,
        ),
    )


MIXTRAL = _mixtral()
# Gemma-2's pattern: every other layer sees 4,096 tokens; head_dim is not hidden / heads.
GEMMA_2 = replace(
    llama("gemma-2-9b", 42, 16, 8, 256, 3584, 14336, 256000, tied=True),
    attention=(
        Attention("full", 21, 16, 8, 256),
        Attention("sliding", 21, 16, 8, 256, window=4096),
    ),
)
# DeepSeek-V2-Lite's cache: one latent of 512 + 64 per token and layer, shared by 16 heads.
MLA = replace(
    llama("mla-16b", 27, 16, 16, 128, 2048, 10944, 102400),
    attention=(Attention("mla", 27, 16, 16, 192, value_head_dim=128, latent_dim=512, rope_dim=64),),
)
BERT = replace(llama("bert-base", 12, 12, 12, 64, 768, 3072, 30522), kind="encoder")


def card(
    name: str,
    capability: str,
    mib: int,
    memory_kind: str,
    gb_per_s: float,
    tflops: dict[str, float],
    link: str = "pcie",
    link_gb_per_s: float = 32,
    formats: tuple[str, ...] = ("fp32", "fp16", "bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4"),
    families: tuple[str, ...] = (),
) -> Accelerator:
    return Accelerator(
        name=name,
        vendor="NVIDIA",
        architecture="",
        compute_capability=capability,
        memory_bytes=mib * MIB,
        usable_bytes=mib * MIB,
        memory_kind=memory_kind,
        bandwidth_bytes_per_s=gb_per_s * 1e9,
        flops={fmt: rate * 1e12 for fmt, rate in tflops.items()},
        link=link,
        link_bytes_per_s=link_gb_per_s * 1e9,
        weight_formats=formats,
        aws_families=families,
        provenance=SEEN,
    )


T4 = card(
    "T4", "7.5", 15_360, "GDDR6", 320, {"fp32": 8.1, "fp16": 65, "int8": 130},
    link_gb_per_s=16, formats=("fp32", "fp16", "fp8", "int8", "int4", "nvfp4"),
)  # fmt: skip
A10G = card("A10G", "8.6", 22_888, "GDDR6", 600, {"fp32": 35, "fp16": 70, "bf16": 70, "int8": 140})
L4 = card(
    "L4", "8.9", 22_888, "GDDR6", 300,
    {"fp32": 30.3, "fp16": 121, "bf16": 121, "fp8": 242, "int8": 242},
)  # fmt: skip
L40S = card(
    "L40S", "8.9", 45_776, "GDDR6 ECC", 864,
    {"fp32": 91.6, "fp16": 362, "bf16": 362, "fp8": 733, "int8": 733},
)  # fmt: skip
A100 = card(
    "A100-40GB", "8.0", 40_960, "HBM2", 1555,
    {"fp32": 19.5, "fp16": 312, "bf16": 312, "int8": 624}, link="nvlink", link_gb_per_s=600,
)  # fmt: skip
H100 = card(
    "H100", "9.0", 81_559, "HBM3", 3350,
    {"fp32": 66.9, "fp16": 989.4, "bf16": 989.4, "fp8": 1978.9, "int8": 1978.9},
    link="nvlink", link_gb_per_s=900,
)  # fmt: skip
INFERENTIA2 = replace(
    card(
        "Inferentia2", "", 32_768, "HBM", 820,
        {"fp32": 47.5, "fp16": 190, "bf16": 190, "fp8": 190, "int8": 380},
        link="neuronlink", link_gb_per_s=206.158430208,
        formats=("fp32", "fp16", "bf16", "fp8", "int8"), families=("inf2",),
    ),
    vendor="AWS",
    cores=2,
)  # fmt: skip


def instance(
    name: str,
    accelerator: Accelerator | None,
    count: int = 1,
    *,
    kind: str = "gpu",
    host_gib: float = 64,
    usd: float | None = 1.0,
    fraction: float = 1.0,
    cpu_gb_per_s: float = 0.0,
    sagemaker: bool = True,
) -> Instance:
    return Instance(
        name=name,
        family=name.partition(".")[0],
        kind=kind,
        vcpus=4,
        host_memory_bytes=int(host_gib * GIB),
        accelerator=accelerator,
        accelerator_count=count,
        accelerator_fraction=fraction,
        neuron_cores=count * accelerator.cores if accelerator and kind == "neuron" else 0,
        nvme_bytes=0,
        network_bytes_per_s=0.0,
        link=accelerator.link if accelerator else "",
        link_bytes_per_s=accelerator.link_bytes_per_s if accelerator else 0.0,
        cpu="",
        cpu_bandwidth_bytes_per_s=cpu_gb_per_s * 1e9,
        sagemaker_hosting=sagemaker,
        prices=() if usd is None else (Price("on-demand", usd, "us-east-1", SEEN),),
        provenance=SEEN,
        accelerator_memory_bytes=int(accelerator.memory_bytes * fraction) if accelerator else 0,
        accelerator_usable_bytes=int(accelerator.usable_bytes * fraction) if accelerator else 0,
    )


G4DN = instance("g4dn.xlarge", T4, host_gib=16, usd=0.526)
G5 = instance("g5.xlarge", A10G, host_gib=16, usd=1.006)
G5_12XL = instance("g5.12xlarge", A10G, 4, host_gib=192, usd=5.672)
G5_48XL = instance("g5.48xlarge", A10G, 8, host_gib=768, usd=16.288)
G6 = instance("g6.xlarge", L4, host_gib=16, usd=0.8048)
G6E = instance("g6e.xlarge", L40S, host_gib=32, usd=1.861)
G6E_48XL = instance("g6e.48xlarge", L40S, 8, host_gib=1536, usd=30.13)
G6F = instance("g6f.xlarge", L4, fraction=0.125, host_gib=16, usd=0.2375)
P4D = instance("p4d.24xlarge", A100, 8, host_gib=1152, usd=21.957642)
P5 = instance("p5.48xlarge", H100, 8, host_gib=2048, usd=55.04)
INF2 = instance("inf2.xlarge", INFERENTIA2, kind="neuron", host_gib=16, usd=0.7582)
INF2_48XL = instance("inf2.48xlarge", INFERENTIA2, 12, kind="neuron", host_gib=768, usd=12.98)
CPU = instance("c7i.8xlarge", None, 0, kind="cpu", host_gib=64, usd=1.428, cpu_gb_per_s=102.4)
CPU_UNKNOWN = instance("c9x.large", None, 0, kind="cpu", host_gib=64, usd=0.1)

ALL_MODELS = (
    LLAMA_2_7B, LLAMA_2_13B, LLAMA_3_8B, LLAMA_3_70B, QWEN_7B, TINYLLAMA, SMOLLM2, MIXTRAL,
    GEMMA_2, MLA,
)  # fmt: skip
ALL_INSTANCES = (
    G4DN, G5, G5_12XL, G5_48XL, G6, G6E, G6E_48XL, G6F, P4D, P5, INF2, INF2_48XL, CPU, CPU_UNKNOWN,
)  # fmt: skip

BF16, FP16, FP8, INT8, INT4, MXFP4 = (
    number_format(name) for name in ("bf16", "fp16", "fp8", "int8", "int4", "mxfp4")
)
