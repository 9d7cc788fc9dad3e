"""How long a model takes to load: from where the weights lie, through the host, to the device.

Two stages: reading (EBS volume, local NVMe, another machine, S3) and the copy over PCIe. Good
loaders overlap them, simple ones do one after the other: the low end is the slower stage alone at
its best rate, the high end both in turn at their worst. The middle reads at the rate a single
start sees (an instance's burst, a volume's own throughput) and overlaps.

Not inside: starting the process, compiling, capturing CUDA graphs, and the first touch of a volume
made from a snapshot, whose blocks come from S3 one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType

from labkit.catalog.specs import Instance, Provenance
from labkit.contract.errors import UnknownNameError
from labkit.sizing.bands import Band
from labkit.sizing.inputs import SizingError, require_positive
from labkit.sizing.instance_io import PROVENANCE, InstanceIO, instance_io
from labkit.sizing.units import MIB, plural

GP3_LEAST_MIB = 125.0
GP3_MOST_MIB = 2_000.0
GP3 = Provenance(
    source="Amazon EC2 API reference, ModifyVolume and CreateVolume: gp3 throughput, default and "
    "least 125 MiB/s, most 2,000 MiB/s (1,000 in older pages and SDKs)",
    as_of=date(2026, 11, 30),
    expires=date(2027, 5, 29),
)
# One drive read from end to end. The middle is one public run (300 GB drive of an m5d.4xlarge,
# 0.69 to 0.82 GB/s); AWS publishes operations per second, not bytes, so the ends are a prior.
DRIVE_RATE = Band(0.5e9, 0.8e9, 2.0e9)
DRIVE_SOURCE = "prior: one public run on a 300 GB drive, 0.69 to 0.82 GB/s; ends assumed"
# Share of a PCIe link's one-way rate: from pageable memory, usual, from pinned memory.
PCIE_SHARE = Band(0.3, 0.65, 0.85)
# One way, of cards whose listed link is NVLink: PCIe 3.0, 4.0 and 5.0 at 16 lanes.
_PCIE_BYTES_PER_S: Mapping[str, float] = MappingProxyType(
    {
        "V100": 16e9,
        "A100-40GB": 32e9,
        "A100-80GB": 32e9,
        "H100": 64e9,
        "H200": 64e9,
        "B200": 64e9,
        "B300": 64e9,
    }
)


@dataclass(frozen=True, slots=True)
class LoadStage:
    """One stage: seconds as a band (low = fast), and where its rates come from."""

    name: str
    seconds: Band
    source: str


def load_seconds(
    weight_bytes: float,
    source: str,
    instance: Instance,
    *,
    volume_mib_per_s: float = GP3_LEAST_MIB,
    devices: int = 1,
) -> Band:
    """Seconds until `weight_bytes` of weights lie on the devices of `instance`; kind "prior".

    `source`: "ebs" (one gp3 volume of `volume_mib_per_s`), "nvme" (the instance's own drives),
    "network" (another machine, as fast as this one's network), "s3" (same network; the slow end
    first writes a copy to the volume). `devices` GPUs load their share at the same time.
    Raises `UnknownNameError` for another source, `SizingError` for sizes that make no sense and
    for an instance without that source.
    """
    stages = load_stages(
        weight_bytes, source, instance, volume_mib_per_s=volume_mib_per_s, devices=devices
    )
    return Band(
        max(stage.seconds.low for stage in stages),
        max(stage.seconds.mid for stage in stages),
        sum(stage.seconds.high for stage in stages),
    )


def load_stages(
    weight_bytes: float,
    source: str,
    instance: Instance,
    *,
    volume_mib_per_s: float = GP3_LEAST_MIB,
    devices: int = 1,
) -> tuple[LoadStage, ...]:
    """The stages that `load_seconds` puts together; the copy is missing where no link is known."""
    require_positive("weight_bytes", weight_bytes)
    if source not in _READERS:
        raise UnknownNameError("source", source, _READERS)
    if not GP3_LEAST_MIB <= volume_mib_per_s <= GP3_MOST_MIB:
        raise SizingError(
            f"volume_mib_per_s of a gp3 volume must lie between {GP3_LEAST_MIB:,.0f} and "
            f"{GP3_MOST_MIB:,.0f}, not {volume_mib_per_s:,.0f}."
        )
    if not 1 <= devices <= max(1, instance.accelerator_count):
        raise SizingError(
            f"{instance.name} has {instance.accelerator_count} devices to load, not {devices}."
        )
    read = _READERS[source](weight_bytes, instance, volume_mib_per_s * MIB)
    link = _pcie_bytes_per_s(instance)
    if not link:
        return (read,)
    copy = LoadStage(
        "host to device",
        PCIE_SHARE.times(link * devices).under(weight_bytes),
        f"prior: 30 to 85 % of {link / 1e9:g} GB/s PCIe one way, {devices} at once",
    )
    return (read, copy)


def _from_ebs(size: float, instance: Instance, volume: float) -> LoadStage:
    limits = _limits(instance)
    if limits is None:
        return LoadStage("gp3 volume", Band(1, 1, 1).times(size / volume), GP3.source)
    burst, baseline = min(volume, limits.ebs_most), min(volume, limits.ebs_baseline)
    return LoadStage(
        "gp3 volume",
        Band(size / burst, size / burst, size / baseline),
        f"{GP3.source}; {PROVENANCE.source}: {instance.name} reads "
        f"{limits.ebs_baseline / 1e6:,.1f} to {limits.ebs_most / 1e6:,.1f} MB/s",
    )


def _from_nvme(size: float, instance: Instance, volume: float) -> LoadStage:
    limits = _limits(instance)
    if not instance.nvme_bytes:
        raise SizingError(f"{instance.name} has no local NVMe drive.")
    drives = max(1, limits.drives if limits else 1)
    return LoadStage(
        "local NVMe",
        Band(
            size / (DRIVE_RATE.high * drives),
            size / (DRIVE_RATE.mid * drives),
            size / DRIVE_RATE.low,
        ),
        f"{DRIVE_SOURCE}; {plural(drives, 'drive')} striped, slow end: one alone",
    )


def _from_network(size: float, instance: Instance, volume: float) -> LoadStage:
    baseline, most = _network(instance)
    return LoadStage(
        "network",
        Band(size / most, size / math.sqrt(most * baseline), size / baseline),
        f"{PROVENANCE.source}: {baseline * 8 / 1e9:g} Gbit/s baseline, {most * 8 / 1e9:g} most; "
        "middle: geometric mean",
    )


def _from_s3(size: float, instance: Instance, volume: float) -> LoadStage:
    get = _from_network(size, instance, volume)
    limits = _limits(instance)
    written = min(volume, limits.ebs_baseline) if limits else volume
    seconds = Band(get.seconds.low, get.seconds.mid, get.seconds.high + size / written)
    return LoadStage(
        "S3", seconds, f"{get.source}; many connections; slow end: a copy to the volume first"
    )


_READERS: Mapping[str, Callable[[float, Instance, float], LoadStage]] = MappingProxyType(
    {"ebs": _from_ebs, "nvme": _from_nvme, "network": _from_network, "s3": _from_s3}
)
SOURCES = tuple(_READERS)


def _limits(instance: Instance) -> InstanceIO | None:
    return instance_io(instance.name)


def _network(instance: Instance) -> tuple[float, float]:
    """(baseline, most) bytes/s; raises `SizingError` where neither table knows it."""
    limits = _limits(instance)
    if limits is not None and limits.network_baseline > 0:
        return limits.network_baseline, limits.network_most
    if instance.network_bytes_per_s > 0:
        return instance.network_bytes_per_s, instance.network_bytes_per_s
    raise SizingError(f"No source gives the network rate of {instance.name}.")


def _pcie_bytes_per_s(instance: Instance) -> float:
    """One way, host to one device; 0 where no source gives it (Neuron) or there is no device."""
    accelerator = instance.accelerator
    if accelerator is None or instance.kind == "neuron":
        return 0.0
    if accelerator.name in _PCIE_BYTES_PER_S:
        return _PCIE_BYTES_PER_S[accelerator.name]
    # The catalogue's PCIe rates count both directions.
    return (instance.link_bytes_per_s or accelerator.link_bytes_per_s) / 2
