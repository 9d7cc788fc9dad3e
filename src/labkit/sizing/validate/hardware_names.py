"""Hardware as measurement tables name it -> the catalogue's accelerator or CPU, as a `Device`.

"A100-SXM4-80GB", "NVIDIA L4", "H100-PCIe?", "Inferentia2", "CPU Sapphire Rapids 2S". A trailing
question mark is the table's own doubt: the name is taken, and the doubt recorded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from labkit.catalog import Catalog
from labkit.catalog.specs import Accelerator, Cpu, Instance
from labkit.contract.errors import LabkitError, nearest
from labkit.sizing.device import Device, device_from, device_of
from labkit.sizing.validate.result import Unsupported

_MAKERS = re.compile(r"^(?:nvidia|tesla|aws|amazon|geforce|intel|amd|gpu)\s+", re.IGNORECASE)
_CPU = re.compile(r"^cpu\b[\s:_-]*", re.IGNORECASE)
_SOCKETS = re.compile(r"(?:^|[\s(])(?:(\d)\s*[xX]\s+|x?(\d)\s*(?:S|sockets?)\b)", re.ASCII)
# Spellings that drop or reorder parts of a card's name; keys hold letters and digits only.
_CARDS: Mapping[str, str] = {
    "a100sxm80gb": "A100-80GB",
    "a10080gbsxm4": "A100-80GB",
    "a100sxm480gb": "A100-80GB",
    "a100sxm40gb": "A100-40GB",
    "a10040gbsxm4": "A100-40GB",
    "a100sxm440gb": "A100-40GB",
    "a100pcie80gb": "A100-80GB-PCIe",
    "a10080gbpcie": "A100-80GB-PCIe",
    "a100pcie40gb": "A100-40GB-PCIe",
    "h100sxm5": "H100",
    "h100sxm80gb": "H100",
    "h10080gbsxm": "H100",
    "h10080gbsxm5": "H100",
    "h10080gbhbm3": "H100",
    "h100pcie80gb": "H100-PCIe",
    "h10080gbpcie": "H100-PCIe",
    "h200sxm": "H200",
    "h200sxm141gb": "H200",
    "h200141gb": "H200",
    "b200sxm": "B200",
    "v100sxm2": "V100",
    "v100sxm216gb": "V100",
    "l40sgpu": "L40S",
    "trn1": "Trainium",
    "trn2": "Trainium2",
    "inf2": "Inferentia2",
    "inferentia2": "Inferentia2",
    "rtxpro6000blackwellserveredition": "RTX PRO 6000",
    "rtxpro6000": "RTX PRO 6000",
    "g4dn": "T4",
    "g5": "A10G",
    "g6": "L4",
    "g6e": "L40S",
}
# A name that means several cards; the one taken, and why it is said.
_VAGUE: Mapping[str, tuple[str, str]] = {
    "a10080gb": ("A100-80GB", "SXM is assumed: PCIe is 5 % slower in memory"),
    "a10040gb": ("A100-40GB", "SXM is assumed"),
    "h100": ("H100", "SXM is assumed"),
    "h10080gb": ("H100", "SXM is assumed"),
    "a100pcie": ("A100-80GB-PCIe", "80 GB is assumed"),
}
_AMBIGUOUS: Mapping[str, str] = {
    "a100": "A100-40GB-SXM, A100-80GB-SXM, A100-40GB-PCIe or A100-80GB-PCIe",
    "a100sxm": "A100-40GB-SXM or A100-80GB-SXM",
    "a100sxm4": "A100-40GB-SXM or A100-80GB-SXM",
}


@dataclass(frozen=True, slots=True)
class NamedHardware:
    """What a row ran on. `accelerator` or `cpu` is set; `count` chips, cards or sockets.

    `instance` is the AWS type where the row names one that the catalogue has. `cores` CPU cores
    were used (0: an accelerator). `cpu_flops`: their dense FLOP/s by format.
    """

    device: Device
    accelerator: Accelerator | None
    cpu: Cpu | None
    instance: Instance | None
    count: int
    cores: int = 0
    cpu_flops: Mapping[str, float] | None = None
    assumptions: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The catalogue's name of the accelerator or CPU."""
        named = self.accelerator or self.cpu
        return named.name if named else ""


def is_cpu(written: str) -> bool:
    """Whether the text names a CPU: "CPU Graviton4", "Intel Xeon 8488C", "c7i.24xlarge"."""
    name = _bare(written)
    if _CPU.match(name) or re.search(r"\b(?:xeon|epyc|graviton)", name, re.IGNORECASE):
        return True
    instance = instance_of(name)
    return instance is not None and instance.accelerator is None


def instance_of(written: str) -> Instance | None:
    """The AWS instance type that a cell starts with ("ml.g5.12xlarge (2 of 4 GPUs)"), or None."""
    words = written.split()
    try:
        return Catalog.load().instance(words[0]) if words else None
    except LabkitError:
        return None


def hardware_of(
    written: str, count: int, instance_type: str = "", cores: int | None = None
) -> NamedHardware:
    """The device of a row; `count` accelerators or sockets, `cores` CPU cores that worked.

    Raises `Unsupported` for hardware that the catalogue lacks, with the nearest names.
    """
    if not written.strip():
        raise Unsupported("gpu is not stated.")
    doubt, name = _undoubted(_bare(written))
    # A table may give the instance type where the card should stand.
    rented = instance_of(name)
    instance = instance_of(instance_type) or rented
    if rented is not None:
        named = rented.accelerator
        name = named.name if named else f"CPU {rented.cpu}"
    if is_cpu(name):
        return _cpu(name, count, instance, cores, doubt)
    card, assumption = _card(name, written)
    said = tuple(text for text in (doubt, assumption) if text)
    # The instance knows its links (PCIe x8 on AWS) where it holds that very card, whole.
    same = instance is not None and instance.accelerator is card
    whole = same and instance is not None and instance.accelerator_fraction >= 1.0
    device = device_from(card, count)
    if whole and instance is not None and count <= instance.accelerator_count:
        device = device_of(instance)
    return NamedHardware(
        device=device,
        accelerator=card,
        cpu=None,
        instance=instance if whole else None,
        count=count,
        assumptions=said,
    )


def _bare(written: str) -> str:
    """Without a count in front ("8x A100") and a size in brackets behind ("A10G (24 GB)")."""
    name = re.sub(r"^\d{1,4}\s*[x×]\s*", "", written.strip(), flags=re.IGNORECASE)
    return re.sub(r"\s*\(\d+\s*Gi?B\)\s*$", "", name, flags=re.IGNORECASE)


def _undoubted(written: str) -> tuple[str, str]:
    name = written.rstrip("? ").strip()
    doubt = f"gpu is written {written[:40]!r}: taken as {name[:40]}" if "?" in written else ""
    return doubt, name


def _card(name: str, written: str) -> tuple[Accelerator, str]:
    catalog = Catalog.load()
    bare = name
    while _MAKERS.match(bare):
        bare = _MAKERS.sub("", bare, count=1)
    key = re.sub(r"[^a-z0-9]", "", bare.casefold())
    if key in _VAGUE:
        card, why = _VAGUE[key]
        return catalog.accelerator(card), f"gpu is written {written[:40]!r}: {why}"
    if key in _AMBIGUOUS:
        raise Unsupported(f"gpu {written[:40]!r} can be {_AMBIGUOUS[key]}: it does not say which.")
    unsized = re.sub(r"[\s-]+\d+\s*Gi?B$", "", bare, flags=re.IGNORECASE)
    alone = re.sub(r"[^a-z0-9]", "", unsized.casefold())
    sized = unsized if unsized != bare and not {alone} & {*_VAGUE, *_AMBIGUOUS} else ""
    for candidate in (name, bare, _CARDS.get(key, ""), sized):
        try:
            return catalog.accelerator(candidate), ""
        except LabkitError:
            continue  # another spelling may be known
    known = [a.name for a in catalog.accelerators()]
    near = nearest(bare, known) or known[:6]
    raise Unsupported(
        f"gpu {written[:40]!r} is not in the catalogue: the nearest are {', '.join(near)}."
    )


def _cpu(
    name: str, count: int, instance: Instance | None, cores: int | None, doubt: str
) -> NamedHardware:
    catalog = Catalog.load()
    bare = _CPU.sub("", name).strip()
    sockets = _SOCKETS.search(bare)
    if sockets:
        count = int(sockets[1] or sockets[2])
        bare = (bare[: sockets.start()] + " " + bare[sockets.end() :]).strip(" ()")
    cpu = _named_cpu(catalog, bare, name)
    said = [doubt] if doubt else []
    if instance is not None and instance.accelerator is None and instance.cpu in cpu.aliases:
        share = cpu.sockets(instance.vcpus)
        bandwidth, flops = instance.cpu_bandwidth_bytes_per_s, dict(instance.cpu_flops)
        memory = float(instance.host_memory_bytes)
    else:
        share = float(count)
        # A rented part of a socket: its cores are all that is known of its share.
        if cores is not None and count == 1 and cores < cpu.cores:
            share = cores / cpu.cores
            said.append(
                f"{cores} of {cpu.cores} cores: the same share of the memory's bandwidth is assumed"
            )
        bandwidth = cpu.bandwidth_bytes_per_s * share
        flops = {key: rate * share for key, rate in cpu.flops.items()}
        memory = 0.0
    used = round(cpu.cores * share)
    if cores is not None and 0 < cores < used:
        flops = {key: rate * cores / used for key, rate in flops.items()}
        used = cores
    return NamedHardware(
        device=Device(
            noun="CPU",
            count=1,
            usable_bytes=memory,
            bandwidth=bandwidth,
            share=0.0,
            accelerator=None,
            link="",
            link_bytes_per_s=0.0,
        ),
        accelerator=None,
        cpu=cpu,
        instance=instance,
        count=count,
        cores=used,
        cpu_flops=flops,
        assumptions=tuple(said),
    )


def _named_cpu(catalog: Catalog, bare: str, written: str) -> Cpu:
    while _MAKERS.match(bare):
        bare = _MAKERS.sub("", bare, count=1)
    bare = re.sub(r"^xeon\s+(?=[a-z]+ )", "", bare, flags=re.IGNORECASE)
    for candidate in (bare, f"Xeon {bare}", f"EPYC {bare}"):
        try:
            return catalog.cpu(candidate)
        except LabkitError:
            continue  # another spelling may be known
    known = [cpu.name for cpu in catalog.cpus()]
    near = nearest(bare, known) or known[:6]
    raise Unsupported(
        f"gpu {written[:40]!r} is no CPU of the catalogue: the nearest are {', '.join(near)}."
    )
