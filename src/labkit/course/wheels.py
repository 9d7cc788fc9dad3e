"""The wheel of this labkit: built in a clone, put together again from an installation elsewhere."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path, PurePosixPath

from labkit.contract import LabkitError
from labkit.contract.paths import DISTRIBUTION
from labkit.course.archive import zipped
from labkit.course.resources import Resources

# What an installer adds to the files of a wheel, in its .dist-info folder.
_INSTALLERS = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})


class WheelError(LabkitError):
    """The wheel cannot be had here; the message says why and where it can."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel in memory: its file name and its bytes."""

    name: str
    raw: bytes

    def files(self) -> dict[str, bytes]:
        """Every file in it by its path."""
        with zipfile.ZipFile(io.BytesIO(self.raw)) as opened:
            return {name: opened.read(name) for name in opened.namelist()}

    @property
    def version(self) -> str:
        """The distribution's version, from the file name."""
        return self.name.split("-")[1]


def this_wheel(shipped: Resources) -> Wheel:
    """The wheel of the labkit that runs. Raises WheelError when it cannot be had."""
    if shipped.clone is not None:
        return build(shipped.clone)
    try:
        return reassemble(distribution(DISTRIBUTION))
    except PackageNotFoundError:
        raise WheelError(
            f"This labkit was not installed by a package installer, so its wheel is unknown: "
            f"install {DISTRIBUTION} from its wheel, or work in a clone."
        ) from None


def build(clone: Path) -> Wheel:
    """Build the wheel of a clone with the locked build backend; nothing is downloaded."""
    if importlib.util.find_spec("hatchling") is None:
        raise WheelError(
            "The wheel cannot be built here, because this Python lacks hatchling: run `make setup` "
            "in the clone and use its .venv/bin/labkit."
        )
    with tempfile.TemporaryDirectory() as folder:
        options = ["build", "--target", "wheel", "--directory", folder]
        done = subprocess.run(
            [sys.executable, "-m", "hatchling", *options],
            cwd=clone,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        built = next(Path(folder).glob("*.whl"), None)
        if done.returncode != 0 or built is None:
            words = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            raise WheelError(f"The wheel was not built: {words[-1]}")
        return Wheel(built.name, built.read_bytes())


def reassemble(installed: Distribution) -> Wheel:
    """The wheel that an installation came from, by the installer's own list of files.

    Every file must still have the hash that it was installed with; WheelError names one that was
    changed or is gone, because a pack must not carry what nobody released.
    """
    files: dict[str, bytes] = {}
    for file in installed.files or ():
        path = PurePosixPath(file)
        added = path.parent.name.endswith(".dist-info") and path.name in _INSTALLERS
        if ".." in path.parts or path.suffix == ".pyc" or added:
            continue
        if file.hash is None or file.hash.mode != "sha256":
            raise WheelError(f"The installation has no hash for {file}: install the wheel again.")
        try:
            raw = Path(str(installed.locate_file(file))).read_bytes()
        except OSError:
            raise WheelError(f"{file} is missing here: install the wheel again.") from None
        if _digest(raw) != file.hash.value:
            raise WheelError(f"{file} was changed after its installation: install it again.")
        files[path.as_posix()] = raw
    about = next((name for name in files if name.endswith(".dist-info/WHEEL")), None)
    if about is None or f"{_package(installed)}/__init__.py" not in files:
        raise WheelError(
            "This labkit is installed in place, not from a wheel: make the release in its clone."
        )
    folder = about.removesuffix("/WHEEL")
    tag = next(
        line.removeprefix("Tag: ")
        for line in files[about].decode().splitlines()
        if line.startswith("Tag: ")
    )
    files[f"{folder}/RECORD"] = _record(files, f"{folder}/RECORD")
    return Wheel(f"{folder.removesuffix('.dist-info')}-{tag}.whl", zipped(files))


def _package(installed: Distribution) -> str:
    scripts = installed.entry_points.select(group="console_scripts")
    return next(iter(scripts)).module.split(".")[0]


def _record(files: Mapping[str, bytes], own: str) -> bytes:
    lines = [f"{name},sha256={_digest(raw)},{len(raw)}" for name, raw in sorted(files.items())]
    return "\n".join([*lines, f"{own},,", ""]).encode()


def _digest(raw: bytes) -> str:
    """SHA-256 as RECORD writes it: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(hashlib.sha256(raw).digest()).rstrip(b"=").decode()
