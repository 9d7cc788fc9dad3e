"""The time of one engine step as a sum of named terms, each at most as fast as its roof.

step = weights + cache + FLOPs + all-reduces + host: see `efficiency` for each. The terms add up:
published steps near the ridge (a 128-token prefill on an A100) take bytes / bandwidth plus FLOPs /
peak, not the later of the two. A sum of terms that are each above their roof is above the roofline.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.specs import NumberFormat
from labkit.sizing.bands import Band
from labkit.sizing.device import Device
from labkit.sizing.efficiency import Efficiency, Spread
from labkit.sizing.identity import remembered
from labkit.sizing.overlap import hidden_seconds
from labkit.sizing.work import Work


@dataclass(frozen=True, slots=True)
class StepTime:
    """The terms of one step in seconds (central values), and what they were made of (per device).

    `compute` is None where no source gives the device's FLOP/s. `overhead` is the host time that
    shows; `hidden` what reading and multiplying overlap in a prefill (`overlap`), which the sum
    leaves out. `spread` turns the sum into a band.
    """

    work: Work
    weights: float
    cache: float
    compute: float | None
    communication: float
    overhead: float
    hidden: float
    roofline: float
    spread: Spread

    @property
    def memory(self) -> float:
        """Seconds of reading device memory: weights and cache."""
        return self.weights + self.cache

    @property
    def seconds(self) -> float:
        """The central value: all terms together, never below the roofline."""
        busy = self.memory + (self.compute or 0.0) - self.hidden
        total = busy + self.communication + self.overhead
        return max(total, self.roofline)

    @property
    def total(self) -> Band:
        """Seconds of the step with its range; the low end stops at the roofline."""
        mid = self.seconds
        return Band(
            max(mid * self.spread.low, self.roofline), mid, mid * self.spread.high, self.spread.kind
        )

    def at(self, end: str) -> float:
        """Seconds at one end of the band: "low", "mid" or "high"."""
        return float(getattr(self.total, end))

    @property
    def bound(self) -> str:
        """Which term is largest: memory, compute, communication or overhead."""
        terms = {
            "memory": self.memory,
            "compute": self.compute or 0.0,
            "communication": self.communication,
            "overhead": self.overhead,
        }
        return max(terms, key=terms.__getitem__)


def step_time(work: Work, device: Device, fmt: NumberFormat, efficiency: Efficiency) -> StepTime:
    """The time of `work` on `device`, whose bandwidth must be known (above 0)."""
    prefill = work.prompts > 0
    peak = _peak(device, fmt)
    reading, multiplying = work.weight_bytes + work.kv_bytes, 0.0
    compute = None
    if peak > 0:
        multiplying = work.flops / peak
        compute = multiplying / _mfu(work, efficiency)
    weights = work.weight_bytes / (device.bandwidth * efficiency.mbu)
    cache = work.kv_bytes / (device.bandwidth * efficiency.mbu_kv)
    communication = work.all_reduces * efficiency.link.seconds(
        work.message_bytes, work.devices, device.link_bytes_per_s
    )
    hidden = hidden_seconds(weights, compute) if prefill and compute else 0.0
    host = efficiency.step_seconds + work.layers * efficiency.layer_seconds
    if efficiency.hides_host:
        host = max(0.0, host - (weights + cache + (compute or 0.0) - hidden) - communication)
    extra = efficiency.prompt_seconds if prefill else efficiency.sequence_seconds * work.sequences
    return StepTime(
        work=work,
        weights=weights,
        cache=cache,
        compute=compute,
        communication=communication,
        overhead=host + extra,
        hidden=hidden,
        roofline=max(reading / device.bandwidth, multiplying),
        spread=efficiency.spread(prefill=prefill, sequences=work.sequences, devices=work.devices),
    )


@remembered(objects=2)
def _peak(device: Device, fmt: NumberFormat) -> float:
    return device.peak(fmt)


def _mfu(work: Work, efficiency: Efficiency) -> float:
    if not work.prompts:
        return efficiency.mfu_decode
    return efficiency.mfu * (efficiency.batched_prefill_factor if work.prompts > 1 else 1.0)
