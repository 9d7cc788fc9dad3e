"""The memory budget of one device: what is left for the KV cache, and how many sequences it holds.

pool = utilization x usable - weights / TP - overhead, where the engine counts its share of the
total; utilization x (usable - weights / TP - overhead) where it counts what is free after loading.
All bytes are per device of the tensor-parallel group, as engines log them; tokens and sequences
are of the whole replica. `usable` is what engines log as the card's total, where a log was seen,
else what the API names. The overhead is a band (`overhead`, `engines`), so counts have a range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from labkit.catalog.specs import ModelSpec
from labkit.sizing.bands import Band
from labkit.sizing.device import Device
from labkit.sizing.engine_defaults import Card, Defaults, sglang_defaults, vllm_defaults
from labkit.sizing.engines import Engine, prior_overhead
from labkit.sizing.identity import remembered
from labkit.sizing.inputs import EngineConfig
from labkit.sizing.kv import kv_bytes_per_sequence, kv_bytes_per_token, max_cached_tokens
from labkit.sizing.overhead import (
    OverheadCase,
    OverheadPart,
    sglang_parts,
    vllm_overhead,
    vllm_parts,
)
from labkit.sizing.weights import device_weight_bytes


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """Bytes per device (see the module); `pool` is the band that the overhead's range leaves."""

    usable_bytes: float
    utilization: float
    weights_bytes: float
    overhead: Band
    pool: Band
    kv_bytes_per_token: float
    max_cached_tokens: int
    utilization_of: str = "total"

    @property
    def kv_pool_bytes(self) -> float:
        """The central value of the KV pool, at least 0."""
        return max(0.0, self.pool.mid)

    @property
    def limit_bytes(self) -> float:
        """Bytes of the device that the engine allows itself for weights and overhead to fit."""
        return self.usable_bytes * (self.utilization if self.utilization_of == "total" else 1.0)


def memory_budget(
    model: ModelSpec,
    device: Device,
    engine: Engine,
    config: EngineConfig,
    tensor_parallel_size: int,
) -> MemoryBudget:
    """The budget of one device of a group of `tensor_parallel_size`.

    The batch matters only where it is more than the engine's own limit of sequences.
    """
    return _budget(
        model,
        device,
        engine,
        config.weights,
        config.kv,
        tensor_parallel_size,
        config.gpu_memory_utilization,
        config.engine_version,
        sequence_limit(model, device, engine, config, tensor_parallel_size),
        config.max_num_batched_tokens,
        config.block_tokens,
    )


def sequence_limit(
    model: ModelSpec,
    device: Device,
    engine: Engine,
    config: EngineConfig,
    tensor_parallel_size: int,
) -> int | None:
    """Sequences the engine sizes its buffers for; None where the memory model does not ask.

    The limit asked for, else the engine's default on this device and never fewer than `batch`.
    """
    if config.max_num_seqs is not None:
        return config.max_num_seqs
    default = default_sequences(model, device, engine, config.engine_version, tensor_parallel_size)
    return None if default is None else max(config.batch, default)


@remembered(objects=3)
def default_sequences(
    model: ModelSpec,
    device: Device,
    engine: Engine,
    version: str | None,
    tensor_parallel_size: int,
) -> int | None:
    """The engine's own `max_num_seqs` on this device; None for engines without a known default."""
    defaults = _defaults(model, device, engine, version, tensor_parallel_size)
    return defaults.max_num_seqs if defaults else None


@remembered(objects=3, most=16_384)
def _budget(
    model: ModelSpec,
    device: Device,
    engine: Engine,
    weight_format: str,
    kv_format: str,
    n: int,
    share: float | None,
    version: str | None,
    sequences: int | None,
    batched_tokens: int | None,
    block_tokens: int,
) -> MemoryBudget:
    config = EngineConfig(
        weight_format,
        kv_format,
        gpu_memory_utilization=share,
        engine_version=version,
        max_num_seqs=sequences,
        max_num_batched_tokens=batched_tokens,
        block_tokens=block_tokens,
    )
    weights = device_weight_bytes(model, config.weight_format, n)
    usable = engine_visible_bytes(device)
    overhead = overhead_band(model, device, engine, config, n)
    utilization = utilization_of(model, device, engine, config, n)
    # More overhead leaves less pool: the ends swap.
    low, mid, high = (
        _pool(usable, utilization, weights, kept, engine.utilization_of)
        for kept in (overhead.high, overhead.mid, overhead.low)
    )
    per_token = kv_bytes_per_token(model, config.kv_format, tensor_parallel_size=n)
    return MemoryBudget(
        usable_bytes=usable,
        utilization=utilization,
        weights_bytes=weights,
        overhead=overhead,
        pool=Band(low, mid, high, overhead.kind),
        kv_bytes_per_token=per_token,
        max_cached_tokens=max_cached_tokens(mid, per_token, config.block_tokens),
        utilization_of=engine.utilization_of,
    )


def engine_visible_bytes(device: Device) -> float:
    """What an engine on this device logs as its total: the driver keeps a little back."""
    accelerator = device.accelerator
    if accelerator is None or not accelerator.engine_visible_bytes:
        return device.usable_bytes
    return min(device.usable_bytes, float(accelerator.engine_visible_bytes))


def utilization_of(
    model: ModelSpec,
    device: Device,
    engine: Engine,
    config: EngineConfig,
    tensor_parallel_size: int,
) -> float:
    """The share of memory: the one asked for, else the engine's default in that version."""
    if config.gpu_memory_utilization is not None:
        return config.gpu_memory_utilization
    defaults = _defaults(model, device, engine, config.engine_version, tensor_parallel_size)
    return defaults.gpu_memory_utilization if defaults else engine.utilization


def overhead_band(
    model: ModelSpec,
    device: Device,
    engine: Engine,
    config: EngineConfig,
    tensor_parallel_size: int,
) -> Band:
    """Bytes per device that are neither weights nor cache."""
    defaults = _defaults(model, device, engine, config.engine_version, tensor_parallel_size)
    if defaults is None:
        weights = device_weight_bytes(model, config.weight_format, tensor_parallel_size)
        return prior_overhead(engine, weights)
    if engine.name == "sglang":
        share = config.gpu_memory_utilization or defaults.gpu_memory_utilization
        return sglang_parts(share)[0].size
    return vllm_overhead(_case(model, device, config, tensor_parallel_size, defaults))


def overhead_parts(
    model: ModelSpec,
    device: Device,
    engine: Engine,
    config: EngineConfig,
    tensor_parallel_size: int,
) -> tuple[OverheadPart, ...]:
    """The parts of `overhead_band` by name, with source; their mids add up to its mid.

    Its ends are wider than the parts' sums by the spread of the fit.
    """
    defaults = _defaults(model, device, engine, config.engine_version, tensor_parallel_size)
    if defaults is None:
        band = overhead_band(model, device, engine, config, tensor_parallel_size)
        return (OverheadPart("all of it", band, engine.overhead.source),)
    if engine.name == "sglang":
        return sglang_parts(config.gpu_memory_utilization or defaults.gpu_memory_utilization)
    return vllm_parts(_case(model, device, config, tensor_parallel_size, defaults))


def max_sequences(
    model: ModelSpec,
    config: EngineConfig,
    pool_bytes: float,
    tokens: float,
    tensor_parallel_size: int,
    *,
    paged: bool = True,
) -> int:
    """Sequences of `tokens` cached tokens each that a pool holds at once.

    A model without a growing cache is limited by nothing here; the count is then the batch asked.
    """
    per_sequence = kv_bytes_per_sequence(
        model,
        config.kv_format,
        tokens,
        tensor_parallel_size=tensor_parallel_size,
        block_tokens=config.block_tokens if paged else 1,
    )
    if pool_bytes <= 0:
        return 0
    if per_sequence <= 0:
        return config.batch
    return math.floor(pool_bytes / per_sequence)


def _pool(usable: float, utilization: float, weights: float, overhead: float, of: str) -> float:
    if of == "free":
        return utilization * (usable - weights - overhead)
    return utilization * usable - weights - overhead


def _defaults(
    model: ModelSpec,
    device: Device,
    engine: Engine,
    version: str | None,
    tensor_parallel_size: int,
) -> Defaults | None:
    """The engine's defaults on this device; None for engines without a model of their own."""
    if engine.name == "vllm":
        return vllm_defaults(version, card_of(device), max_model_len=model.max_context or None)
    if engine.name == "sglang":
        return sglang_defaults(version, card_of(device), tensor_parallel_size)
    return None


def card_of(device: Device) -> Card:
    """The device as the engines' defaults look at it."""
    accelerator = device.accelerator
    capability = accelerator.compute_capability if accelerator else ""
    return Card(
        engine_visible_bytes(device),
        is_a100=accelerator is not None and accelerator.name.startswith("A100"),
        before_ampere=bool(capability) and float(capability) < 8.0,
    )


def _case(
    model: ModelSpec,
    device: Device,
    config: EngineConfig,
    tensor_parallel_size: int,
    defaults: Defaults,
) -> OverheadCase:
    params = model.params
    sequences = config.max_num_seqs or max(config.batch, defaults.max_num_seqs)
    return OverheadCase(
        engine="vllm",
        version=config.engine_version,
        tensor_parallel_size=tensor_parallel_size,
        layer_parameters=(params.linear + params.experts) / max(1, model.layers),
        moe=model.moe is not None,
        vocab_size=model.vocab_size,
        max_num_seqs=sequences,
        max_num_batched_tokens=config.max_num_batched_tokens
        or max(sequences, defaults.max_num_batched_tokens),
        before_ampere=card_of(device).before_ampere,
        generates=model.kind == "decoder",
    )
