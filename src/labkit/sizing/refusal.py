"""Why a model cannot run as asked: one code and one sentence with the number behind it.

`refuse` gathers all obstacles, so that a person sees them at once: what can never run together
(`pairing`), and what depends on lengths and batch. Codes in `BLOCKING` mean that nothing would
run, so `fits` is false; SLO and price refusals leave the estimate standing.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.specs import Instance, ModelSpec
from labkit.sizing.device import Device
from labkit.sizing.engines import Engine, Loader
from labkit.sizing.inputs import EngineConfig, Workload
from labkit.sizing.kv import kv_bytes_per_sequence
from labkit.sizing.memory import MemoryBudget
from labkit.sizing.pairing import unfit
from labkit.sizing.refusal_codes import BLOCKING, STILL_TIMED, Refusal, RefusalCode
from labkit.sizing.units import gib

__all__ = ["BLOCKING", "STILL_TIMED", "Case", "Refusal", "RefusalCode", "refuse"]


@dataclass(frozen=True, slots=True)
class Case:
    """Everything a check may look at. `max_sequences`: those that fit at full length."""

    model: ModelSpec
    instance: Instance
    config: EngineConfig
    workload: Workload
    engine: Engine
    loader: Loader
    device: Device
    tensor_parallel_size: int
    budget: MemoryBudget
    max_sequences: int


def refuse(case: Case) -> tuple[Refusal, ...]:
    """Every obstacle between this case and running, in the order in which they are met."""
    config = case.config
    kind, pair = unfit(
        case.model,
        case.instance,
        case.engine,
        case.loader,
        config.weight_format,
        config.kv_format,
        case.tensor_parallel_size,
    )
    found = (*kind, _context(case), *pair, _weights(case), _kv_cache(case))
    return tuple(refusal for refusal in found if refusal is not None)


def _context(case: Case) -> Refusal | None:
    longest, wanted = case.model.max_context, case.workload.full_length
    if not longest or wanted <= longest or case.model.kind != "decoder":
        return None
    return Refusal(
        RefusalCode.ENGINE_UNSUPPORTED,
        f"Prompt + output are {wanted:,} tokens; {case.model.name} is made for at most "
        f"{longest:,}.",
    )


def _weights(case: Case) -> Refusal | None:
    budget = case.budget
    needed = budget.weights_bytes + budget.overhead.mid
    if needed < budget.limit_bytes:
        return None
    return Refusal(
        RefusalCode.WEIGHTS,
        f"{case.config.weights} weights take {gib(budget.weights_bytes)} of each "
        f"{case.device.noun} and the engine about {gib(budget.overhead.mid)}; of "
        f"{gib(budget.usable_bytes)} it may use {gib(budget.limit_bytes)}: "
        f"{gib(needed - budget.limit_bytes)} too little.",
    )


def _kv_cache(case: Case) -> Refusal | None:
    budget, config, workload = case.budget, case.config, case.workload
    pool = budget.kv_pool_bytes
    if pool <= 0:
        return None  # WEIGHTS says it
    length = workload.full_length
    room = case.max_sequences
    if room >= config.batch:
        return None
    each = kv_bytes_per_sequence(
        case.model,
        config.kv_format,
        length,
        tensor_parallel_size=case.tensor_parallel_size,
        block_tokens=config.block_tokens if case.engine.paged else 1,
    )
    return Refusal(
        RefusalCode.KV_CACHE,
        f"{room} of {config.batch} sequences fit at full length ({length:,} tokens, "
        f"{gib(each)} each, pool {gib(pool)}): {gib(config.batch * each - pool)} too little.",
    )
