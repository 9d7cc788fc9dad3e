"""Number formats: how many bits a stored weight costs, scales and zero points included.

Grouped formats (int4, mxfp4, nvfp4) share one scale among `group_size` neighbours. Quantizers
apply them to the weight matrices inside the layers; the embedding table and the output head of
such checkpoints stay 16-bit (`NumberFormat.weight_only` and the sizing room's rule), and norms
and biases always do.

Sources: IEEE 754 and the OCP 8-bit floating point and Microscaling (MX) 1.0 specifications for
the element and scale widths; NVIDIA's NVFP4 description (16 elements share one FP8 scale); the
AutoGPTQ/AWQ checkpoint layout for int4 (one FP16 scale and one packed 4-bit zero per group).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from labkit.catalog.specs import NumberFormat
from labkit.contract.errors import UnknownNameError

DEFAULT_INT4_GROUP = 128
_INT4_SCALE_BITS = 16 + 4  # one 16-bit scale and one 4-bit zero point per group
_INT4_GROUPS = (16, 32, 64, 128, 256, 512, 1024)
_STAYS_16_BIT = "Embeddings and output head stay 16-bit."


def _int4(group: int, name: str) -> NumberFormat:
    return NumberFormat(
        name=name,
        bits=4,
        group_size=group,
        scale_bits=_INT4_SCALE_BITS,
        weight_only=True,
        compute_dtype="fp16",
        note=f"4-bit integers in groups of {group}, with a scale and a zero point per group. "
        + _STAYS_16_BIT,
    )


FORMATS: Mapping[str, NumberFormat] = MappingProxyType(
    {
        f.name: f
        for f in (
            NumberFormat("fp32", 32, compute_dtype="fp32", note="IEEE single precision."),
            NumberFormat("fp16", 16, compute_dtype="fp16", note="IEEE half precision."),
            NumberFormat("bf16", 16, compute_dtype="bf16", note="fp32's range, 8-bit mantissa."),
            NumberFormat(
                "fp8",
                8,
                compute_dtype="fp8",
                note="E4M3; computes in fp8 where the silicon has it, else weight-only.",
            ),
            NumberFormat(
                "int8",
                8,
                weight_only=True,
                compute_dtype="fp16",
                note="8-bit integers, one scale per output channel (its bytes are negligible).",
            ),
            _int4(DEFAULT_INT4_GROUP, "int4"),
            NumberFormat(
                "mxfp4",
                4,
                group_size=32,
                scale_bits=8,
                weight_only=True,
                compute_dtype="bf16",
                note="E2M1 in blocks of 32 with one 8-bit power-of-two scale. " + _STAYS_16_BIT,
            ),
            NumberFormat(
                "nvfp4",
                4,
                group_size=16,
                scale_bits=8,
                weight_only=True,
                compute_dtype="bf16",
                note="E2M1 in blocks of 16 with one FP8 scale. " + _STAYS_16_BIT,
            ),
        )
    }
)


def _gguf(name: str, base: str, bits: float) -> NumberFormat:
    return NumberFormat(
        name=f"{base}-{name}",
        bits=bits,
        weight_only=True,
        compute_dtype="fp16",
        tables=True,
        note=f"llama.cpp's {name}: {bits:g} bits per weight on average over the file, scales, "
        "embedding and output head included.",
    )


# GGUF files mix block formats, and quantize the embedding and the head as well. Bits per weight
# are the file's size over its parameters: exact for the plain blocks (q4_0: 18 bytes for 32
# weights, q8_0: 34), the mixes as llama.cpp's quantize tool prints them for an 8B model.
GGUF: Mapping[str, NumberFormat] = MappingProxyType(
    {
        name: _gguf(name, base, bits)
        for name, base, bits in (
            ("q2_k", "int2", 3.16),
            ("q3_k_m", "int3", 4.00),
            ("q4_0", "int4", 4.5),
            ("q4_1", "int4", 5.0),
            ("q4_k_s", "int4", 4.67),
            ("q4_k_m", "int4", 4.89),
            ("q5_0", "int5", 5.5),
            ("q5_k_s", "int5", 5.57),
            ("q5_k_m", "int5", 5.70),
            ("q6_k", "int6", 6.56),
            ("q8_0", "int8", 8.5),
        )
    }
)

_SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        "float32": "fp32",
        "float": "fp32",
        "float16": "fp16",
        "half": "fp16",
        "bfloat16": "bf16",
        "fp8_e4m3": "fp8",
        "float8_e4m3fn": "fp8",
        "w8a16": "int8",
        "w4a16": "int4",
    }
)


def number_format(name: str) -> NumberFormat:
    """The format called `name`: case does not matter, `int4-g32` asks for groups of 32.

    llama.cpp's own names work too: `q4_k_m` is "int4-q4_k_m".

    Raises `LabkitError` (one sentence with the nearest names) for anything else.

    >>> number_format("int4").bits_per_weight
    4.15625
    >>> number_format("INT4-g32").bits_per_weight
    4.625
    """
    key = name.strip().casefold()
    key = _SYNONYMS.get(key, key)
    if key in FORMATS:
        return FORMATS[key]
    gguf = GGUF.get(key) or GGUF.get(key.partition("-")[2])
    if gguf is not None and key in {gguf.name, gguf.name.partition("-")[2]}:
        return gguf
    grouped = re.fullmatch(r"int4-g(\d{1,4})", key)
    if grouped and int(grouped[1]) in _INT4_GROUPS:
        group = int(grouped[1])
        return _int4(group, "int4" if group == DEFAULT_INT4_GROUP else f"int4-g{group}")
    raise UnknownNameError("number format", name, [*FORMATS, *(f"int4-g{g}" for g in _INT4_GROUPS)])
