"""`python -m benchmarks.peers.environment`: the environment of the compared tools.

They bring their own versions of packages labkit uses, so they never enter `.venv`: they live in
the cache folder (LABKIT_CACHE, else the user's), under a name that changes with the pins.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from labkit.bench.cache import cache_dir

PINS = Path(__file__).with_name("requirements.txt")
HOW = "python -m benchmarks.peers.environment"
_DONE = "complete"


def folder() -> Path:
    """Where the environment is, or would be."""
    digest = hashlib.sha256(PINS.read_bytes()).hexdigest()[:12]
    return cache_dir() / "envs" / f"peers-{digest}"


def python() -> Path | None:
    """The Python of the environment; None where it has not been made."""
    path = folder() / "bin" / "python"
    return path if path.exists() and (folder() / _DONE).exists() else None


def make() -> Path:
    """Make it unless it is there; returns its Python. A run that was cut short starts afresh."""
    if (ready := python()) is not None:
        return ready
    place = folder()
    if place.exists():
        shutil.rmtree(place)
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    inside = place / "bin" / "python"
    install = ("-m", "pip", "install", "--quiet", "--require-hashes", "--requirement")
    subprocess.run([inside, *install, PINS], check=True)
    (place / _DONE).touch()
    return inside


if __name__ == "__main__":
    print(f"The compared tools are in {make().parents[1]}.")
