"""The time of one engine step: bytes, FLOPs, all-reduces and host time, each with its range.

step = max(bytes / (bandwidth x MBU), FLOPs / (peak x MFU)) + all-reduces + layers x host time.
Low is the fastest end. MBU and MFU are at most 1 and the other terms at least 0, so no step is
faster than the roofline; `StepTime.total` guards that all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.specs import ModelSpec
from labkit.sizing.bands import Band, StepPrior
from labkit.sizing.device import Device
from labkit.sizing.flops import decode_flops, prefill_flops
from labkit.sizing.inputs import EngineConfig
from labkit.sizing.kv import kv_bytes_per_sequence
from labkit.sizing.parallel import communication_seconds
from labkit.sizing.weights import device_streamed_bytes

_NOTHING = Band(0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class StepTime:
    """The terms of one step in seconds, and what they were made of (per device)."""

    weight_bytes: float
    kv_bytes: float
    flops: float
    memory: Band
    compute: Band | None  # None: no source gives this device's FLOP/s
    communication: Band
    overhead: Band
    roofline: float

    @property
    def total(self) -> Band:
        """Seconds of the step: the later of memory and compute, plus what cannot overlap."""
        compute = self.compute or _NOTHING
        return Band(
            self._sum(max(self.memory.low, compute.low), self.communication.low, self.overhead.low),
            self._sum(max(self.memory.mid, compute.mid), self.communication.mid, self.overhead.mid),
            self._sum(
                max(self.memory.high, compute.high), self.communication.high, self.overhead.high
            ),
        )

    @property
    def bound(self) -> str:
        """Which term is largest at mid: memory, compute, communication or overhead."""
        terms = {
            "memory": self.memory.mid,
            "compute": self.compute.mid if self.compute else 0.0,
            "communication": self.communication.mid,
            "overhead": self.overhead.mid,
        }
        return max(terms, key=terms.__getitem__)

    def _sum(self, roof: float, communication: float, overhead: float) -> float:
        return max(roof + communication + overhead, self.roofline)


def decode_step(
    model: ModelSpec,
    device: Device,
    config: EngineConfig,
    prior: StepPrior,
    *,
    batch: int,
    context: float,
    tensor_parallel_size: int,
) -> StepTime:
    """One decode step: `batch` sequences, each reading `context` cached tokens, one new token each.

    `device.bandwidth` must be known (above 0).
    """
    n = tensor_parallel_size
    weights = device_streamed_bytes(model, config.weight_format, batch, n)
    cache = batch * kv_bytes_per_sequence(model, config.kv_format, context, tensor_parallel_size=n)
    return _step(
        model,
        device,
        config,
        prior,
        weight_bytes=weights,
        kv_bytes=cache,
        flops=decode_flops(model, batch, context) / n,
        tokens=batch,
        n=n,
    )


def prefill_step(
    model: ModelSpec,
    device: Device,
    config: EngineConfig,
    prior: StepPrior,
    *,
    prompt_tokens: int,
    cached_tokens: int,
    tensor_parallel_size: int,
) -> StepTime:
    """The prefill of one prompt, of which a prefix cache already holds `cached_tokens`."""
    n = tensor_parallel_size
    new = prompt_tokens - cached_tokens
    weights = device_streamed_bytes(model, config.weight_format, new, n)
    cache = kv_bytes_per_sequence(model, config.kv_format, prompt_tokens, tensor_parallel_size=n)
    flops = prefill_flops(model, new, cached_tokens=cached_tokens) / n
    return _step(
        model,
        device,
        config,
        prior,
        weight_bytes=weights,
        kv_bytes=cache,
        flops=flops,
        tokens=new,
        n=n,
    )


def _step(
    model: ModelSpec,
    device: Device,
    config: EngineConfig,
    prior: StepPrior,
    *,
    weight_bytes: float,
    kv_bytes: float,
    flops: float,
    tokens: int,
    n: int,
) -> StepTime:
    peak = device.peak(config.weight_format)
    reading = (weight_bytes + kv_bytes) / device.bandwidth
    multiplying = flops / peak if peak > 0 else 0.0
    return StepTime(
        weight_bytes=weight_bytes,
        kv_bytes=kv_bytes,
        flops=flops,
        memory=prior.mbu.under(reading),
        compute=prior.mfu.under(multiplying) if peak > 0 else None,
        communication=communication_seconds(model, tokens, n, device.link, device.link_bytes_per_s),
        overhead=prior.layer_seconds.times(model.layers),
        roofline=max(reading, multiplying),
    )
