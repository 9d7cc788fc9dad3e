"""`sweep`: the answers of `estimate` over whole axes at once, as one table.

One configuration is one row: model x instance x engine x weight format x KV format x
tensor-parallel size x batch x prompt length x output length x prefix hit rate. Each row equals
`estimate` of the same configuration. The arrays underneath are in `grid`, and can be used alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from labkit.catalog.specs import Instance, ModelSpec
from labkit.sizing.checks import (
    SizingError,
    require_count,
    require_fraction,
    require_tokens,
)
from labkit.sizing.defaults import default_kv_format
from labkit.sizing.device import device_of
from labkit.sizing.engines import DEFAULT_ENGINE, engine_named, loader_named
from labkit.sizing.estimate import default_tensor_parallel_size
from labkit.sizing.inputs import SLO
from labkit.sizing.lanes import Lane, lane_of

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
MOST_ROWS = 20_000_000
_ROWS_AT_ONCE = 16_384  # so that a dozen arrays stay in the processor's cache


def sweep(
    models: ModelSpec | Sequence[ModelSpec],
    instances: Instance | Sequence[Instance],
    *,
    weights: str | Sequence[str] = "bf16",
    kv: str | Sequence[str | None] | None = None,
    tensor_parallel_sizes: int | Sequence[int | None] | None = None,
    engines: str | Sequence[str | None] | None = None,
    batches: int | Sequence[int] = 1,
    prompt_tokens: int | Sequence[int] = 512,
    output_tokens: int | Sequence[int] = 256,
    prefix_hit_rates: float | Sequence[float] = 0.0,
    slo: SLO | None = None,
    price_kind: str = "on-demand",
    region: str = "us-east-1",
) -> pd.DataFrame:
    """Every combination of the axes, a row each, in the order of the arguments.

    A single value stands for an axis of one. None in `kv` is the 16-bit format of the weights on
    that machine, in `tensor_parallel_sizes` and `engines` what `estimate` takes by default.

    Columns: the axes; `fits`, `max_sequences`, `running_sequences`; `ttft_ms`, `tpot_ms`,
    `output_tokens_per_s` and `usd_per_million_output_tokens`, each with `_low` and `_high`;
    `usd_per_hour`, `bound`, `refusal` (the first code) and `refusals` (all, joined by "+").
    A missing value: not estimated.

    Raises `SizingError` for a value that makes no sense or more than 20,000,000 rows, and
    `UnknownNameError` for formats and engines that do not exist.
    """
    import numpy as np

    from labkit.sizing.grid import loads
    from labkit.sizing.sweep_table import Table

    batch, prompts, outputs = _list(batches), _list(prompt_tokens), _list(output_tokens)
    hits = _list(prefix_hit_rates)
    _check(batch, prompts, outputs, hits)
    lanes = list(
        _lanes(
            _list(models),
            _list(instances),
            _list(weights),
            _list(kv),
            _list(tensor_parallel_sizes),
            _list(engines),
        )
    )
    each = len(batch) * len(prompts) * len(outputs) * len(hits)
    rows = len(lanes) * each
    if not rows:
        raise SizingError("A sweep needs at least one value on every axis.")
    if rows > MOST_ROWS:
        raise SizingError(f"{rows:,} rows are too many at once; the most is {MOST_ROWS:,}.")
    mesh = np.meshgrid(
        *(np.array(axis, dtype=float) for axis in (prompts, outputs, hits)), indexing="ij"
    )
    load = loads(*(axis.ravel() for axis in mesh))
    table = Table(rows)
    at_once = max(1, _ROWS_AT_ONCE // each)
    for start in range(0, len(lanes), at_once):
        part = lanes[start : start + at_once]
        table.fill(part, np.array(batch, dtype=float)[None, :, None], load, slo, price_kind, region)
    return table.frame(lanes, batch, prompts, outputs, hits)


def _list(value: T | Sequence[T]) -> list[T]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return [value]
    return list(value)


def _check(batches: list[int], prompts: list[int], outputs: list[int], hits: list[float]) -> None:
    for batch in batches:
        require_count("batches", batch)
    for name, axis in (("prompt_tokens", prompts), ("output_tokens", outputs)):
        for tokens in axis:
            require_tokens(name, tokens)
    for hit in hits:
        require_fraction("prefix_hit_rates", hit, zero_ok=True)


def _lanes(
    models: list[ModelSpec],
    instances: list[Instance],
    weights: list[str],
    caches: list[str | None],
    sizes: list[int | None],
    engines: list[str | None],
) -> Iterator[Lane]:
    for size in sizes:
        if size is not None:
            require_count("tensor_parallel_sizes", size)
    for model in models:
        for instance in instances:
            device = device_of(instance)
            for name in engines:
                engine = engine_named(name or DEFAULT_ENGINE[instance.kind])
                loader = loader_named(engine.loader)
                for weight in weights:
                    for cache in caches:
                        kv = cache or default_kv_format(weight, instance)
                        for size in sizes:
                            n = size or default_tensor_parallel_size(model, device)
                            yield lane_of(model, instance, engine, loader, weight, kv, n)
