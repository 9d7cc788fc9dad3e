"""Engines: what each one runs on, which formats it takes, and what memory it keeps for itself.

`utilization` is the default share of device memory: of the total in vLLM (the pool is share x
usable - weights - overhead) and SGLang, of what is free after loading in TensorRT-LLM and LMDeploy
(share x (usable - weights - overhead)). vLLM's and SGLang's depend on version and card
(`engine_defaults`); what stands here for them is that of the newest version.

`overhead` is everything that is neither weights nor cache: context, activations of the largest
step, sampler buffers, CUDA graphs. For vLLM and SGLang `overhead` (the module) models it from
their logs. The other engines have a prior with a range; that of the serving engines:
low: 0.15 GiB, the least that public vLLM logs imply;
mid: 0.9 GiB + 2.5 % of the weights, about the median of those logs;
high: KAITO's 2.3 GiB + 5 % of the weights per GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from labkit.contract.errors import UnknownNameError
from labkit.sizing.bands import Band
from labkit.sizing.units import GIB

_FLOATS = ("fp32", "fp16", "bf16")
_ALL_WEIGHTS = (*_FLOATS, "fp8", "int8", "int4", "mxfp4", "nvfp4")


@dataclass(frozen=True, slots=True)
class Overhead:
    """Memory per device beside weights and cache: fixed bytes + a share of the device's weights."""

    low_bytes: float
    mid_bytes: float
    high_bytes: float
    low_share: float = 0.0
    mid_share: float = 0.0
    high_share: float = 0.0
    source: str = ""


@dataclass(frozen=True, slots=True)
class Engine:
    """One serving engine. `kinds` are the instance kinds it runs on: gpu, neuron, cpu."""

    name: str
    family: str
    kinds: tuple[str, ...]
    weight_formats: tuple[str, ...]
    kv_formats: tuple[str, ...]
    utilization: float
    overhead: Overhead
    utilization_of: str = "total"
    min_compute_capability: float = 0.0
    loader: str = "streamed"
    paged: bool = True


_SERVING = Overhead(
    low_bytes=0.15 * GIB,
    mid_bytes=0.9 * GIB,
    mid_share=0.025,
    high_bytes=2.3 * GIB,
    high_share=0.05,
    source="prior: public vLLM logs (least 0.15 GiB, median about 0.9 GiB + 2.5 % of weights) "
    "up to KAITO's 2.3 GiB + 5 %",
)
_EAGER = Overhead(
    low_bytes=0.5 * GIB,
    mid_bytes=1.0 * GIB,
    mid_share=0.02,
    high_bytes=2.5 * GIB,
    high_share=0.05,
    source="prior: CUDA context and activations of an eager step",
)
_LLAMA_CPP = Overhead(
    low_bytes=0.3 * GIB,
    mid_bytes=0.8 * GIB,
    mid_share=0.01,
    high_bytes=2.0 * GIB,
    high_share=0.03,
    source="prior: compute buffers; on a CPU instance also the operating system",
)
_NEURON = Overhead(
    low_bytes=0.3 * GIB,
    mid_bytes=0.8 * GIB,
    mid_share=0.02,
    high_bytes=2.0 * GIB,
    high_share=0.08,
    source="prior: runtime, compiled graphs and scratch space per NeuronCore",
)

_LIST = (
    Engine(
        name="vllm",
        family="serving",
        kinds=("gpu",),
        weight_formats=_ALL_WEIGHTS,
        kv_formats=(*_FLOATS, "fp8"),
        utilization=0.92,
        overhead=_SERVING,
        min_compute_capability=7.0,
    ),
    Engine(
        name="sglang",
        family="serving",
        kinds=("gpu",),
        weight_formats=_ALL_WEIGHTS,
        kv_formats=(*_FLOATS, "fp8"),
        utilization=0.88,
        overhead=_SERVING,
        min_compute_capability=7.5,
    ),
    Engine(
        name="tensorrt-llm",
        family="serving",
        kinds=("gpu",),
        weight_formats=_ALL_WEIGHTS,
        kv_formats=(*_FLOATS, "fp8", "int8"),
        utilization=0.90,
        overhead=_SERVING,
        utilization_of="free",
        min_compute_capability=8.0,
    ),
    Engine(
        name="tgi",
        family="serving",
        kinds=("gpu",),
        weight_formats=(*_FLOATS, "fp8", "int8", "int4"),
        kv_formats=(*_FLOATS, "fp8"),
        utilization=0.95,
        overhead=_SERVING,
        min_compute_capability=7.0,
    ),
    Engine(
        name="lmdeploy",
        family="serving",
        kinds=("gpu",),
        weight_formats=(*_FLOATS, "fp8", "int8", "int4", "mxfp4"),
        kv_formats=(*_FLOATS, "int8", "int4"),
        utilization=0.80,
        overhead=_SERVING,
        utilization_of="free",
        min_compute_capability=7.0,
    ),
    Engine(
        name="transformers",
        family="eager",
        kinds=("gpu",),
        weight_formats=_ALL_WEIGHTS,
        kv_formats=_FLOATS,
        utilization=1.0,
        overhead=_EAGER,
        paged=False,
    ),
    Engine(
        name="llama.cpp",
        family="llama.cpp",
        kinds=("gpu", "cpu"),
        weight_formats=(*_FLOATS, "int8", "int4", "mxfp4"),
        kv_formats=(*_FLOATS, "int8", "int4"),
        utilization=1.0,
        overhead=_LLAMA_CPP,
        paged=False,
    ),
    Engine(
        name="neuron",
        family="neuron",
        kinds=("neuron",),
        weight_formats=(*_FLOATS, "fp8", "int8"),
        kv_formats=(*_FLOATS, "fp8"),
        utilization=1.0,
        overhead=_NEURON,
        loader="state_dict",
        paged=False,
    ),
)
ENGINES: Mapping[str, Engine] = MappingProxyType({engine.name: engine for engine in _LIST})

DEFAULT_ENGINE: Mapping[str, str] = MappingProxyType(
    {"gpu": "vllm", "neuron": "neuron", "cpu": "llama.cpp"}
)


@dataclass(frozen=True, slots=True)
class Loader:
    """How weights get onto the device, and what that needs of the host's memory.

    Host bytes = reserve for the system and runtime + share x the model's resident bytes. The
    reserve is a prior of this project: an idle Linux with CUDA or Neuron runtime and Python.
    """

    name: str
    reserve_bytes: float
    model_share: float
    words: str
    source: str

    def host_bytes(self, model_bytes: float) -> float:
        """Host memory that loading a model of `model_bytes` needs, in bytes."""
        return self.reserve_bytes + self.model_share * model_bytes


LOADERS: Mapping[str, Loader] = MappingProxyType(
    {
        loader.name: loader
        for loader in (
            Loader(
                "streamed",
                2 * GIB,
                0.0,
                "streamed safetensors: one tensor at a time",
                "safetensors maps the file; vLLM and its peers copy tensor after tensor to the "
                "device, and the kernel drops pages it needs",
            ),
            Loader(
                "state_dict",
                2 * GIB,
                1.0,
                "the whole state dict in host memory",
                "from_pretrained before compiling or sharding; out of memory on inf2.xlarge "
                "(16 GiB) in aws-neuron-samples #10 and nki-samples #87",
            ),
            Loader(
                "presharded",
                2 * GIB,
                0.0,
                "pre-sharded artifacts: one shard at a time",
                "AWS Neuron documentation: sharded checkpoints and compiled artifacts saved ahead",
            ),
        )
    }
)


def engine_named(name: str) -> Engine:
    """The engine called `name`; raises `UnknownNameError` with the nearest names."""
    key = name.strip().casefold()
    if key not in ENGINES:
        raise UnknownNameError("engine", name, ENGINES)
    return ENGINES[key]


def prior_overhead(engine: Engine, weights_bytes: float) -> Band:
    """Bytes per device of the engine's prior, with `weights_bytes` of weights on the device."""
    prior = engine.overhead
    return Band(
        prior.low_bytes + prior.low_share * weights_bytes,
        prior.mid_bytes + prior.mid_share * weights_bytes,
        prior.high_bytes + prior.high_share * weights_bytes,
    )


def loader_named(name: str) -> Loader:
    """The loader called `name`; raises `UnknownNameError` with the nearest names."""
    if name not in LOADERS:
        raise UnknownNameError("loader", name, LOADERS)
    return LOADERS[name]
