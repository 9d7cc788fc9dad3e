"""Why a set-up lost, with the number behind each reason: the smallest batch is looked at, 1.

What cannot run with one sequence in flight cannot run at all; what breaks a promise alone breaks
it always. Each reason is a `Miss` whose `over` says by how much.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from labkit.sizing.inputs import SLO, Workload
from labkit.sizing.kv import kv_bytes_per_sequence
from labkit.sizing.lanes import Lane, no_room
from labkit.sizing.recommendation import Miss
from labkit.sizing.refusal_codes import Refusal, RefusalCode
from labkit.sizing.units import gib
from labkit.sizing.weights import resident_weight_bytes

_BYTES = "bytes per device"


def misses_of(
    lane: Lane,
    workload: Workload,
    ttft_ms: float,
    tpot_ms: float,
    price_refusals: Sequence[Refusal],
) -> tuple[Miss, ...]:
    """Every reason against a lane. ttft_ms, tpot_ms: of one request alone, NaN where not timed."""
    found = [_lasting(lane, refusal) for refusal in lane.kind_refusals]
    longest, wanted = lane.model.max_context, workload.full_length
    if longest and wanted > longest and lane.model.kind == "decoder":
        found.append(
            _number(
                RefusalCode.ENGINE_UNSUPPORTED,
                f"Prompt + output are {wanted:,} tokens; {lane.model.name} is made for at most "
                f"{longest:,}.",
                wanted,
                longest,
                "tokens",
            )
        )
    found += [_lasting(lane, refusal) for refusal in lane.pair_refusals]
    found += _memory(lane, workload)
    if lane.engine.family == "eager":
        found.append(
            Miss(
                RefusalCode.ENGINE_UNSUPPORTED,
                f"{lane.engine.name} batches statically: a request waits for the whole batch "
                "before it, and no steady state is computed for that.",
            )
        )
    if not found and (lane.steps is None or not lane.steps.computes):
        what = "bandwidth" if lane.device.bandwidth <= 0 else "FLOP/s"
        found.append(
            Miss(
                RefusalCode.ENGINE_UNSUPPORTED,
                f"No source gives the {what} of {lane.instance.name}'s {lane.device.noun}: its "
                "times cannot be predicted.",
                unit="bytes/s" if what == "bandwidth" else what,
            )
        )
    found += [Miss(refusal.code, refusal.detail, unit="USD/h") for refusal in price_refusals]
    if workload.slo is not None:
        found += _promises(workload.slo, ttft_ms, tpot_ms)
    return tuple(found)


def _number(code: RefusalCode, detail: str, value: float, limit: float, unit: str) -> Miss:
    over = value / limit if limit > 0 else inf
    return Miss(code, detail, float(value), float(limit), unit, max(1.0, over))


def _lasting(lane: Lane, refusal: Refusal) -> Miss:
    """A refusal of the pairing, with its number where it has one."""
    n = lane.tensor_parallel_size
    if refusal.code is RefusalCode.HOST_RAM:
        model_bytes = resident_weight_bytes(lane.model, lane.config.weight_format)
        needed = lane.loader.host_bytes(model_bytes)
        host = lane.instance.host_memory_bytes
        return _number(refusal.code, refusal.detail, needed, host, "bytes of host memory")
    if refusal.code is RefusalCode.NOT_OFFERED:
        return _number(refusal.code, refusal.detail, n, lane.device.count, "devices")
    if refusal.code is RefusalCode.HEADS_NOT_DIVISIBLE:
        heads = max(kind.heads for kind in lane.model.attention)
        return Miss(refusal.code, refusal.detail, float(heads), float(n), "heads over devices")
    return Miss(refusal.code, refusal.detail)


def _memory(lane: Lane, workload: Workload) -> list[Miss]:
    budget, noun = lane.budget, lane.device.noun
    if no_room(budget):
        needed = budget.weights_bytes + budget.overhead.mid
        return [
            _number(
                RefusalCode.WEIGHTS,
                f"{lane.config.weights} weights take {gib(budget.weights_bytes)} of each {noun} "
                f"and the engine about {gib(budget.overhead.mid)}: {gib(needed)}; it may use "
                f"{gib(budget.limit_bytes)}.",
                needed,
                budget.limit_bytes,
                _BYTES,
            )
        ]
    each = kv_bytes_per_sequence(
        lane.model,
        lane.config.kv_format,
        workload.full_length,
        tensor_parallel_size=lane.tensor_parallel_size,
        block_tokens=lane.config.block_tokens if lane.engine.paged else 1,
    )
    pool = budget.kv_pool_bytes
    if each <= pool:
        return []
    return [
        _number(
            RefusalCode.KV_CACHE,
            f"One sequence of {workload.full_length:,} tokens takes {gib(each)} of each {noun}; "
            f"{gib(pool)} are left for the cache.",
            each,
            pool,
            _BYTES,
        )
    ]


def _promises(slo: SLO, ttft_ms: float, tpot_ms: float) -> list[Miss]:
    """The promises that one request alone already breaks; a comparison with NaN is never true."""
    found = []
    for code, name, value, limit in (
        (RefusalCode.SLO_TTFT, "TTFT", ttft_ms, slo.ttft_ms),
        (RefusalCode.SLO_TPOT, "TPOT", tpot_ms, slo.tpot_ms),
    ):
        if limit is not None and value > limit:
            detail = f"Alone, {name} is about {value:,.1f} ms; asked: {limit:,.1f} ms."
            found.append(_number(code, detail, value, limit, "ms"))
    return found
