"""The memory budget of one device: what is left for the KV cache, and how many sequences it holds.

pool = utilization x usable - weights / TP - overhead, where the engine counts its share of the
total; utilization x (usable - weights / TP - overhead) where it counts what is free after loading.
All bytes are per device of the tensor-parallel group, as engines log them; tokens and sequences
are of the whole replica. The overhead is a band (`engines`), so the counts have a range too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from labkit.catalog.specs import ModelSpec
from labkit.sizing.bands import Band
from labkit.sizing.device import Device
from labkit.sizing.engines import GIB, Engine
from labkit.sizing.inputs import EngineConfig
from labkit.sizing.kv import kv_bytes_per_sequence, kv_bytes_per_token, max_cached_tokens
from labkit.sizing.weights import device_weight_bytes

_WARM_UP_SEQUENCES = 1024
_BIG_CARD_BYTES = 70 * GIB


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
    """The budget of one device of a group of `tensor_parallel_size`."""
    weights = device_weight_bytes(model, config.weight_format, tensor_parallel_size)
    overhead = overhead_band(model, device, engine, weights)
    utilization = (
        engine.utilization
        if config.gpu_memory_utilization is None
        else config.gpu_memory_utilization
    )
    # More overhead leaves less pool: the ends swap.
    low, mid, high = (
        _pool(device.usable_bytes, utilization, weights, kept, engine.utilization_of)
        for kept in (overhead.high, overhead.mid, overhead.low)
    )
    per_token = kv_bytes_per_token(
        model, config.kv_format, tensor_parallel_size=tensor_parallel_size
    )
    return MemoryBudget(
        usable_bytes=device.usable_bytes,
        utilization=utilization,
        weights_bytes=weights,
        overhead=overhead,
        pool=Band(low, mid, high),
        kv_bytes_per_token=per_token,
        max_cached_tokens=max_cached_tokens(mid, per_token, config.block_tokens),
        utilization_of=engine.utilization_of,
    )


def overhead_band(model: ModelSpec, device: Device, engine: Engine, weights_bytes: float) -> Band:
    """Bytes per device that are neither weights nor cache, as the engine's prior has them."""
    prior = engine.overhead
    high = prior.high_bytes + prior.high_share * weights_bytes
    if (
        engine.family == "serving"
        and device.usable_bytes >= _BIG_CARD_BYTES
        and not _is_a100(device)
    ):
        high = max(high, 9.7 * _WARM_UP_SEQUENCES * model.vocab_size * 4 + 0.6 * GIB)
    return Band(
        prior.low_bytes + prior.low_share * weights_bytes,
        prior.mid_bytes + prior.mid_share * weights_bytes,
        high,
    )


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


def _is_a100(device: Device) -> bool:
    return device.accelerator is not None and device.accelerator.name.startswith("A100")
