"""Lanes: everything but the load. A lane is one model on one machine in one format and TP size.

Its answers at any batch and lengths follow from a few numbers: the coefficients of its
`StepModel`, its cache per sequence, the memory left for that, its price and what it is refused
for. Lanes are built once and remembered; `stack` puts many side by side as columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from labkit.catalog.specs import Instance, ModelSpec
from labkit.sizing.device import Device, device_of
from labkit.sizing.efficiency import Efficiency
from labkit.sizing.engines import Engine, Loader
from labkit.sizing.estimate import efficiency_for
from labkit.sizing.flops import head_parameters, prefill_coefficients
from labkit.sizing.identity import remembered
from labkit.sizing.inputs import EngineConfig
from labkit.sizing.kv import cache_parts
from labkit.sizing.memory import MemoryBudget, default_sequences, memory_budget
from labkit.sizing.pairing import unfit
from labkit.sizing.refusal_codes import Refusal, RefusalCode
from labkit.sizing.step_model import StepModel, step_model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# One number of a lane each; times in seconds. See `StepModel` and `Efficiency` for the names.
COLUMNS = (
    *("weights", "experts", "experts_share", "cache_constant", "attention_constant", "token"),
    *("head", "linear_token", "latency", "wire", "host", "hides_host", "prompt", "sequence"),
    *("decode_factor", "computes", "mbu", "mbu_kv", "mfu", "mfu_decode"),
    *("one_low", "one_high", "many_low", "many_high", "prefill_low", "prefill_high"),
    *("timed", "stopped", "block_tokens", "longest", "pool", "short", "sequences"),
)
# One number for each kind of attention layer. pool_*: bytes on each device.
PART_COLUMNS = ("cache", "attention", "pair", "window", "pool_per_token", "pool_constant")


@dataclass(frozen=True, slots=True)
class Lane:
    """One model, machine, engine, weight and KV format and tensor-parallel size.

    kind_refusals, pair_refusals: what never runs, whatever the load, in the order of `estimate`.
    row, parts: the numbers of `COLUMNS`, and of `PART_COLUMNS` for each kind of attention layer.
    sequences: the engine's own limit of sequences; above it the batch costs memory (None: no
    model of that). budget: at any batch up to that. kinds: "fit" or "prior", of the ranges of a
    prefill, of a decode step of one sequence and of several.
    """

    model: ModelSpec
    instance: Instance
    engine: Engine
    loader: Loader
    device: Device
    config: EngineConfig
    tensor_parallel_size: int
    kind_refusals: tuple[Refusal, ...]
    pair_refusals: tuple[Refusal, ...]
    steps: StepModel | None
    row: tuple[float, ...]
    parts: tuple[tuple[float, ...], ...]
    budget: MemoryBudget
    sequences: int | None
    kinds: tuple[str, str, str]

    def budget_at(self, batch: int) -> MemoryBudget:
        """The memory budget for a batch: less cache where the batch is above `sequences`."""
        if self.sequences is None or batch <= self.sequences:
            return self.budget
        config = EngineConfig(self.config.weights, self.config.kv, batch)
        return memory_budget(
            self.model, self.device, self.engine, config, self.tensor_parallel_size
        )


@remembered(objects=4, most=65_536)
def lane_of(
    model: ModelSpec,
    instance: Instance,
    engine: Engine,
    loader: Loader,
    weights: str,
    kv: str,
    tensor_parallel_size: int,
) -> Lane:
    """The lane of these; raises `UnknownNameError` for a number format that does not exist."""
    n, device = tensor_parallel_size, device_of(instance)
    config = _config(weights, kv, n, engine.name, loader.name)
    kind, pair = unfit(model, instance, engine, loader, config.weight_format, config.kv_format, n)
    stopped = any(refusal.code is not RefusalCode.HOST_RAM for refusal in (*kind, *pair))
    core = _core(model, device, engine, config, stopped)
    return Lane(
        model=model,
        instance=instance,
        engine=engine,
        loader=loader,
        device=device,
        config=config,
        tensor_parallel_size=n,
        kind_refusals=kind,
        pair_refusals=pair,
        steps=core.steps,
        row=core.row,
        parts=core.parts,
        budget=core.budget,
        sequences=core.sequences,
        kinds=core.kinds,
    )


@dataclass(frozen=True, slots=True)
class _Core:
    """What lanes on the same device share; see `Lane`."""

    steps: StepModel | None
    row: tuple[float, ...]
    parts: tuple[tuple[float, ...], ...]
    budget: MemoryBudget
    sequences: int | None
    kinds: tuple[str, str, str]


@lru_cache(maxsize=4096)
def _config(weights: str, kv: str, n: int, engine: str, loader: str) -> EngineConfig:
    """One object for equal ones, so that `_core` knows it again."""
    return EngineConfig(weights, kv, 1, n, engine=engine, loader=loader)


@remembered(objects=4, most=65_536)
def _core(
    model: ModelSpec, device: Device, engine: Engine, config: EngineConfig, stopped: bool
) -> _Core:
    n = config.tensor_parallel_size or 1
    steps = efficiency = None
    if not stopped and device.bandwidth > 0:
        efficiency = efficiency_for(engine, config, device)
        steps = step_model(model, device, config, n, efficiency)
    block = float(config.block_tokens) if engine.paged else 1.0
    longest = float(model.max_context) if model.kind == "decoder" and model.max_context else 0.0
    budget = memory_budget(model, device, engine, config, n)
    sequences = default_sequences(model, device, engine, None, n)
    tail = (
        float(steps is not None),
        float(stopped),
        block,
        longest or math.inf,
        budget.kv_pool_bytes,
        float(no_room(budget)),
        math.inf if sequences is None else float(sequences),
    )
    return _Core(
        steps=steps,
        row=(*_times(model, steps, efficiency, n), *tail),
        parts=_parts(model, config, steps, n),
        budget=budget,
        sequences=sequences,
        kinds=_kinds(efficiency, n),
    )


def _kinds(efficiency: Efficiency | None, devices: int) -> tuple[str, str, str]:
    if efficiency is None:
        return "prior", "prior", "prior"
    prefill, one, many = (
        efficiency.spread(prefill=prefill, sequences=sequences, devices=devices).kind
        for prefill, sequences in ((True, 1), (False, 1), (False, 2))
    )
    return prefill, one, many


def no_room(budget: MemoryBudget) -> bool:
    """Whether weights and the engine's own memory leave nothing: the refusal `WEIGHTS`."""
    return budget.weights_bytes + budget.overhead.mid >= budget.limit_bytes


def _times(
    model: ModelSpec, steps: StepModel | None, efficiency: Efficiency | None, devices: int
) -> tuple[float, ...]:
    if steps is None or efficiency is None:
        return (0.0,) * (COLUMNS.index("prefill_high") + 1)
    one, many, prefill = (
        efficiency.spread(prefill=prefill, sequences=sequences, devices=devices)
        for prefill, sequences in ((False, 1), (False, 2), (True, 1))
    )
    _, per_token = prefill_coefficients(model)
    return (
        steps.weights,
        steps.experts,
        steps.experts_share,
        steps.cache_constant,
        steps.attention_constant,
        steps.token,
        steps.head,
        per_token * _flop_seconds(model, steps),
        steps.latency,
        steps.wire,
        steps.host,
        float(steps.hides_host),
        steps.prompt,
        steps.sequence,
        steps.decode_factor,
        float(steps.computes),
        efficiency.mbu,
        efficiency.mbu_kv,
        efficiency.mfu,
        efficiency.mfu_decode,
        *(one.low, one.high, many.low, many.high, prefill.low, prefill.high),
    )


def _flop_seconds(model: ModelSpec, steps: StepModel) -> float:
    """Seconds per FLOP of a prefill: the head is two of them per parameter."""
    return steps.head / (2.0 * head_parameters(model))


def _parts(
    model: ModelSpec, config: EngineConfig, steps: StepModel | None, devices: int
) -> tuple[tuple[float, ...], ...]:
    """The numbers of `PART_COLUMNS` for each kind of layer, in the model's order."""
    sizes = cache_parts(model, config.kv_format, devices)
    if steps is None:
        return tuple(
            (
                0.0,
                0.0,
                0.0,
                math.inf if window is None else float(window),
                size * grows,
                size * (not grows),
            )
            for size, window, grows in sizes
        )
    flop = _flop_seconds(model, steps)
    growing = iter(zip(steps.cache, steps.attention, prefill_coefficients(model)[0], strict=True))
    parts = []
    for size, window, grows in sizes:
        if not grows:
            parts.append((0.0, 0.0, 0.0, math.inf, 0.0, size))
            continue
        cache, attention, (pair, _) = next(growing)
        wide = math.inf if window is None else float(window)
        parts.append((cache.per_token, attention.per_token, pair * flop, wide, size, 0.0))
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class Stack:
    """Lanes side by side. columns: each of `COLUMNS`, of shape (lanes, 1, 1).

    parts: each of `PART_COLUMNS`, of shape (kinds, lanes, 1, 1); lanes with fewer kinds of layer
    have zeros there.
    """

    lanes: tuple[Lane, ...]
    columns: dict[str, Floats]
    parts: dict[str, Floats]

    def memory(self, batch: Floats) -> tuple[Floats, Floats]:
        """Bytes of the KV pool, and 1 where the weights leave none, for each lane and batch.

        `batch`: (lanes or 1, batches, 1). Only batches above an engine's own limit of sequences
        cost anything to look up.
        """
        import numpy as np

        shape = (len(self.lanes), batch.shape[1], 1)
        pool, short = (np.broadcast_to(self.columns[name], shape) for name in ("pool", "short"))
        above = np.broadcast_to(batch > self.columns["sequences"], shape)
        if not bool(above.any()):
            return pool, short
        pool, short = pool.copy(), short.copy()
        asked = np.broadcast_to(batch, shape)
        for lane, column, _ in np.argwhere(above):
            budget = self.lanes[lane].budget_at(int(asked[lane, column, 0]))
            pool[lane, column] = budget.kv_pool_bytes
            short[lane, column] = no_room(budget)
        return pool, short


def stack(lanes: Sequence[Lane]) -> Stack:
    """The columns of `lanes`, of which there must be at least one."""
    import numpy as np

    rows = np.array([lane.row for lane in lanes], dtype=float)
    kinds = max(1, *(len(lane.parts) for lane in lanes))
    nothing = (0.0, 0.0, 0.0, math.inf, 0.0, 0.0)
    parts = np.array(
        [(*lane.parts, *(nothing,) * (kinds - len(lane.parts))) for lane in lanes], dtype=float
    )
    return Stack(
        lanes=tuple(lanes),
        columns={
            name: np.ascontiguousarray(rows[:, i])[:, None, None] for i, name in enumerate(COLUMNS)
        },
        parts={
            name: np.ascontiguousarray(parts[:, :, i].T)[:, :, None, None]
            for i, name in enumerate(PART_COLUMNS)
        },
    )
