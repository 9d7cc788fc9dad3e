"""Engines as measurement tables name them -> how ours runs: engine, variant, kernels, batching.

A row here is a pattern, first match wins. `variant` is the step-time model's (`variants`); where it
is None the engine and its version decide. `static`: the engine's own benchmark starts a whole batch
together; a server lets requests come and go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from labkit.contract.errors import nearest
from labkit.sizing.engines import ENGINES
from labkit.sizing.validate.result import Unsupported
from labkit.sizing.variants import variant_of

_VERSION = re.compile(r"(?<![\w.])v?(\d{1,4}(?:\.\d{1,4}){1,3})", re.ASCII)


@dataclass(frozen=True, slots=True)
class NamedEngine:
    """One engine of a table. `engine` is one of ours, `kernels` the quantized kernels it names."""

    written: str
    engine: str
    variant: str
    version: str | None
    static: bool
    layer_split: bool = False
    kernels: str = ""
    quirks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    engine: str
    variant: str | None = None
    static: bool = True
    layer_split: bool = False
    cpu_variant: str | None = None
    own_version: bool = True
    untried: bool = False  # no row of it is among those that were fitted


def _rule(pattern: str, engine: str, variant: str | None = None, **more: bool | str) -> _Rule:
    return _Rule(re.compile(pattern), engine, variant, **more)  # type: ignore[arg-type]


# On text in lower case, "_" and repeated blanks as one blank.
_RULES = (
    _rule(r"neuron|\bnxd", "neuron"),
    # A server or container around another engine is that engine.
    _rule(r"sglang", "sglang", static=False),
    _rule(r"vllm", "vllm", static=False),
    # NIM and Triton have versions of their own, which say nothing about TensorRT-LLM's.
    _rule(r"\bnim\b|triton", "tensorrt-llm", static=False, own_version=False),
    # It calls the engine from transformers' generate loop, one step at a time.
    _rule(r"optimum[ -]nvidia", "tensorrt-llm", "launched", untried=True),
    _rule(r"trt-?llm|tensorrt|faster ?transformer", "tensorrt-llm"),
    _rule(r"\btgi\b|text[ -]generation[ -]inference", "tgi", static=False),
    _rule(r"lmdeploy|turbomind", "lmdeploy", static=False),
    _rule(r"\bmlc\b|mlc-?llm|\btvm\b", "tensorrt-llm", "compiled", untried=True),
    _rule(r"gpt-?fast|torch[ .-]?compile|torchao", "transformers", "compiled"),
    _rule(r"ctranslate", "tensorrt-llm", "compiled", untried=True),
    _rule(r"deepspeed|fast-?gen|\bmii\b", "vllm", "launched", static=False, untried=True),
    _rule(r"light-?llm", "vllm", "launched", static=False, untried=True),
    _rule(r"rtp-?llm|scalellm|aphrodite|\bdjl\b|\blmi\b", "vllm", static=False),
    _rule(
        r"llama[ .-]*cpp|llama-bench|ollama|llamafile|ctransformers|koboldcpp|\bgguf\b|\bggml\b"
        r"|lm studio",
        "llama.cpp",
        layer_split=True,
    ),
    # A loop of its own in C++ around few, large kernels: little host time.
    _rule(r"exllama|tabbyapi", "transformers", "compiled", layer_split=True, untried=True),
    _rule(r"ipex|openvino|intel extension", "transformers", cpu_variant="cpu"),
    _rule(r"auto-?awq|\bawq gemm\b", "transformers", "launched", cpu_variant="cpu"),
    _rule(r"auto-?gptq|gptq-?model", "transformers", cpu_variant="cpu"),
    _rule(r"lightning|lit-?gpt|\blitgpt\b", "transformers"),
    _rule(r"onnx|optimum", "transformers", cpu_variant="cpu", untried=True),
    _rule(
        r"transformers|hugging ?face|\bhf\b|accelerate|fastchat|bitsandbytes|\bhqq\b",
        "transformers",
        cpu_variant="cpu",
    ),
    _rule(r"pytorch|\btorch\b|eager", "transformers", cpu_variant="cpu"),
)
# transformers that runs another project's kernels is still eager, unless it is compiled.
_TRANSFORMERS_FIRST = re.compile(r"^(?:hf |hugging ?face )?transformers\b(?! neuron|.*compile)")

_KERNELS = (
    (re.compile(r"exllama ?v?2"), "exllamav2"),
    (re.compile(r"exllama"), "exllamav1"),
    (re.compile(r"marlin"), "marlin"),
    (re.compile(r"awq"), "awq"),
    (re.compile(r"gptq"), "gptq"),
)
KNOWN = (
    *("vLLM", "TGI", "SGLang", "TensorRT-LLM", "NIM", "LMDeploy TurboMind", "MLC", "gpt-fast"),
    *(
        "transformers",
        "exllamav2",
        "AutoAWQ",
        "AutoGPTQ",
        "PyTorch Lightning",
        "onnx",
        "ctranslate",
    ),
    *("llama.cpp", "ollama", "llamafile", "ctransformers", "DeepSpeed-MII", "LightLLM"),
    *("Optimum Nvidia", "Transformers NeuronX", "optimum-neuron", "PyTorch+IPEX"),
)


def engine_of(written: str, version: str = "", *, cpu: bool = False) -> NamedEngine:
    """The engine that a table names; `cpu`: the row ran on a CPU.

    Raises `Unsupported` for an unknown name, with the nearest known ones.
    """
    text = re.sub(r"[\s_]+", " ", written.casefold()).strip()
    rule = _match(text)
    if rule is None:
        near = nearest(written, KNOWN) or KNOWN[:6]
        raise Unsupported(f"engine {written[:40]!r} is not known: the nearest are {_list(near)}.")
    ours = ENGINES[rule.engine]
    stated = _version(version) or _version(text)
    known_version = stated if rule.own_version else None
    variant = rule.variant or variant_of(ours, known_version)
    if cpu:
        variant = rule.cpu_variant or ("llama.cpp" if rule.engine == "llama.cpp" else "")
        if not variant:
            raise Unsupported(f"engine {written[:40]!r} has no model of a run on a CPU.")
    return NamedEngine(
        written=written,
        engine=rule.engine,
        variant=variant,
        version=known_version,
        static=rule.static,
        layer_split=rule.layer_split,
        kernels=next((name for pattern, name in _KERNELS if pattern.search(text)), ""),
        quirks=_quirks(text, rule, known_version),
    )


def _match(text: str) -> _Rule | None:
    if _TRANSFORMERS_FIRST.search(text):
        text = "transformers"
    return next((rule for rule in _RULES if rule.pattern.search(text)), None)


def _version(text: str) -> str | None:
    found = _VERSION.search(text)
    return found[1] if found else None


def _quirks(text: str, rule: _Rule, version: str | None) -> tuple[str, ...]:
    """What departs from the rest: TensorRT-LLM's attention before 0.7, engines never fitted."""
    before = version is not None and tuple(map(int, version.split("."))) < (0, 7)
    old = rule.engine == "tensorrt-llm" and "llm" in text and before
    return (*(("pre-xqa",) if old else ()), *(("untried",) if rule.untried else ()))


def _list(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(names)
