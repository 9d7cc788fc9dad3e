"""The device that one rank of a tensor-parallel group is: a GPU, a NeuronCore, or the host's CPU.

A Neuron chip is divided evenly among its cores. A CPU instance is one device with the instance's
memory and its fair share of the socket's bandwidth. What no source states is 0 here and said so
in the estimate: the share of bandwidth of a fractional GPU, the FLOP/s of a CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from labkit.catalog.specs import Accelerator, Instance, NumberFormat
from labkit.sizing.identity import remembered
from labkit.sizing.roofline import compute_dtype


@dataclass(frozen=True, slots=True)
class Device:
    """One rank's hardware. bytes, bytes/s; 0 = unknown. `link` is to the other ranks."""

    noun: str
    count: int
    usable_bytes: float
    bandwidth: float
    share: float  # of the accelerator's FLOP/s: 1 on a GPU, 1/cores on a NeuronCore
    accelerator: Accelerator | None
    link: str
    link_bytes_per_s: float
    cores_per_chip: int = 1
    cpu_flops: Mapping[str, float] | None = None  # dense FLOP/s of a CPU by format

    def peak(self, fmt: NumberFormat) -> float:
        """Dense FLOP/s of this device on weights stored as `fmt`; 0 where unknown.

        Raises `SizingError` where the rates are known and the format is not among them.
        """
        if self.accelerator is None and self.cpu_flops:
            return cpu_peak(self.cpu_flops, fmt)
        if self.accelerator is None or not self.rates_known:
            return 0.0
        return self.accelerator.peak_flops(compute_dtype(self.accelerator, fmt)) * self.share

    @property
    def rates_known(self) -> bool:
        """Whether any FLOP/s figure of this device is known."""
        return self.share > 0 and self.accelerator is not None and self.accelerator.rates_known


def cpu_peak(flops: Mapping[str, float], fmt: NumberFormat) -> float:
    """Dense FLOP/s of a CPU on weights stored as `fmt`.

    Its rate in that format; weight-only and unlisted formats are widened to the faster of the
    16-bit formats, else to fp32.
    """
    if not fmt.weight_only and flops.get(fmt.name):
        return flops[fmt.name]
    return max(flops.get("bf16", 0.0), flops.get("fp16", 0.0)) or flops.get("fp32", 0.0)


@remembered(objects=1)
def device_of(instance: Instance) -> Device:
    """What one rank runs on, on this instance type."""
    accelerator = instance.accelerator
    if accelerator is None:
        return Device(
            noun="CPU",
            count=1,
            usable_bytes=float(instance.host_memory_bytes),
            bandwidth=instance.cpu_bandwidth_bytes_per_s,
            share=0.0,
            accelerator=None,
            link="",
            link_bytes_per_s=0.0,
            cpu_flops=instance.cpu_flops or None,
        )
    usable = float(instance.accelerator_usable_bytes or accelerator.usable_bytes)
    if instance.kind == "neuron":
        cores = accelerator.cores
        return _shared(
            accelerator,
            "NeuronCore",
            instance.neuron_cores or instance.accelerator_count * cores,
            usable / cores,
            accelerator.bandwidth_bytes_per_s / cores,
            1.0 / cores,
            # A single chip has no link of its own to others: its cores talk through the chip.
            "neuronlink",
            instance.link_bytes_per_s or accelerator.link_bytes_per_s,
            cores,
        )
    whole = instance.accelerator_fraction >= 1.0
    return _shared(
        accelerator,
        accelerator.name if whole else _slice(instance, accelerator),
        instance.accelerator_count,
        usable,
        # A fraction's share of bandwidth and FLOP/s is published nowhere: unknown, not guessed.
        accelerator.bandwidth_bytes_per_s if whole else 0.0,
        1.0 if whole else 0.0,
        instance.link or accelerator.link,
        instance.link_bytes_per_s or accelerator.link_bytes_per_s,
        1,
    )


@remembered(objects=1)
def _shared(
    accelerator: Accelerator,
    noun: str,
    count: int,
    usable_bytes: float,
    bandwidth: float,
    share: float,
    link: str,
    link_bytes_per_s: float,
    cores_per_chip: int,
) -> Device:
    """One object for all instance types with this device: what depends on it is worked out once."""
    return Device(
        noun=noun,
        count=count,
        usable_bytes=usable_bytes,
        bandwidth=bandwidth,
        share=share,
        accelerator=accelerator,
        link=link,
        link_bytes_per_s=link_bytes_per_s,
        cores_per_chip=cores_per_chip,
    )


def device_from(accelerator: Accelerator, count: int = 1, link: str | None = None) -> Device:
    """The same for accelerators that no instance type names: a published measurement's machine.

    `count` accelerators of which each is one device, or `cores` devices on a Neuron chip; `link`
    None is the accelerator's own.
    """
    neuron = accelerator.cores > 1
    return Device(
        noun="NeuronCore" if neuron else accelerator.name,
        count=count * accelerator.cores,
        usable_bytes=accelerator.usable_bytes / accelerator.cores,
        bandwidth=accelerator.bandwidth_bytes_per_s / accelerator.cores,
        share=1.0 / accelerator.cores,
        accelerator=accelerator,
        link="neuronlink" if neuron else link or accelerator.link,
        link_bytes_per_s=accelerator.link_bytes_per_s,
        cores_per_chip=accelerator.cores,
    )


def _slice(instance: Instance, accelerator: Accelerator) -> str:
    return f"{accelerator.name} slice (1/{1 / instance.accelerator_fraction:.0f})"
