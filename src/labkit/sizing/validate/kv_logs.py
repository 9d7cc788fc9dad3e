"""One row of an engine's log -> what the memory model says: `kv_gib` and `kv_tokens`.

The schema is that of `kv-logs.csv`. A row carries its own weights, memory, vocabulary and layers,
so models and cards outside the catalogue work. `kv_gib` is the cache of one GPU, `kv_tokens` of
the whole engine. A row that lacks something, or says what cannot be read, is `unsupported` with
the reason; nothing in a row raises.

On sliding-window and hybrid models how many tokens fit a GiB depends on the engine's page layout,
so there only `kv_gib` is predicted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from labkit.sizing.bands import Band
from labkit.sizing.engine_defaults import Card, sglang_defaults, vllm_defaults
from labkit.sizing.engines import ENGINES, prior_overhead
from labkit.sizing.kv import BLOCK_TOKENS, kv_heads_per_device, max_cached_tokens
from labkit.sizing.overhead import OverheadCase, sglang_parts, vllm_overhead
from labkit.sizing.units import GIB
from labkit.sizing.validate.result import RowResult

METRICS = ("kv_gib", "kv_tokens")
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
_ABSENT = frozenset({"", "nan", "none", "null", "unknown", "n/a", "?"})
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
    """What the prediction needs of a row. Bytes; `bytes_per_token` is per GPU, None unknown."""

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


def predict_kv(row: Mapping[str, str]) -> list[RowResult]:
    """The KV cache of one GPU in GiB and the tokens of the engine, as `kv_gib` and `kv_tokens`.

    `measured` is the row's own value, None where it has none. Never raises for what a row says.
    """
    name = _text(row, "id") or "?"
    measured = {metric: _measured(row, metric) for metric in METRICS}
    try:
        if _text(row, "predictable") == "0":
            raise UnreadableRowError(_why_not(row))
        parsed = read_row(row)
    except UnreadableRowError as error:
        return [_unsupported(name, metric, measured[metric], str(error)) for metric in METRICS]
    pool = kv_pool(parsed)
    results = [
        RowResult(
            name,
            "kv_gib",
            measured["kv_gib"],
            pool.low / GIB,
            pool.mid / GIB,
            pool.high / GIB,
            "ok",
            "",
        )
    ]
    per_token = parsed.bytes_per_token
    if per_token is None:
        results.append(_unsupported(name, "kv_tokens", measured["kv_tokens"], parsed.tokens_reason))
        return results
    low, mid, high = (
        float(max_cached_tokens(size, per_token, parsed.block_tokens))
        for size in (pool.low, pool.mid, pool.high)
    )
    results.append(RowResult(name, "kv_tokens", measured["kv_tokens"], low, mid, high, "ok", ""))
    return results


def kv_pool(row: KvRow) -> Band:
    """Bytes of the KV cache on one GPU; never below 0."""
    share, total, weights = row.utilization, row.total_bytes, row.weights_bytes
    overhead = kv_overhead(row)
    of_free = ENGINES[row.engine].utilization_of == "free"

    def pool(kept: float) -> float:
        left = share * (total - weights - kept) if of_free else share * total - weights - kept
        return max(0.0, left)

    return Band(pool(overhead.high), pool(overhead.mid), pool(overhead.low), overhead.kind)


def kv_overhead(row: KvRow) -> Band:
    """Bytes of one GPU that are neither weights nor cache, as the engine's model has them."""
    if row.engine == "vllm":
        return vllm_overhead(row.case)
    if row.engine == "sglang":
        (context,) = sglang_parts(row.utilization)
        return context.size
    return prior_overhead(ENGINES[row.engine], row.weights_bytes)


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
        is_a100="a100" in _text(row, "gpu").casefold(),
        before_ampere=_BEFORE_AMPERE.search(_text(row, "gpu").casefold()) is not None,
    )
    longest = _number(row, "max_model_len")
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
            moe="moe" in _text(row, "attn_kind").casefold(),
            vocab_size=_whole(row, "vocab", 150_000),
            max_num_seqs=sequences,
            max_num_batched_tokens=tokens,
            enforce_eager=_text(row, "enforce_eager").casefold() in ("true", "1"),
            before_ampere=card.before_ampere,
            generates="embed" not in _text(row, "model").casefold(),
            images=_IMAGES.search(_text(row, "model").casefold()) is not None,
        ),
    )


def _engine(row: Mapping[str, str]) -> str:
    written = _text(row, "engine")
    key = re.sub(r"\(.*?\)", "", written).strip().casefold()
    name = {"trt-llm": "tensorrt-llm", "tensorrt": "tensorrt-llm"}.get(key, key)
    if name not in ENGINES or "gpu" not in ENGINES[name].kinds or not ENGINES[name].paged:
        known = ", ".join(e.name for e in ENGINES.values() if "gpu" in e.kinds and e.paged)
        raise UnreadableRowError(
            f"no memory model of the engine {written!r}; there is one of {known}"
        )
    return name


def _utilization(row: Mapping[str, str], engine: str, default: float) -> float:
    share = _number(row, "util")
    if share is None:
        if _text(row, "util_source").casefold() not in ("engine default", "default"):
            raise UnreadableRowError("the engine's share of the memory is not stated")
        share = default if engine in ("vllm", "sglang") else ENGINES[engine].utilization
    if not 0.0 < share <= 1.0:
        raise UnreadableRowError(f"util must be above 0 and at most 1, not {share:g}")
    return share


def _version(row: Mapping[str, str]) -> str | None:
    """The version a row prints, also as "~0.6.4" or "0.19.0?"; else the one of its date."""
    found = _VERSION.search(_text(row, "engine_version"))
    if found:
        return found[1]
    month = _text(row, "date")[:7]
    if not re.fullmatch(r"\d{4}-\d{2}", month):
        return None
    return next((version for before, version in _VERSION_BY_MONTH if month < before), None)


def _bytes_per_token(row: Mapping[str, str], n: int) -> tuple[float | None, str]:
    """Cache bytes per token on one GPU, or None and the reason."""
    kind = _text(row, "attn_kind").casefold()
    if "swa" in kind or "sliding" in kind or "hybrid" in kind or "linear" in kind:
        return None, "sliding-window or hybrid model: tokens depend on the engine's page layout"
    layers, heads, width = (_number(row, key) for key in ("n_layers", "n_kv_heads", "head_dim"))
    element = _number(row, "kv_bytes_per_elem") or _element_bytes(row)
    if not layers or not width:
        return None, "layers and head size are not stated"
    if kind.startswith("mla"):
        return layers * width * element, ""
    if not heads:
        return None, "the number of KV heads is not stated"
    return 2.0 * layers * kv_heads_per_device(math.ceil(heads), n) * width * element, ""


def _element_bytes(row: Mapping[str, str]) -> float:
    cache = _text(row, "kv_dtype").casefold()
    if cache.startswith(_ONE_BYTE_CACHES):
        return 1.0
    return 4.0 if cache in ("fp32", "float32", "float") else 2.0


def _layer_parameters(row: Mapping[str, str], weights_bytes: float, n: int) -> float:
    """Parameters per layer from the row's weights: what remains beside the vocabulary's tables."""
    text = f"{_text(row, 'quant')} {_text(row, 'model')}".casefold()
    width = next((size for mark, size in _BYTES_PER_PARAMETER if mark in text), 2.0)
    layers = _number(row, "n_layers") or 40.0
    total = weights_bytes * n / width
    hidden = math.sqrt(total / layers / 12.8)
    tables = min(0.5 * total, 2.0 * (_number(row, "vocab") or 0.0) * hidden)
    return max(1.0, (total - tables) / layers)


def _gib(row: Mapping[str, str], *keys: str) -> float | None:
    for key in keys:
        value = _number(row, key)
        if value:
            return value * GIB
    return None


def _whole(row: Mapping[str, str], key: str, default: int) -> int:
    value = _number(row, key)
    if value is None:
        return default
    if not 1.0 <= value <= 1e9:
        raise UnreadableRowError(
            f"{key} must be a whole number of at least 1, not {_text(row, key)!r}"
        )
    return int(value)


def _number(row: Mapping[str, str], key: str) -> float | None:
    """The number a cell starts with ("16384 (config default)"); None where it is empty."""
    text = _text(row, key)
    if text.casefold() in _ABSENT:
        return None
    found = _NUMBER.match(text)
    if found is None:
        raise UnreadableRowError(f"{key} is no number: {text[:40]!r}")
    value = float(found[1].replace(",", "").replace("_", ""))
    if not value <= _MOST:
        raise UnreadableRowError(f"{key} is out of range: {text[:40]!r}")
    return value


def _measured(row: Mapping[str, str], metric: str) -> float | None:
    try:
        return _number(row, metric)
    except UnreadableRowError:
        return None


def _text(row: Mapping[str, str], key: str) -> str:
    value = row.get(key)
    return "" if value is None else str(value).strip()


def _why_not(row: Mapping[str, str]) -> str:
    for key, words in (
        ("total_gib_used", "the GPU's memory is not stated"),
        ("weights_gib", "the size of the weights is not stated"),
        ("util", "the engine's share of the memory is not stated"),
    ):
        if _text(row, key).casefold() in _ABSENT:
            return words
    return _text(row, "notes") or "the row says of itself that it cannot be predicted"


def _unsupported(name: str, metric: str, measured: float | None, reason: str) -> RowResult:
    return RowResult(name, metric, measured, None, None, None, "unsupported", reason)
