"""The machine in words and numbers: CPU, caches, cores, memory, GPU. No host name, user or path.

Linux tells through /proc and /sys, macOS through sysctl; elsewhere the standard library's answer
has to do. What cannot be found is None, and the summary leaves it out.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from labkit.bench.cgroup import Limits, read_limits

# Instruction sets that decide how fast a matrix product can be, as Linux and macOS name them.
_ISA = (
    "avx2",
    "fma",
    "avx512f",
    "avx512_vnni",
    "avx512_bf16",
    "amx_bf16",
    "amx_int8",
    "asimd",
    "sve",
    "bf16",
    "i8mm",
)
_BF16_UNITS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}


@dataclass(frozen=True, slots=True)
class Cpu:
    """The processor. Caches in bytes as one core sees them: {"L1d": …, "L2": …, "L3": …}."""

    model: str
    arch: str
    cores: int
    caches: dict[str, int] = field(default_factory=dict)
    isa: tuple[str, ...] = ()
    virtual: bool = False

    @property
    def llc_bytes(self) -> int | None:
        """The last-level cache, or None where the system does not tell."""
        return max(self.caches.values(), default=None)

    @property
    def bf16_units(self) -> bool | None:
        """Whether it multiplies BF16 in hardware; None where the system does not tell."""
        return bool(_BF16_UNITS.intersection(self.isa)) if self.isa else None


@dataclass(frozen=True, slots=True)
class Memory:
    """Main memory in bytes: what this process may use, and whether a control group set that."""

    total_bytes: int | None
    available_bytes: int | None
    limited: bool = False


def read_cpu() -> Cpu:
    """The processor of this machine; `cores` are those that this process may use."""
    system = platform.system()
    arch = platform.machine()
    if system == "Linux":
        return _linux_cpu(arch)
    if system == "Darwin":
        return _mac_cpu(arch)
    return Cpu(platform.processor() or arch, arch, cores_available())


def cores_available(limits: Limits | None = None) -> int:
    """Cores this process may use: affinity and control group counted, at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    cores = len(affinity(0)) if affinity else (os.cpu_count() or 1)
    quota = (limits or read_limits()).cores
    return max(1, min(cores, int(quota))) if quota else cores


def read_memory(limits: Limits | None = None) -> Memory:
    """Main memory as this process may use it: the machine's, or the control group's if smaller."""
    total, available = _machine_memory()
    limits = limits or read_limits()
    limit = limits.memory_bytes
    if limit is None or (total is not None and limit >= total):
        return Memory(total, available)
    left = limit - (limits.memory_used_bytes or 0)
    return Memory(limit, left if available is None else min(left, available), limited=True)


def huge_page_bytes() -> int | None:
    """Bytes of this process that lie in huge pages; None where the system does not tell."""
    found = re.search(
        r"^AnonHugePages:\s+(\d+) kB", _text(Path("/proc/self/smaps_rollup")), re.MULTILINE
    )
    return int(found[1]) * 1024 if found else None


def describe(device: dict[str, Any] | None = None) -> dict[str, Any]:
    """The `hardware` object of a record. `device` describes the accelerator, where one is used."""
    cpu, memory = read_cpu(), read_memory()
    parts = [cpu.model, f"{cpu.cores} core{'s' if cpu.cores != 1 else ''}"]
    if memory.total_bytes:
        parts.append(f"{memory.total_bytes / 2**30:.1f} GiB")
    parts.append(f"{platform.system()} {cpu.arch}{', virtual machine' if cpu.virtual else ''}")
    if device and device.get("kind") != "cpu":
        parts.insert(0, str(device.get("name", device["kind"])))
    return {
        "summary": ", ".join(parts),
        "os": platform.system(),
        "cpu": asdict(cpu),
        "memory_bytes": memory.total_bytes,
        "memory_limited": memory.limited,
        "device": device or {"kind": "cpu"},
    }


def _linux_cpu(arch: str) -> Cpu:
    info = _cpuinfo(Path("/proc/cpuinfo"))
    model = info.get("model name") or info.get("Model") or platform.processor() or arch
    if info.get("cpu family") and info.get("model"):
        # Clouds hide the model behind a plain "AMD EPYC": the numbers still tell the generation.
        model = f"{model} (family {info['cpu family']}, model {info['model']})"
    flags = set((info.get("flags") or info.get("Features") or "").split())
    return Cpu(
        model=model,
        arch=arch,
        cores=cores_available(),
        caches=_linux_caches(Path("/sys/devices/system/cpu/cpu0/cache")),
        isa=tuple(name for name in _ISA if name in flags),
        virtual="hypervisor" in flags,
    )


def _cpuinfo(path: Path) -> dict[str, str]:
    """The first processor's fields; later ones repeat them."""
    found: dict[str, str] = {}
    for line in _text(path).splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip(), value.strip())
    return found


def _linux_caches(folder: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for index in sorted(folder.glob("index*")):
        kind = _text(index / "type").strip()
        size = _bytes(_text(index / "size").strip())
        if kind != "Instruction" and size:
            level = _text(index / "level").strip()
            found[f"L{level}{'d' if level == '1' else ''}"] = size
    return found


def _mac_cpu(arch: str) -> Cpu:
    sizes = {"L1d": "hw.perflevel0.l1dcachesize", "L2": "hw.perflevel0.l2cachesize"}
    caches = {name: int(text) for name, key in sizes.items() if (text := _sysctl(key)).isdigit()}
    isa = ["asimd"] if arch == "arm64" else []
    if _sysctl("hw.optional.arm.FEAT_BF16") == "1":
        isa.append("bf16")
    return Cpu(
        model=_sysctl("machdep.cpu.brand_string") or arch,
        arch=arch,
        cores=cores_available(),
        caches=caches,
        isa=tuple(isa),
        virtual=_sysctl("kern.hv_vmm_present") == "1",
    )


def _machine_memory() -> tuple[int | None, int | None]:
    found = dict(re.findall(r"^(\w+):\s+(\d+) kB", _text(Path("/proc/meminfo")), re.MULTILINE))
    if "MemTotal" in found:
        return int(found["MemTotal"]) * 1024, int(found.get("MemAvailable", 0)) * 1024 or None
    size = _sysctl("hw.memsize")  # macOS; it has no simple word for what is available
    return (int(size) if size.isdigit() else None), None


def _sysctl(name: str) -> str:
    try:
        done = subprocess.run(
            ["/usr/sbin/sysctl", "-n", name],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    return int(match[1]) * _UNITS.get(match[2], 1) if match else 0


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # the file exists on some systems only
        return ""
