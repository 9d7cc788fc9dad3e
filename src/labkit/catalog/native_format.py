"""In which number format a published checkpoint stores its weights, and which of them.

Read from `quantization_config` where there is one, else from `torch_dtype`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from labkit.catalog.formats import DEFAULT_INT4_GROUP, number_format
from labkit.contract.errors import LabkitError

_DTYPES: Mapping[str, str] = MappingProxyType(
    {
        "float32": "fp32",
        "float16": "fp16",
        "bfloat16": "bf16",
        "float": "fp32",
        "half": "fp16",
        "float8_e4m3fn": "fp8",
    }
)
MATRICES = ("linear", "experts")


@dataclass(frozen=True, slots=True)
class Native:
    """`name` covers the parameter groups in `parts`; all other weights are in `rest`."""

    name: str
    parts: tuple[str, ...]
    rest: str
    note: str = ""


def native_format(fields: Mapping[str, Any]) -> Native:
    """The format of the checkpoint that `fields` (a canonical config) describes; never raises.

    What is not understood is said in `note`: then the plain dtype stands.
    """
    dtype = str(fields.get("torch_dtype") or "").removeprefix("torch.")
    rest = _DTYPES.get(dtype, "fp32" if not dtype else "bf16")
    note = "" if dtype in _DTYPES else _unknown_dtype(dtype)
    quantization = fields.get("quantization_config")
    if not isinstance(quantization, Mapping):
        return Native(rest, (*MATRICES, "embedding", "head"), rest, note)
    # A quantized checkpoint keeps what it does not quantize in 16 bits.
    rest = rest if rest in {"fp16", "bf16"} else "bf16"
    method = str(quantization.get("quant_method") or "").casefold()
    read = _METHODS.get(method)
    name = read(quantization) if read else None
    if name is None:
        shown = method or "none"
        return Native(
            rest, MATRICES, rest, f"Its quantization (method {shown!r}) is not understood."
        )
    return Native(name, ("experts",) if method == "mxfp4" else MATRICES, rest)


def _unknown_dtype(dtype: str) -> str:
    if dtype:
        return f"Its dtype {dtype!r} is not understood: bf16 is assumed."
    return "Its config names no dtype: fp32, transformers' default, is assumed."


def _integer(bits: object, group: object) -> str | None:
    if bits == 8:
        return "int8"
    if bits != 4:
        return None
    size = group if isinstance(group, int) and group > 0 else DEFAULT_INT4_GROUP
    try:
        return number_format(f"int4-g{size}").name
    except LabkitError:
        return None


def _gptq(q: Mapping[str, Any]) -> str | None:
    return _integer(q.get("bits", q.get("w_bit")), q.get("group_size", q.get("q_group_size")))


def _bitsandbytes(q: Mapping[str, Any]) -> str | None:
    # NF4 stores one scale for each 64 weights.
    if q.get("load_in_4bit") or q.get("_load_in_4bit"):
        return number_format("int4-g64").name
    return "int8" if q.get("load_in_8bit") or q.get("_load_in_8bit") else None


def _compressed_tensors(q: Mapping[str, Any]) -> str | None:
    groups = q.get("config_groups")
    if not isinstance(groups, Mapping):
        return None
    for group in groups.values():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if isinstance(weights, Mapping):
            bits, kind = weights.get("num_bits"), weights.get("type")
            if kind == "float":
                return {8: "fp8", 4: "nvfp4"}.get(bits if isinstance(bits, int) else 0)
            return _integer(bits, weights.get("group_size"))
    return None


def _modelopt(q: Mapping[str, Any]) -> str | None:
    inner = q.get("quantization")
    algorithm = q.get("quant_algo") or (
        inner.get("quant_algo") if isinstance(inner, Mapping) else None
    )
    return {"FP8": "fp8", "NVFP4": "nvfp4"}.get(str(algorithm).upper())


_METHODS: Mapping[str, Callable[[Mapping[str, Any]], str | None]] = MappingProxyType(
    {
        "gptq": _gptq,
        "awq": _gptq,
        "fp8": lambda _: "fp8",
        "fbgemm_fp8": lambda _: "fp8",
        "mxfp4": lambda _: "mxfp4",
        "bitsandbytes": _bitsandbytes,
        "compressed-tensors": _compressed_tensors,
        "modelopt": _modelopt,
    }
)
