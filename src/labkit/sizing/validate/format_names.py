"""Number formats as measurement tables name them -> ours, with the kernels that run them.

"awq4", "gptq4", "bnb4", "q4_k_m", "W8A8", "NF4", "bfloat16". What says nothing ("?") is
`Unsupported`: bytes per weight decide everything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from labkit.catalog.formats import FORMATS, number_format
from labkit.catalog.specs import NumberFormat
from labkit.contract.errors import LabkitError, nearest
from labkit.sizing.validate.cells import absent
from labkit.sizing.validate.result import Unsupported

# Written name (lower case, no "-", "_" or blank) -> our format and the kernels' family.
_NAMES = {
    "awq4": ("int4", "awq"),
    "awq": ("int4", "awq"),
    "awqint4": ("int4", "awq"),
    "awqmarlin": ("int4", "marlin"),
    "gptq4": ("int4", "gptq"),
    "gptq": ("int4", "gptq"),
    "gptqint4": ("int4", "gptq"),
    "gptqmarlin": ("int4", "marlin"),
    "gptq8": ("int8", "gptq"),
    "gptqint8": ("int8", "gptq"),
    "int4": ("int4", ""),
    "4bit": ("int4", ""),
    "w4a16": ("int4", ""),
    "int4gptq": ("int4", "gptq"),
    "int4awq": ("int4", "awq"),
    # bitsandbytes keeps one scale for each 64 weights.
    "bnb4": ("int4-g64", "bnb"),
    "nf4": ("int4-g64", "bnb"),
    "bnbnf4": ("int4-g64", "bnb"),
    "bitsandbytes": ("int4-g64", "bnb"),
    "bitsandbytes4bit": ("int4-g64", "bnb"),
    "bitsandbytesnf4": ("int4-g64", "bnb"),
    "bnb8": ("int8", "bnb"),
    "llm.int8": ("int8", "bnb"),
    "llm.int8()": ("int8", "bnb"),
    "bitsandbytes8bit": ("int8", "bnb"),
    "int8": ("int8", ""),
    "8bit": ("int8", ""),
    "w8a16": ("int8", ""),
    "w8a8": ("int8", ""),
    "smoothquant": ("int8", ""),
    "sq8": ("int8", ""),
    "fp8": ("fp8", ""),
    "fp8e4m3": ("fp8", ""),
    "float8": ("fp8", ""),
    "w8a8fp8": ("fp8", ""),
    "fp16": ("fp16", ""),
    "f16": ("fp16", ""),
    "float16": ("fp16", ""),
    "half": ("fp16", ""),
    "16bit": ("fp16", ""),
    "bf16": ("bf16", ""),
    "bfloat16": ("bf16", ""),
    "fp32": ("fp32", ""),
    "f32": ("fp32", ""),
    "float32": ("fp32", ""),
    "mxfp4": ("mxfp4", ""),
    "nvfp4": ("nvfp4", ""),
    "fp4": ("nvfp4", ""),
}
_GGUF = re.compile(r"i?q\d_[0-9k](?:_[sml])?", re.ASCII)
# What an engine on GGUF files means by "int4" and "int8".
_GGUF_OF = {"int4": "q4_k_m", "int8": "q8_0"}
KNOWN = (
    *("fp16", "bf16", "fp32", "fp8", "int8", "int4", "awq4", "gptq4", "bnb4", "bnb8"),
    *FORMATS,
)


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A table's number format: ours, the kernels that it names, and what was assumed."""

    format: NumberFormat
    kernels: str = ""
    assumption: str = ""


def weights_of(written: str, *, gguf: bool = False) -> NamedFormat:
    """The weights' format; `gguf`: the engine reads GGUF files.

    Raises `Unsupported` for an empty or unknown one.
    """
    if absent(written):
        raise Unsupported("weights_dtype is not stated: bytes per weight are not known.")
    text = written.casefold().strip()
    if _GGUF.fullmatch(text.replace("-", "_")):
        return NamedFormat(_gguf(text.replace("-", "_"), written), "gguf")
    name, kernels = _NAMES.get(re.sub(r"[\s_-]+", "", text), ("", ""))
    if not name:
        name, kernels = _by_words(text)
    if gguf and name in _GGUF_OF and not kernels:
        file = _GGUF_OF[name]
        return NamedFormat(
            _gguf(file, written), "gguf", f"{written!r} of an engine on GGUF files is {file}"
        )
    try:
        return NamedFormat(number_format(name), kernels)
    except LabkitError:
        near = nearest(written, KNOWN) or list(KNOWN[:8])
        raise Unsupported(
            f"weights_dtype {written[:30]!r} is not known: the nearest are {', '.join(near)}."
        ) from None


def cache_of(written: str, weights: NumberFormat, engine: str = "") -> NamedFormat:
    """The KV cache's format; not stated, it is the 16-bit one that goes with the weights.

    TensorRT-LLM's FP8 recipe quantizes the cache with the weights.
    """
    if absent(written) and engine == "tensorrt-llm" and weights.name == "fp8":
        return NamedFormat(weights, "", "kv_dtype is not stated: fp8 as in TensorRT-LLM's recipe")
    if absent(written) or written.strip().casefold() in {"auto", "default"}:
        return NamedFormat(number_format("bf16" if weights.name == "bf16" else "fp16"))
    return weights_of(written)


# Words that name a format inside a longer text, the most telling first: "GPTQ-4bit-128g",
# "int4 (AWQ, g128)", "8-bit bitsandbytes", "FP8 per tensor".
_WORDS = (
    (re.compile(r"awq"), "int4", "awq"),
    (re.compile(r"gptq.*\b(?:int ?)?8|\b(?:int ?)?8.*gptq"), "int8", "gptq"),
    (re.compile(r"gptq"), "int4", "gptq"),
    (re.compile(r"(?:bnb|bitsandbytes).*8|8.*(?:bnb|bitsandbytes)"), "int8", "bnb"),
    (re.compile(r"bnb|bitsandbytes|\bnf4"), "int4-g64", "bnb"),
    (re.compile(r"mxfp4"), "mxfp4", ""),
    (re.compile(r"nvfp4"), "nvfp4", ""),
    (re.compile(r"fp8|float8|e4m3"), "fp8", ""),
    (re.compile(r"int ?4|\b4[ -]?bit|w4a16"), "int4", ""),
    (re.compile(r"int ?8|\b8[ -]?bit|w8a(?:8|16)"), "int8", ""),
    (re.compile(r"bf16|bfloat16"), "bf16", ""),
    (re.compile(r"fp16|float16|\bhalf\b"), "fp16", ""),
)


def _by_words(text: str) -> tuple[str, str]:
    if number_format_known(text):
        return text, ""
    return next(
        ((name, kernels) for word, name, kernels in _WORDS if word.search(text)), (text, "")
    )


def number_format_known(text: str) -> bool:
    """Whether the catalogue has a format of that very name."""
    try:
        number_format(text)
    except LabkitError:
        return False
    return True


def _gguf(name: str, written: str) -> NumberFormat:
    try:
        return number_format(name)
    except LabkitError:
        raise Unsupported(
            f"weights_dtype {written[:30]!r} is no GGUF format that is known."
        ) from None
