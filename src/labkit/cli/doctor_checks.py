"""What `labkit doctor` looks at: one small function per line, each with its remedy.

No check imports anything heavy into this process, and none may raise for what it finds missing.
"""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from labkit.bench.arrival import read_arrival
from labkit.bench.cache import cache_dir
from labkit.bench.hardware import read_cpu, read_memory
from labkit.bench.process import run_job
from labkit.bench.weights import describe_weights
from labkit.contract import LabkitError
from labkit.contract.paths import find_workspace
from labkit.contract.remedies import set_up_again

GIB = 2**30
LEAST_MEMORY = 4 * GIB
LEAST_DISK = 3 * 10**9


class Status(StrEnum):
    """How a check came out."""

    OK = "ok"
    ATTENTION = "attention"
    MISSING = "missing"

    @property
    def symbol(self) -> str:
        """A sign beside the word, so that neither colour nor reading alone carries it."""
        return {"ok": "✓", "attention": "!", "missing": "✗"}[self.value]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; `remedy` says what to do, `data` is for --json."""

    name: str
    status: Status
    text: str
    remedy: str = ""
    data: dict[str, Any] = field(default_factory=dict)


def _ok(name: str, text: str, **data: Any) -> Finding:
    return Finding(name, Status.OK, text, data=data)


def python() -> Finding:
    """The interpreter."""
    version = platform.python_version()  # an older Python could not have come this far
    return _ok("Python", version, version=version)


def system() -> Finding:
    """The operating system; what it means for grading is `sandbox`'s to say."""
    name = f"{platform.system()} {platform.machine()}"
    return _ok("System", name, system=name)


def processor() -> Finding:
    """Model, usable cores, caches and whether it has BF16 units."""
    cpu = read_cpu()
    caches = ", ".join(f"{name} {_size(size)}" for name, size in cpu.caches.items())
    units = {True: "BF16 units", False: "no BF16 units: BF16 products are slow", None: ""}
    parts = (cpu.model, f"{cpu.cores} core{'s' * (cpu.cores > 1)}", caches, units[cpu.bf16_units])
    text = "; ".join(part for part in parts if part)
    return _ok("CPU", text, model=cpu.model, cores=cpu.cores, caches=cpu.caches, isa=list(cpu.isa))


def _size(count: int) -> str:
    return f"{count / 2**20:g} MiB" if count >= 2**20 else f"{count / 2**10:g} KiB"


def memory() -> Finding:
    """Main memory that this process may use, control group included."""
    found = read_memory()
    data = {"total_bytes": found.total_bytes, "available_bytes": found.available_bytes}
    if found.total_bytes is None:
        return _ok("Memory", "this system does not tell", **data)
    whose = " (limit of its control group)" if found.limited else ""
    text = f"{found.total_bytes / GIB:.1f} GiB{whose}"
    if found.available_bytes is None:
        return _ok("Memory", text, **data)
    text += f", {found.available_bytes / GIB:.1f} GiB free"
    if found.available_bytes < LEAST_MEMORY:
        remedy = "Measurements want 4 GiB free: close other programs, or replay recordings."
        return Finding("Memory", Status.ATTENTION, text, remedy, data)
    return _ok("Memory", text, **data)


def disk() -> Finding:
    """Free space where the cache lies."""
    folder = cache_dir()
    there = next(path for path in (folder, *folder.parents) if path.is_dir())
    free = shutil.disk_usage(there).free
    text = f"{free / 1e9:.0f} GB free for the cache"
    data = {"free_bytes": free, "cache": str(folder)}
    if free < LEAST_DISK:
        remedy = "Free 3 GB, or set LABKIT_CACHE to a folder with room."
        return Finding("Disk", Status.ATTENTION, text, remedy, data)
    return _ok("Disk", text, **data)


def torch() -> Finding:
    """torch's build and threads and the device it would use, asked in a process of its own."""
    arrival = read_arrival()
    if arrival and not arrival.finished and not arrival.stopped():
        text = f"on its way: {arrival.line()}"
        return Finding("torch", Status.ATTENTION, text, "Wait for it; cells that need it wait too.")
    try:
        found = run_job("torch", timeout_s=120)
    except LabkitError as error:
        install = set_up_again("`pip install torch accelerate`")
        remedy = f"{install} installs the build for this machine."
        return Finding("torch", Status.MISSING, str(error), remedy)
    build = f"CUDA {found['cuda_build']}" if found["cuda_build"] else "CPU build"
    text = f"{found['version']} ({build}, {found['cpu_capability']})"
    if found["device"] == "cpu":
        text += "; no GPU that it can use, so measurements run on the CPU, one thread"
    else:
        size = found["device_memory_bytes"] / GIB
        text += f"; measurements run on {found['device_name']} ({size:.1f} GiB)"
    return _ok("torch", text, **found)


def weights() -> Finding:
    """Which weights of the small model are in use, and why that matters."""
    found = describe_weights()
    text = f"{found['label']}. {found['meaning']}"
    if found["present"]:
        return _ok("Weights", text, **found)
    remedy = "`labkit bench weights` fetches them now."
    return Finding("Weights", Status.ATTENTION, text, remedy, found)


def jupyter() -> Finding:
    """JupyterLab and the kernel."""
    try:
        versions = {name: importlib.metadata.version(name) for name in ("jupyterlab", "ipykernel")}
    except importlib.metadata.PackageNotFoundError as error:
        again = set_up_again("`pip install 'WHEEL[labs]'`, with your course's wheel file")
        return Finding("JupyterLab", Status.MISSING, f"no {error.name}", f"Run {again}.")
    text = ", ".join(f"{name} {version}" for name, version in versions.items())
    return _ok("JupyterLab", text, **versions)


def browser() -> Finding:
    """A Chromium, which only the browser test needs."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found:
        return _ok("Browser test", Path(found).name, program=Path(found).name)
    remedy = "Only `make test` needs it: install the packages chromium and chromium-driver."
    return Finding("Browser test", Status.ATTENTION, "no Chromium", remedy)


def workspace() -> Finding:
    """The learner's workspace, as seen from the current folder."""
    found = find_workspace()
    if found:
        return _ok("Workspace", str(found), path=str(found))
    remedy = "`labkit init DIR --learner ID` makes one."
    text = "none here: progress would be kept in memory only"
    return Finding("Workspace", Status.ATTENTION, text, remedy)


def sandbox() -> Finding:
    """How well submissions can be kept apart here when they are graded: tried, not guessed."""
    from labkit.grading.isolation import detect
    from labkit.grading.profile import Level

    name = "Grading"
    found = detect()
    data = {"level": found.level.value, "missing": list(found.missing)}
    if found.level is Level.NONE:
        remedy = "Only instructors need it: until then `labkit grade` refuses to run."
        return Finding(name, Status.MISSING, found.detail, remedy, data)
    return _ok(name, f"{found.level.value}: {found.detail}", **data)


CHECKS: tuple[Callable[[], Finding], ...] = (
    python,
    system,
    processor,
    memory,
    disk,
    torch,
    weights,
    jupyter,
    workspace,
    sandbox,
    browser,
)


def examine(checks: Iterable[Callable[[], Finding]] = CHECKS) -> list[Finding]:
    """Run every check in order."""
    return [check() for check in checks]
