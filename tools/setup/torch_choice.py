"""Which torch build this machine gets, found out before anything is downloaded.

A plain `pip install torch` on Linux usually means gigabytes of CUDA, yet some machines have a CPU
wheel at hand that only their own pip configuration finds. So pip is asked what it *would* bring
(`--dry-run --report`, which reads metadata only) and the answer is judged:

==========================  =================  =====================================
the plain answer            NVIDIA GPU?        taken
==========================  =================  =====================================
CPU build (macOS, a local   either             plain
wheel, some arm)
CUDA build                  yes                plain
CUDA build                  no                 PyTorch's CPU index, TORCH_INDEX
==========================  =================  =====================================

TORCH=cpu, cuda or skip overrides the table.
"""

from __future__ import annotations

import json
import shutil
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tools.setup.lock import LEFT_OUT
from tools.setup.say import SetupError, quiet

CHOICES = ("auto", "cpu", "cuda", "skip")
Report = dict[str, list[dict[str, dict[str, str]]]]


@dataclass(frozen=True, slots=True)
class Choice:
    """What will be installed: arguments for `pip install`, why, and its size in bytes if known."""

    wanted: str
    version: str
    arguments: tuple[str, ...]
    build: str
    reason: str
    size: int | None

    def announcement(self) -> str:
        """The sentence printed before any download."""
        size = f"{self.size / 1e6:,.0f} MB" if self.size is not None else "size unknown"
        others = ", ".join(f"TORCH={name}" for name in CHOICES[1:])
        return f"{self.build}, {size}: {self.reason}. To choose yourself: {others}."


@dataclass(frozen=True, slots=True)
class Machine:
    """What the choice asks of the machine; replaced in tests."""

    report: Callable[[tuple[str, ...]], Report | str]  # pip's report, or its first error line
    has_gpu: Callable[[], bool]
    size: Callable[[Report], int | None]


def choose(wanted: str, version: str, index: str, machine: Machine) -> Choice | None:
    """Judge the table of the module docstring; None when torch is skipped.

    Raises SetupError when no build can be had, naming the remedies.
    """
    if wanted not in CHOICES:
        raise SetupError(f"TORCH={wanted} is unknown: use {', '.join(CHOICES)}.")
    if wanted == "skip":
        return None
    plain = (f"torch=={version}",)
    report = machine.report(plain)
    if isinstance(report, str):
        if wanted == "cuda":
            raise SetupError(_no_build(version, report))
    elif not is_cuda(report):
        if wanted == "cuda":
            raise SetupError(f"pip finds no CUDA build of torch {version}: leave out TORCH=cuda.")
        found = "it is what pip finds for this machine"
        return Choice(
            wanted, version, plain, f"torch {version} without CUDA", found, machine.size(report)
        )
    elif wanted == "cuda" or (wanted == "auto" and machine.has_gpu()):
        reason = "you asked for it" if wanted == "cuda" else "there is an NVIDIA GPU"
        return Choice(
            wanted, version, plain, f"torch {version} with CUDA", reason, machine.size(report)
        )
    from_index = (*plain, "--index-url", index)
    cpu = machine.report(from_index)
    if isinstance(cpu, str):
        raise SetupError(_no_build(version, cpu))
    reason = "you asked for it" if wanted == "cpu" else "there is no NVIDIA GPU"
    return Choice(
        wanted, version, from_index, f"torch {version} for the CPU", reason, machine.size(cpu)
    )


def is_cuda(report: Report) -> bool:
    """Whether a resolution brings CUDA: nvidia-*, cuda-*, triton, or a +cu version of torch."""
    for found in report["install"]:
        name, version = found["metadata"]["name"], found["metadata"]["version"]
        if name == "torch":
            if "+cu" in version:
                return True
        elif LEFT_OUT.fullmatch(name):
            return True
    return False


def this_machine(python: Path) -> Machine:
    """The real thing: pip of the given Python, nvidia-smi and HEAD requests."""
    return Machine(
        report=lambda arguments: _pip_report(python, arguments), has_gpu=_has_gpu, size=_size
    )


def installed_version(python: Path) -> str | None:
    """The version of torch on record in the environment, without importing it."""
    query = "from importlib.metadata import version as v; print(v('torch'))"
    answer = quiet([python, "-c", query])
    return answer.stdout.strip() if answer.returncode == 0 else None


def imports(python: Path) -> bool:
    """Whether torch really imports there: a killed pip may leave it on record and half there."""
    return quiet([python, "-c", "import torch; torch.zeros(1)"]).returncode == 0


def _pip_report(python: Path, arguments: tuple[str, ...]) -> Report | str:
    asked = quiet(
        [
            python,
            "-m",
            "pip",
            "install",
            "--dry-run",
            "-qq",
            "--no-input",
            "--report",
            "-",
            *arguments,
        ]
    )
    if asked.returncode != 0:
        errors = [line for line in asked.stderr.splitlines() if line.startswith("ERROR")]
        return (errors or asked.stderr.splitlines() or ["pip gave no reason"])[0]
    report: Report = json.loads(asked.stdout)
    return report


def _has_gpu() -> bool:
    if shutil.which("nvidia-smi") is None:
        return False
    listed = quiet(["nvidia-smi", "-L"])
    return listed.returncode == 0 and "GPU" in listed.stdout


def _size(report: Report) -> int | None:
    """Bytes of all files of a report, by their headers; None if one does not say."""
    urls = [found["download_info"]["url"] for found in report["install"]]
    with ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(_file_size, urls))
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _file_size(url: str) -> int | None:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "file":
        return Path(urllib.request.url2pathname(parts.path)).stat().st_size
    request = urllib.request.Request(url, method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            length = reply.headers["Content-Length"]
    except (urllib.error.URLError, TimeoutError):
        return None
    return int(length) if length else None


def _no_build(version: str, why: str) -> str:
    return (
        f"torch {version} cannot be had from here ({why.removeprefix('ERROR: ').rstrip('.')}). "
        "Remedies: try again with network; or put its wheel in a folder and set PIP_FIND_LINKS "
        "to that folder; or set TORCH_INDEX to a mirror; or TORCH=skip to do without it."
    )
