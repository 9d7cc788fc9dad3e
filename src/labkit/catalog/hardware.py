"""Accelerators, CPUs, instance types and prices: table rows to records, in bytes and per second.

Table units are the vendors' (MiB, GB/s = 1e9 bytes/s, Gbit/s, TFLOP/s = 1e12); records hold
bytes, bytes/s and FLOP/s.
"""

from __future__ import annotations

from collections.abc import Mapping

from labkit.catalog import snapshots
from labkit.catalog.errors import CatalogError
from labkit.catalog.provenance import PRICE_LIFE, provenance, sources
from labkit.catalog.specs import Accelerator, Cpu, Instance, Price

MIB = 2**20
GIB = 2**30
GB = 10**9
TERA = 10**12
_RATES = {
    "fp32": "fp32_tflops",
    "fp16": "fp16_tflops",
    "bf16": "bf16_tflops",
    "fp8": "fp8_tflops",
    "int8": "int8_tops",
}


def accelerators(snapshot: str) -> dict[str, Accelerator]:
    """Every accelerator of the snapshot by its name."""
    known = sources(snapshot)
    return {
        row["name"]: Accelerator(
            name=row["name"],
            vendor=row["vendor"],
            architecture=row["architecture"],
            compute_capability=row["compute_capability"],
            memory_bytes=int(row["memory_mib"]) * MIB,
            usable_bytes=int(row["usable_mib"]) * MIB,
            engine_visible_bytes=round(float(row["engine_visible_gib"] or 0) * GIB),
            memory_kind=row["memory_kind"],
            bandwidth_bytes_per_s=_scaled(row["bandwidth_gb_per_s"], GB),
            flops={name: _scaled(row[key], TERA) for name, key in _RATES.items() if row[key]},
            link=row["link"],
            link_bytes_per_s=_scaled(row["link_gb_per_s"], GB),
            weight_formats=tuple(row["weight_formats"].split()),
            aws_families=tuple(row["aws_families"].split()),
            cores=int(row["cores"]),
            aliases=tuple(a for a in row["aliases"].split("|") if a),
            provenance=provenance(row, known),
        )
        for row in snapshots.rows(snapshot, "accelerators")
    }


def cpus(snapshot: str) -> dict[str, Cpu]:
    """Every CPU of the snapshot by its name."""
    known = sources(snapshot)
    return {
        row["name"]: Cpu(
            name=row["name"],
            vendor=row["vendor"],
            architecture=row["architecture"],
            cores=int(row["cores_per_socket"]),
            threads_per_core=int(row["threads_per_core"]),
            clock_hz=_scaled(row["clock_ghz"] or "0", GB),
            bandwidth_bytes_per_s=_scaled(row["bandwidth_gb_per_s"], GB),
            flop_per_cycle={
                name: float(row[f"{name}_per_cycle"])
                for name in ("fp32", "fp16", "bf16", "int8")
                if row[f"{name}_per_cycle"]
            },
            aws_families=tuple(row["aws_families"].split()),
            provenance=provenance(row, known),
            aliases=tuple(a for a in row["aliases"].split("|") if a),
        )
        for row in snapshots.rows(snapshot, "cpus")
    }


def _cpu_flops(cpu: Cpu | None, vcpus: int) -> dict[str, float]:
    share = cpu.sockets(vcpus) if cpu else 0.0
    return {name: rate * share for name, rate in cpu.flops.items()} if cpu else {}


def prices(snapshot: str) -> dict[str, tuple[Price, ...]]:
    """Every price of the snapshot by instance name: on-demand, spot and sagemaker."""
    known = sources(snapshot)
    found: dict[str, list[Price]] = {}
    for row in snapshots.rows(snapshot, "prices"):
        found.setdefault(row["name"], []).append(
            Price(
                kind=row["kind"],
                usd_per_hour=float(row["usd_per_hour"]),
                region=row["region"],
                low=float(row["low"]) if row["low"] else None,
                high=float(row["high"]) if row["high"] else None,
                provenance=provenance(row, known, PRICE_LIFE),
            )
        )
    return {name: tuple(entries) for name, entries in found.items()}


def instances(
    snapshot: str,
    devices: Mapping[str, Accelerator],
    hourly: Mapping[str, tuple[Price, ...]],
    processors: Mapping[str, Cpu],
) -> dict[str, Instance]:
    """Every instance type of the snapshot by its name, with its accelerator and prices.

    `processors` maps the CPU names of the instance table to the CPUs' records.
    """
    known = sources(snapshot)
    table = {}
    for row in snapshots.rows(snapshot, "instances"):
        name, device = row["name"], None
        if row["accelerator"]:
            device = devices.get(row["accelerator"])
            if device is None:
                raise CatalogError(f"{name} names the unlisted accelerator {row['accelerator']!r}.")
        fraction = float(row["accelerator_fraction"])
        table[name] = Instance(
            name=name,
            family=row["family"],
            kind=row["kind"],
            vcpus=int(row["vcpus"]),
            host_memory_bytes=int(row["memory_mib"]) * MIB,
            accelerator=device,
            accelerator_count=int(row["accelerator_count"]),
            accelerator_fraction=fraction,
            accelerator_memory_bytes=int(device.memory_bytes * fraction) if device else 0,
            accelerator_usable_bytes=int(device.usable_bytes * fraction) if device else 0,
            neuron_cores=int(row["neuron_cores"]),
            nvme_bytes=int(row["nvme_gb"]) * GB,
            network_bytes_per_s=_scaled(row["network_gbps"], GB) / 8,
            link=row["link"],
            link_bytes_per_s=_scaled(row["link_gb_per_s"], GB),
            cpu=row["cpu"],
            cpu_bandwidth_bytes_per_s=_scaled(row["cpu_bandwidth_gb_per_s"], GB),
            cpu_flops=_cpu_flops(processors.get(row["cpu"]), int(row["vcpus"])),
            sagemaker_hosting=row["sagemaker_hosting"] == "yes",
            prices=hourly.get(name, ()),
            provenance=provenance(row, known),
        )
    return table


def _scaled(text: str, unit: int) -> float:
    # Rounding keeps 1978.9e12 from becoming 1978900000000000.2.
    return float(round(float(text) * unit))
