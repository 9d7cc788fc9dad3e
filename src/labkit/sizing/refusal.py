"""Why a model cannot run as asked: one code and one sentence with the number behind it.

`refuse` gathers all obstacles, so that a person sees them at once: what can never run together
(`pairing`), and what depends on lengths and batch. Codes in `BLOCKING` mean that nothing would
run, so `fits` is false; SLO and price refusals leave the estimate standing.
"""

from __future__ import annotations

from labkit.catalog.specs import Instance, ModelSpec
from labkit.sizing.device import Device, device_of
from labkit.sizing.engines import Engine, Loader
from labkit.sizing.inputs import EngineConfig, Workload
from labkit.sizing.kv import kv_bytes_per_sequence
from labkit.sizing.memory import MemoryBudget
from labkit.sizing.pairing import unfit
from labkit.sizing.refusal_codes import BLOCKING, STILL_TIMED, Refusal, RefusalCode
from labkit.sizing.units import gib

__all__ = ["BLOCKING", "STILL_TIMED", "Refusal", "RefusalCode", "refuse"]


def refuse(
    model: ModelSpec,
    instance: Instance,
    config: EngineConfig,
    workload: Workload,
    engine: Engine,
    loader: Loader,
    devices: int,
    budget: MemoryBudget,
    max_sequences: int,
) -> tuple[Refusal, ...]:
    """Every obstacle between a set-up and running, in the order in which they are met.

    devices: the tensor-parallel size; max_sequences: those that fit at full length.
    """
    kind, pair = unfit(
        model, instance, engine, loader, config.weight_format, config.kv_format, devices
    )
    found: tuple[Refusal, ...] = kind
    if model.kind == "decoder" and 0 < model.max_context < workload.full_length:
        found += (_context(model, workload),)
    found += pair
    if budget.weights_bytes + budget.overhead.mid >= budget.limit_bytes:
        found += (_weights(config, device_of(instance), budget),)
    # Where the weights leave no pool, WEIGHTS says it.
    if max_sequences < config.batch and budget.pool.mid > 0:
        found += (_kv_cache(model, config, workload, engine, devices, budget, max_sequences),)
    return found


def _context(model: ModelSpec, workload: Workload) -> Refusal:
    return Refusal(
        RefusalCode.ENGINE_UNSUPPORTED,
        f"Prompt + output are {workload.full_length:,} tokens; {model.name} is made for at most "
        f"{model.max_context:,}.",
    )


def _weights(config: EngineConfig, device: Device, budget: MemoryBudget) -> Refusal:
    needed = budget.weights_bytes + budget.overhead.mid
    return Refusal(
        RefusalCode.WEIGHTS,
        f"{config.weights} weights take {gib(budget.weights_bytes)} of each "
        f"{device.noun} and the engine about {gib(budget.overhead.mid)}; of "
        f"{gib(budget.usable_bytes)} it may use {gib(budget.limit_bytes)}: "
        f"{gib(needed - budget.limit_bytes)} too little.",
    )


def _kv_cache(
    model: ModelSpec,
    config: EngineConfig,
    workload: Workload,
    engine: Engine,
    devices: int,
    budget: MemoryBudget,
    room: int,
) -> Refusal:
    length, pool = workload.full_length, budget.kv_pool_bytes
    each = kv_bytes_per_sequence(
        model,
        config.kv_format,
        length,
        tensor_parallel_size=devices,
        block_tokens=config.block_tokens if engine.paged else 1,
    )
    return Refusal(
        RefusalCode.KV_CACHE,
        f"{room} of {config.batch} sequences fit at full length ({length:,} tokens, "
        f"{gib(each)} each, pool {gib(pool)}): {gib(config.batch * each - pool)} too little.",
    )
