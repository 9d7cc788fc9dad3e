"""`labkit engine install`: makes an engine's environment, or leaves nothing behind.

torch comes first, plainly (some machines have a CPU wheel at hand that only their pip finds), else
from the index of CPU builds that the Makefile names. Then come the locked packages, by hash. Then
the engine is started once as far as its imports, and only then the environment counts.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from labkit.bench.engine import leash
from labkit.bench.engine.environment import (
    EngineUnavailable,
    EnvironmentSpec,
    Installed,
    own_root,
    read_environment,
    spec_for,
    write_note,
)
from labkit.bench.progress import Progress, Report, silent

ENV_INDEX = "TORCH_INDEX"
_INDEX_LINE = re.compile(r"^TORCH_INDEX\s*\?=\s*(\S+)", flags=re.MULTILINE)
_LABKIT = Path(__file__).resolve().parents[2]
_READ_ONLY = ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
_READABLE = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH
_TAIL = 12


def announce(spec: EnvironmentSpec, root: Path) -> str:
    """What an installation will cost, before it begins. Raises EngineUnavailable without room."""
    free = shutil.disk_usage(_nearest(root)).free
    if free < spec.disk + spec.download:
        raise EngineUnavailable(
            f"{spec.package} needs {_gb(spec.disk + spec.download)} while it is installed, and "
            f"{root} has {_gb(free)} free: make room, or choose another disk with --prefix DIR."
        )
    return (
        f"{spec.package} {spec.version}: about {_gb(spec.download)} to download and "
        f"{_gb(spec.disk)} on disk ({_gb(free)} free), {spec.minutes} minutes, in "
        f"{root / spec.folder_name}"
    )


def install(engine: str, prefix: Path | None = None, report: Report = silent) -> Installed:
    """The environment of `engine`, made first unless it is there.

    With `prefix` it lies there, for all users of this machine, and cannot be written to. Raises
    UnknownNameError or EngineUnavailable; whatever goes wrong, nothing half-made stays.
    """
    spec = spec_for(engine)
    root = (prefix or own_root()).expanduser().absolute()
    shared = prefix is not None
    if found := read_environment(root, spec, shared):
        return found
    announce(spec, root)
    root.mkdir(parents=True, exist_ok=True)
    with _alone(root / f".{spec.folder_name}.lock", report):
        if found := read_environment(root, spec, shared):
            return found  # another process has just made it
        folder = root / spec.folder_name
        remove(folder)  # what a killed run left
        try:
            version = _make(folder, spec, report)
            if shared:
                _protect(folder)
            write_note(folder, spec, version)
            if shared:
                folder.chmod(folder.stat().st_mode & _READ_ONLY)
        except BaseException:
            report(Progress("removing what was begun"))
            remove(folder)
            raise
    made = read_environment(root, spec, shared)
    if made is None:
        raise EngineUnavailable(f"{folder} is not usable although it was made just now.")
    return made


def torch_index() -> str | None:
    """The index of CPU builds: ``TORCH_INDEX``, else what the Makefile says."""
    named = os.environ.get(ENV_INDEX)
    if named:
        return named
    for makefile in (_LABKIT.parents[1] / "Makefile", _LABKIT / "course" / "pack" / "Makefile"):
        if makefile.is_file() and (line := _INDEX_LINE.search(makefile.read_text("utf-8"))):
            return line[1]
    return None


def remove(folder: Path) -> None:
    """Delete an environment, also one that was made read-only."""
    if not folder.exists():
        return
    for place in (folder, *(p for p in folder.rglob("*") if p.is_dir() and not p.is_symlink())):
        place.chmod(place.stat().st_mode | stat.S_IRWXU)
    shutil.rmtree(folder)


def _make(folder: Path, spec: EnvironmentSpec, report: Report) -> str:
    """A new environment with everything in it; returns the engine's own word on its version."""
    report(Progress("making a Python environment", 1, 4))
    _run([sys.executable, "-m", "venv", str(folder)], folder, "no environment could be made")
    python = folder / "bin" / "python"
    if spec.torch:
        report(Progress(f"installing {spec.torch}", 2, 4))
        _install_torch(python, spec.torch, folder)
    text = spec.lock.read_text(encoding="utf-8")
    total = len(re.findall(r"^[A-Za-z0-9]", text, flags=re.MULTILINE))
    packages = ["--no-deps", "--require-hashes", "--requirement", str(spec.lock)]
    count = 0
    # Closed at once when the report raises (an interrupt): pip must be gone before its folder is.
    with closing(_pip(python, packages, folder)) as lines:
        for line in lines:
            if line.startswith(("Collecting ", "Processing ")):  # the latter names a local file
                count += 1
                name = re.split(r"[=\s-]", line.split()[1].rpartition("/")[2])[0]
                report(Progress(f"fetching {name} ({count} of {total} packages)", 3, 4))
            elif line.startswith("Installing collected"):
                report(Progress(f"unpacking {total} packages, which takes minutes", 3, 4))
    report(Progress(f"starting {spec.engine} once", 4, 4))
    said = _run([str(python), "-P", "-c", spec.check], folder, f"{spec.engine} does not start")
    return said[-1].strip()


def _install_torch(python: Path, pin: str, folder: Path) -> None:
    try:
        deque(_pip(python, ["--no-deps", pin], folder), maxlen=0)
        return
    except EngineUnavailable as error:
        plain = error
    index = torch_index()
    if index is None:
        raise EngineUnavailable(
            f"{plain} Set {ENV_INDEX} to PyTorch's index of CPU builds and run this again."
        )
    deque(_pip(python, ["--no-deps", "--index-url", index, pin], folder), maxlen=0)


def _pip(python: Path, arguments: Sequence[str], folder: Path) -> Generator[str]:
    """pip's lines as they come. Raises EngineUnavailable with its last error."""
    options = ["--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    command = [str(python), "-m", "pip", "install", *options, *arguments]
    yield from _lines(command, folder, "pip could not install it")


def _run(command: Sequence[str], folder: Path, otherwise: str) -> list[str]:
    return list(_lines(command, folder, otherwise))


def _lines(command: Sequence[str], folder: Path, otherwise: str) -> Generator[str]:
    """Lines of a process that dies with this one and keeps its temporary files in `folder`."""
    scratch = folder.with_name(f"{folder.name}.tmp")
    scratch.mkdir(exist_ok=True)
    tie = [sys.executable, "-P", leash.__file__, str(os.getpid())]
    process = subprocess.Popen(
        [*tie, *command],
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": ""},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    last: deque[str] = deque(maxlen=_TAIL)
    try:
        for line in process.stdout or ():
            last.append(line.strip())
            yield line
        process.wait()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()
        shutil.rmtree(scratch, ignore_errors=True)
    if process.returncode != 0:
        errors = [line.removeprefix("ERROR:").strip() for line in last if "Error" in line]
        errors += [line.removeprefix("ERROR:").strip() for line in last if line[:6] == "ERROR:"]
        why = (errors or list(last) or ["no reason was given"])[-1].rstrip(".")
        raise EngineUnavailable(f"{otherwise[0].upper()}{otherwise[1:]}: {why}.")


def _protect(folder: Path) -> None:
    """Readable by everybody, writable by nobody; the folder itself is closed at the end."""
    for path in folder.rglob("*"):
        if path.is_symlink():
            continue
        mode = path.stat().st_mode
        wanted = (mode | _READABLE) & _READ_ONLY
        if path.is_dir() or mode & stat.S_IXUSR:
            wanted |= stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
        path.chmod(wanted)


@contextmanager
def _alone(path: Path, report: Report) -> Iterator[None]:
    """Hold the lock; the operating system frees it when its holder dies."""
    import filelock

    lock = filelock.FileLock(path)
    while True:
        try:
            lock.acquire(timeout=0.5)
            break
        except filelock.Timeout:
            report(Progress("waiting for another process that is installing it"))
    try:
        yield
    finally:
        lock.release()


def _nearest(path: Path) -> Path:
    """The path itself, or the closest folder above it that exists."""
    return next(step for step in (path, *path.parents) if step.exists())


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB"
