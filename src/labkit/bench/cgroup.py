"""What a control group allows this process: memory and cores, for cgroup v1 and v2.

On a shared hub or in a container the machine's own figures promise more than the process gets.
Everything is read from files, so on macOS and Windows it all comes out as "no limit".
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

# v1 writes "no limit" as a number near 2**63; no machine has this much memory.
_NO_LIMIT = 1 << 60


@dataclass(frozen=True, slots=True)
class Limits:
    """The tightest limits on the way up to the root; None where there is none. Bytes and cores."""

    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    cores: float | None = None


def read_limits(
    proc: Path = Path("/proc/self/cgroup"), mount: Path = Path("/sys/fs/cgroup")
) -> Limits:
    """The limits of this process. `proc` and `mount` are where Linux shows control groups."""
    groups = _groups(proc)
    memory: list[tuple[int, Path]] = []
    cores: list[float] = []
    for folder in _upwards(mount, groups.get("")):
        _note(memory, folder, "memory.max")
        quota = _words(folder / "cpu.max")
        if len(quota) == 2 and quota[0].isdigit():
            cores.append(int(quota[0]) / int(quota[1]))
    for folder in _upwards(mount / "memory", groups.get("memory")):
        _note(memory, folder, "memory.limit_in_bytes")
    for folder in _upwards(mount / "cpu", groups.get("cpu")):
        quota = _words(folder / "cpu.cfs_quota_us")
        period = _words(folder / "cpu.cfs_period_us")
        if quota and period and int(quota[0]) > 0:
            cores.append(int(quota[0]) / int(period[0]))
    if not memory:
        return Limits(cores=min(cores, default=None))
    limit, folder = min(memory)
    used = _words(folder / "memory.current") or _words(folder / "memory.usage_in_bytes")
    return Limits(limit, int(used[0]) if used else None, min(cores, default=None))


def _groups(proc: Path) -> dict[str, str]:
    """Controller → path of the group; the key "" is the unified (v2) hierarchy."""
    found: dict[str, str] = {}
    for line in _lines(proc):
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        for controller in controllers.split(","):
            found[controller] = path
    return found


def _upwards(mount: Path, group: str | None) -> list[Path]:
    """The group's folder and those above it; in a container the path may be missing."""
    if group is None or not mount.is_dir():
        return []
    folder = mount / group.strip("/")
    chain = [folder, *(up for up in folder.parents if up == mount or mount in up.parents)]
    return [step for step in chain if step.is_dir()] or [mount]


def _note(memory: list[tuple[int, Path]], folder: Path, name: str) -> None:
    words = _words(folder / name)
    if words and words[0].isdigit() and int(words[0]) < _NO_LIMIT:
        memory.append((int(words[0]), folder))


def _words(path: Path) -> list[str]:
    return [word for line in _lines(path) for word in line.split()]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux, or not ours to read: then there is no limit that we can know
        return []
