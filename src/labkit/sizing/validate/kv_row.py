"""One row of an engine's memory log, read and checked.

The schema is that of `kv-logs.csv`. A row carries its own weights, memory, vocabulary and layers,
so models and cards outside the catalogue work. Cells are what people wrote: "16384 (config
default)", "? (2024-12, ~0.6.4)", "nan". What cannot be used raises `UnreadableRowError`, whose
message is the reason.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from labkit.sizing.engine_defaults import Card, sglang_defaults, vllm_defaults
from labkit.sizing.engines import ENGINES
from labkit.sizing.kv import BLOCK_TOKENS, kv_heads_per_device
from labkit.sizing.overhead import OverheadCase
from labkit.sizing.units import GIB

# Below 16 bits a checkpoint still keeps its tables and norms at 16, so the mean width is above
# the format's own; the figure only scales the activations of the longest step.
_BYTES_PER_PARAMETER = (
    ("mxfp4", 0.6),
    ("nvfp4", 0.65),
    ("awq", 0.65),
    ("gptq", 0.65),
    ("bitsandbytes", 0.65),
    ("bnb", 0.65),
    ("int4", 0.65),
    ("4bit", 0.65),
    ("fp8", 1.05),
    ("int8", 1.05),
    ("w8a8", 1.05),
)
_ONE_BYTE_CACHES = ("fp8", "int8")
ABSENT = frozenset({"", "nan", "none", "null", "unknown", "n/a", "?"})
_NUMBER = re.compile(r"\s*([0-9][0-9,_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)", re.ASCII)
_VERSION = re.compile(r"(?<![\d.-])(\d{1,2}\.\d{1,3}(?:\.\d{1,3})*)", re.ASCII)
_IMAGES = re.compile(r"(?:^|[^a-z])(?:vl|vision|ocr|llava|pixtral|gemma-[34]|omni)(?:[^a-z]|$)")
_BEFORE_AMPERE = re.compile(r"\b(?:t4|v100|p100|p40|titan|gtx|rtx ?20\d\d|quadro rtx)\b")
# The last release before a month, for logs that print no version.
_VERSION_BY_MONTH = (("2025-02", "0.6.0"), ("2026-03", "0.11.0"), ("2026-05", "0.18.0"))
_MOST = 1e15


class UnreadableRowError(ValueError):
    """A row that cannot be predicted; the message is the reason."""


@dataclass(frozen=True, slots=True)
class KvRow:
    """What the prediction needs of a row. Bytes; `bytes_per_token` is per GPU, None unknown.

    `free_known`: `total_bytes` is what SGLang logged as free before loading (it logs no total).
    """

    engine: str
    version: str | None
    total_bytes: float
    weights_bytes: float
    utilization: float
    tensor_parallel_size: int
    block_tokens: int
    bytes_per_token: float | None
    tokens_reason: str
    case: OverheadCase
    free_known: bool = False


def read_row(row: Mapping[str, str]) -> KvRow:
    """The row's fields, checked; `UnreadableRowError` says why a row cannot be used."""
    engine = _engine(row)
    total = _gib(row, "total_gib_used", "total_gib_log")
    if total is None:
        raise UnreadableRowError("the GPU's memory is not stated")
    weights = _gib(row, "weights_gib")
    if weights is None:
        raise UnreadableRowError("the size of the weights is not stated")
    n = _whole(row, "tp", 1)
    version = _version(row)
    card = Card(
        total,
        is_a100="a100" in text_of(row, "gpu").casefold(),
        before_ampere=_BEFORE_AMPERE.search(text_of(row, "gpu").casefold()) is not None,
    )
    longest = number_of(row, "max_model_len")
    if engine == "sglang":
        defaults = sglang_defaults(version, card, n)
    else:
        limit = int(longest) if longest else None
        defaults = vllm_defaults(version, card, max_model_len=limit)
    sequences = _whole(row, "max_num_seqs_eff", _whole(row, "max_num_seqs", defaults.max_num_seqs))
    tokens = _whole(row, "max_num_batched_tokens", defaults.max_num_batched_tokens)
    if longest:
        tokens = max(1, min(tokens, math.ceil(sequences * longest)))
    per_token, reason = _bytes_per_token(row, n)
    return KvRow(
        engine=engine,
        version=version,
        total_bytes=total,
        weights_bytes=weights,
        utilization=_utilization(row, engine, defaults.gpu_memory_utilization),
        tensor_parallel_size=n,
        block_tokens=_whole(row, "block_size", BLOCK_TOKENS),
        bytes_per_token=per_token,
        tokens_reason=reason,
        case=OverheadCase(
            engine=engine,
            version=version,
            tensor_parallel_size=n,
            layer_parameters=_layer_parameters(row, weights, n),
            moe="moe" in text_of(row, "attn_kind").casefold(),
            vocab_size=_whole(row, "vocab", 150_000),
            max_num_seqs=sequences,
            max_num_batched_tokens=tokens,
            enforce_eager=text_of(row, "enforce_eager").casefold() in ("true", "1"),
            before_ampere=card.before_ampere,
            generates="embed" not in text_of(row, "model").casefold(),
            images=_IMAGES.search(text_of(row, "model").casefold()) is not None,
        ),
        free_known=engine == "sglang" and number_of(row, "total_gib_log") is not None,
    )


def _engine(row: Mapping[str, str]) -> str:
    written = text_of(row, "engine")
    key = re.sub(r"\(.*?\)", "", written).strip().casefold()
    name = {"trt-llm": "tensorrt-llm", "tensorrt": "tensorrt-llm"}.get(key, key)
    if name not in ENGINES or "gpu" not in ENGINES[name].kinds or not ENGINES[name].paged:
        known = ", ".join(e.name for e in ENGINES.values() if "gpu" in e.kinds and e.paged)
        raise UnreadableRowError(
            f"no memory model of the engine {written!r}; there is one of {known}"
        )
    return name


def _utilization(row: Mapping[str, str], engine: str, default: float) -> float:
    share = number_of(row, "util")
    if share is None:
        if text_of(row, "util_source").casefold() not in ("engine default", "default"):
            raise UnreadableRowError("the engine's share of the memory is not stated")
        share = default if engine in ("vllm", "sglang") else ENGINES[engine].utilization
    if not 0.0 < share <= 1.0:
        raise UnreadableRowError(f"util must be above 0 and at most 1, not {share:g}")
    return share


def _version(row: Mapping[str, str]) -> str | None:
    """The version a row prints, also as "~0.6.4" or "0.19.0?"; else the one of its date."""
    found = _VERSION.search(text_of(row, "engine_version"))
    if found:
        return found[1]
    month = text_of(row, "date")[:7]
    if not re.fullmatch(r"\d{4}-\d{2}", month):
        return None
    return next((version for before, version in _VERSION_BY_MONTH if month < before), None)


def _bytes_per_token(row: Mapping[str, str], n: int) -> tuple[float | None, str]:
    """Cache bytes per token on one GPU, or None and the reason."""
    kind = text_of(row, "attn_kind").casefold()
    if "swa" in kind or "sliding" in kind or "hybrid" in kind or "linear" in kind:
        return None, "sliding-window or hybrid model: tokens depend on the engine's page layout"
    layers, heads, width = (number_of(row, key) for key in ("n_layers", "n_kv_heads", "head_dim"))
    element = number_of(row, "kv_bytes_per_elem") or _element_bytes(row)
    if not layers or not width:
        return None, "layers and head size are not stated"
    if kind.startswith("mla"):
        return layers * width * element, ""
    if not heads:
        return None, "the number of KV heads is not stated"
    return 2.0 * layers * kv_heads_per_device(math.ceil(heads), n) * width * element, ""


def _element_bytes(row: Mapping[str, str]) -> float:
    cache = text_of(row, "kv_dtype").casefold()
    if cache.startswith(_ONE_BYTE_CACHES):
        return 1.0
    return 4.0 if cache in ("fp32", "float32", "float") else 2.0


def _layer_parameters(row: Mapping[str, str], weights_bytes: float, n: int) -> float:
    """Parameters per layer from the row's weights: what remains beside the vocabulary's tables."""
    text = f"{text_of(row, 'quant')} {text_of(row, 'model')}".casefold()
    width = next((size for mark, size in _BYTES_PER_PARAMETER if mark in text), 2.0)
    layers = number_of(row, "n_layers") or 40.0
    total = weights_bytes * n / width
    hidden = math.sqrt(total / layers / 12.8)
    tables = min(0.5 * total, 2.0 * (number_of(row, "vocab") or 0.0) * hidden)
    return max(1.0, (total - tables) / layers)


def _gib(row: Mapping[str, str], *keys: str) -> float | None:
    for key in keys:
        value = number_of(row, key)
        if value:
            return value * GIB
    return None


def _whole(row: Mapping[str, str], key: str, default: int) -> int:
    value = number_of(row, key)
    if value is None:
        return default
    if not 1.0 <= value <= 1e9:
        raise UnreadableRowError(
            f"{key} must be a whole number of at least 1, not {text_of(row, key)!r}"
        )
    return int(value)


def number_of(row: Mapping[str, str], key: str) -> float | None:
    """The number a cell starts with ("16384 (config default)"); None where it is empty."""
    text = text_of(row, key)
    if text.casefold() in ABSENT:
        return None
    found = _NUMBER.match(text)
    if found is None:
        raise UnreadableRowError(f"{key} is no number: {text[:40]!r}")
    value = float(found[1].replace(",", "").replace("_", ""))
    if not value <= _MOST:
        raise UnreadableRowError(f"{key} is out of range: {text[:40]!r}")
    return value


def text_of(row: Mapping[str, str], key: str) -> str:
    """The cell's text without blanks around it; "" where the row has no such cell."""
    value = row.get(key)
    return "" if value is None else str(value).strip()
