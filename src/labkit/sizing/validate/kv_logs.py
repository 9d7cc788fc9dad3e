"""One row of an engine's log -> what the memory model says: `kv_gib` and `kv_tokens`.

The schema is that of `kv-logs.csv`. A row carries its own weights, memory, vocabulary and layers,
so models and cards outside the catalogue work. `kv_gib` is the cache of one GPU, `kv_tokens` of
the whole engine. A row that lacks something, or says what cannot be read, is `unsupported` with
the reason; nothing in a row raises.

On sliding-window and hybrid models how many tokens fit a GiB depends on the engine's page layout,
so there only `kv_gib` is predicted.
"""

from __future__ import annotations

from collections.abc import Mapping

from labkit.sizing.bands import Band
from labkit.sizing.engines import ENGINES, prior_overhead
from labkit.sizing.kv import max_cached_tokens
from labkit.sizing.overhead import sglang_parts, vllm_overhead
from labkit.sizing.units import GIB
from labkit.sizing.validate.kv_row import (
    ABSENT,
    KvRow,
    UnreadableRowError,
    number_of,
    read_row,
    text_of,
)
from labkit.sizing.validate.result import RowResult

METRICS = ("kv_gib", "kv_tokens")


def predict_kv(row: Mapping[str, str]) -> list[RowResult]:
    """The KV cache of one GPU in GiB and the tokens of the engine, as `kv_gib` and `kv_tokens`.

    `measured` is the row's own value, None where it has none. Never raises for what a row says.
    """
    name = text_of(row, "id") or "?"
    measured = {metric: _measured(row, metric) for metric in METRICS}
    try:
        if text_of(row, "predictable") == "0":
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
        (context,) = sglang_parts(row.utilization, free_known=row.free_known)
        return context.size
    return prior_overhead(ENGINES[row.engine], row.weights_bytes)


def _measured(row: Mapping[str, str], metric: str) -> float | None:
    try:
        return number_of(row, metric)
    except UnreadableRowError:
        return None


def _why_not(row: Mapping[str, str]) -> str:
    for key, words in (
        ("total_gib_used", "the GPU's memory is not stated"),
        ("weights_gib", "the size of the weights is not stated"),
        ("util", "the engine's share of the memory is not stated"),
    ):
        if text_of(row, key).casefold() in ABSENT:
            return words
    return text_of(row, "notes") or "the row says of itself that it cannot be predicted"


def _unsupported(name: str, metric: str, measured: float | None, reason: str) -> RowResult:
    return RowResult(name, metric, measured, None, None, None, "unsupported", reason)
