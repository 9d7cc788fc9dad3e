"""The machine's description: enough to judge a measurement, nothing that names a person."""

from __future__ import annotations

import getpass
import json
import platform
import socket
from pathlib import Path

import pytest

from labkit.bench import hardware
from labkit.bench.hardware import Cpu, describe, read_cpu

CPUINFO = """\
processor\t: 0
cpu family\t: 25
model\t\t: 17
model name\t: AMD EPYC
flags\t\t: fpu avx2 fma avx512f avx512_bf16 hypervisor
processor\t: 1
model name\t: another
"""


def test_no_host_name_user_or_path() -> None:
    text = json.dumps(describe())
    assert socket.gethostname() not in text
    assert getpass.getuser() not in text.split('"')
    assert str(Path.home()) not in text


def test_this_machine() -> None:
    cpu = read_cpu()
    assert cpu.cores >= 1
    assert cpu.model
    found = describe()
    assert found["summary"].startswith(cpu.model)
    assert found["device"] == {"kind": "cpu"}


def test_a_gpu_leads_the_summary() -> None:
    gpu = {"kind": "cuda", "name": "NVIDIA L4", "memory_bytes": 23_000_000_000}
    assert describe(gpu)["summary"].startswith("NVIDIA L4, ")


def test_linux_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    caches = {
        "index0": ("Data", "1", "32K"),
        "index1": ("Instruction", "1", "64K"),
        "index2": ("Unified", "3", "32768K"),
    }
    for name, (kind, level, size) in caches.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "type").write_text(kind + "\n")
        (folder / "level").write_text(level + "\n")
        (folder / "size").write_text(size + "\n")
    assert hardware._linux_caches(tmp_path) == {"L1d": 32768, "L3": 33554432}
    assert hardware._linux_caches(tmp_path / "absent") == {}
    real = hardware._text
    monkeypatch.setattr(
        hardware, "_text", lambda path: CPUINFO if path.name == "cpuinfo" else real(path)
    )
    cpu = hardware._linux_cpu("x86_64")
    assert cpu.model == "AMD EPYC (family 25, model 17)"
    assert cpu.bf16_units is True
    assert cpu.virtual


@pytest.mark.parametrize("system", ["Darwin", "Windows", "Plan9"])
def test_other_systems_do_not_crash(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a system without /proc, /sys and sysctl: little is known, nothing fails."""
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(hardware, "_text", lambda _: "")
    monkeypatch.setattr(hardware, "_sysctl", lambda _: "")
    found = describe()
    assert found["cpu"]["model"]
    assert found["memory_bytes"] is None
    assert read_cpu().bf16_units in (None, False)


def test_a_mac_tells_through_sysctl(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {
        "machdep.cpu.brand_string": "Apple M3",
        "hw.perflevel0.l1dcachesize": "131072",
        "hw.perflevel0.l2cachesize": "16777216",
        "hw.optional.arm.FEAT_BF16": "1",
        "hw.memsize": "17179869184",
    }
    monkeypatch.setattr(hardware, "_text", lambda _: "")
    monkeypatch.setattr(hardware, "_sysctl", lambda name: answers.get(name, ""))
    cpu = hardware._mac_cpu("arm64")
    assert (cpu.model, cpu.llc_bytes, cpu.bf16_units) == ("Apple M3", 16777216, True)
    assert hardware._machine_memory() == (17179869184, None)


def test_unknown_instruction_sets_are_unknown() -> None:
    assert Cpu("x", "x", 1).bf16_units is None
    assert Cpu("x", "x", 1, isa=("avx2",)).bf16_units is False
