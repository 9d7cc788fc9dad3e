"""A replica of an estimate, three times: as predicted, and at both ends of what is not known.

The fast end has the step model's shortest times (never shorter than the roofline) and the largest
KV cache, the slow end the longest times and the smallest cache.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from labkit.sizing.estimate import Estimate
from labkit.sizing.inputs import SizingError
from labkit.sizing.kv import kv_bytes_per_sequence
from labkit.sizing.serving.limits import Limits
from labkit.sizing.serving.replica import Replica, replica_of
from labkit.sizing.serving.steps import ScaledSteps, StepTimes
from labkit.sizing.step_model import StepModel, step_model

_NO_LIMIT = 1e12  # tokens, for a model whose cache does not grow


@dataclass(frozen=True, slots=True)
class Scenarios:
    """The replica as predicted (`mid`) and at the ends. None: not even one sequence fits there.

    kind: "fit" or "prior", of the step times' range.
    """

    fast: Replica
    mid: Replica
    slow: Replica | None
    kind: str


@dataclass(frozen=True, slots=True)
class _Roofline:
    """The hardware's own bound of a step: the later of reading and multiplying."""

    reading: StepModel
    multiplying: StepModel

    def mixed_seconds(
        self,
        prefill_tokens: float,
        prefill_pairs: float,
        decode_sequences: float,
        decode_tokens: float,
    ) -> float:
        args = prefill_tokens, prefill_pairs, decode_sequences, decode_tokens
        return max(self.reading.mixed_seconds(*args), self.multiplying.mixed_seconds(*args))


def scenarios_of(estimate: Estimate, limits: Limits) -> Scenarios:
    """The replica of an estimate that was timed (with prefill), under these limits.

    Raises `SizingError` where it was not, or where a mean sequence does not fit the cache.
    """
    e = estimate
    if e.efficiency is None or e.ttft_ms is None:
        raise SizingError(f"{e.model.name} on {e.instance.name} has no step time to queue for.")
    steps = step_model(e.model, e.device, e.config, e.tensor_parallel_size, e.efficiency)
    decode = e.efficiency.spread(
        prefill=False, sequences=limits.slots, devices=e.tensor_parallel_size
    )
    prefill = e.efficiency.spread(prefill=True, sequences=1, devices=e.tensor_parallel_size)
    roof = _roofline(e)

    def replica(times: StepTimes, pool_bytes: float) -> Replica:
        return replica_of(
            times,
            e.workload,
            limits.slots,
            kv_tokens_of(e, pool_bytes),
            max_batched_tokens=limits.batched_tokens,
            block_tokens=e.config.block_tokens if e.engine.paged else 1,
        )

    pool = e.memory.pool
    slow = None
    if kv_tokens_of(e, pool.low) >= e.workload.full_length:
        slow = replica(ScaledSteps(steps, decode.high, prefill.high), pool.low)
    return Scenarios(
        fast=replica(ScaledSteps(steps, decode.low, prefill.low, roof), pool.high),
        mid=replica(steps, pool.mid),
        slow=slow,
        kind=decode.kind,
    )


def kv_tokens_of(estimate: Estimate, pool_bytes: float) -> float:
    """Tokens that a pool of so many bytes per device holds, of sequences of mean resident length.

    Where some layers keep a window or a constant state, a token's bytes depend on the length; the
    mean context of the workload's decode steps is taken.
    """
    context = estimate.workload.mean_context
    each = kv_bytes_per_sequence(
        estimate.model,
        estimate.config.kv_format,
        context,
        tensor_parallel_size=estimate.tensor_parallel_size,
    )
    if each <= 0:
        return _NO_LIMIT
    return min(max(pool_bytes, 0.0) / each * context, _NO_LIMIT)


def _roofline(e: Estimate) -> _Roofline:
    """The step model with every share at 1 and no host or link time, read apart from multiplied."""
    if e.efficiency is None:
        raise SizingError(f"{e.model.name} on {e.instance.name} has no step time.")
    perfect = replace(
        e.efficiency,
        mbu=1.0,
        mbu_kv=1.0,
        mfu=1.0,
        mfu_decode=1.0,
        layer_seconds=0.0,
        step_seconds=0.0,
        prompt_seconds=0.0,
        sequence_seconds=0.0,
        hides_host=False,
    )
    ideal = step_model(e.model, e.device, e.config, e.tensor_parallel_size, perfect)
    ideal = replace(ideal, latency=0.0, wire=0.0)
    return _Roofline(
        replace(ideal, token=0.0, head=0.0, pair=0.0, attention=(), attention_constant=0.0),
        replace(ideal, weights=0.0, experts=0.0, cache=(), cache_constant=0.0),
    )
