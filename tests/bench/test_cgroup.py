"""Limits of control groups, version 1 and 2, from files as Linux writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.bench.cgroup import Limits, read_limits
from labkit.bench.hardware import cores_available, read_memory

UNLIMITED_V1 = "9223372036854771712\n"


def put(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_version_2_takes_the_tightest_on_the_way_up(tmp_path: Path) -> None:
    mount = put(
        tmp_path / "fs",
        {
            "user/memory.max": "4000000000\n",
            "user/memory.current": "1500000000\n",
            "user/cpu.max": "150000 100000\n",
            "user/lab/memory.max": "max\n",
            "user/lab/cpu.max": "max 100000\n",
        },
    )
    proc = put(tmp_path, {"cgroup": "0::/user/lab\n"}) / "cgroup"
    assert read_limits(proc, mount) == Limits(4_000_000_000, 1_500_000_000, 1.5)


def test_version_1(tmp_path: Path) -> None:
    mount = put(
        tmp_path / "fs",
        {
            "memory/job/memory.limit_in_bytes": "2147483648\n",
            "memory/job/memory.usage_in_bytes": "100\n",
            "memory/memory.limit_in_bytes": UNLIMITED_V1,
            "cpu/job/cpu.cfs_quota_us": "-1\n",
            "cpu/job/cpu.cfs_period_us": "100000\n",
            "cpu/cpu.cfs_quota_us": "300000\n",
            "cpu/cpu.cfs_period_us": "100000\n",
        },
    )
    proc = put(tmp_path, {"cgroup": "4:memory:/job\n1:cpu,cpuacct:/job\n0::/\n"}) / "cgroup"
    assert read_limits(proc, mount) == Limits(2**31, 100, 3.0)


def test_inside_a_container_the_path_is_missing_and_the_mount_is_the_group(tmp_path: Path) -> None:
    mount = put(tmp_path / "fs", {"memory.max": "512\n", "memory.current": "12\n"})
    proc = put(tmp_path, {"cgroup": "0::/docker/0123456789ab\n"}) / "cgroup"
    assert read_limits(proc, mount) == Limits(512, 12, None)


@pytest.mark.parametrize("text", ["", "0::/\n", "nonsense\n"])
def test_no_limit_and_no_linux(tmp_path: Path, text: str) -> None:
    proc = put(tmp_path, {"cgroup": text}) / "cgroup"
    assert read_limits(proc, tmp_path / "nothing here") == Limits()
    assert read_limits(tmp_path / "absent", tmp_path) == Limits()


def test_memory_and_cores_follow_the_limit() -> None:
    memory = read_memory(Limits(2**30, 2**29, 1.0))
    assert (memory.total_bytes, memory.limited) == (2**30, True)
    assert memory.available_bytes == 2**29
    assert cores_available(Limits(cores=0.5)) == 1
    assert cores_available(Limits(cores=1e6)) == cores_available(Limits())


def test_a_limit_above_the_machine_is_none() -> None:
    assert not read_memory(Limits(2**60)).limited
