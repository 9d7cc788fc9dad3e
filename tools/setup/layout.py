"""Where things are in a clone or an unpacked release, and what the Makefile passes on.

A release pack has no Makefile and no sources: it brings the wheel and the learners' lock, and is
started by `python3 start.py`. Everything else is laid out as in a clone.
"""

from __future__ import annotations

import os
from pathlib import Path

from tools.setup.say import SetupError

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"
LEARNERS_LOCK = ROOT / "tools" / "pack" / "requirements.lock"
PROJECT = ROOT / "pyproject.toml"
WORKSPACE = ROOT / "workspace"


def venv() -> Path:
    """The project's own environment."""
    return ROOT / ".venv"


def venv_python(environment: Path | None = None) -> Path:
    """The Python inside an environment (POSIX; on Windows the course runs in WSL2)."""
    return (environment or venv()) / "bin" / "python"


def wheel(root: Path = ROOT) -> Path | None:
    """The wheel that a release pack brings; None in a clone, which is installed in place."""
    return None if (root / PROJECT.name).exists() else next(root.glob("*.whl"), None)


def command(root: Path = ROOT) -> str:
    """What a reader types to set up and open the course, here."""
    return "make lab" if (root / "Makefile").exists() else "python3 start.py"


def setting(name: str) -> str:
    """A value the Makefile exports, such as TORCH_VERSION; SetupError without it."""
    value = os.environ.get(name, "").strip()
    if not value:
        raise SetupError(f"{name} is not set: use `make lab` or `make test`, which set it.")
    return value


def cache_dir() -> Path:
    """Where type-checking results are kept, outside every clone: LABKIT_CACHE, else ~/.cache."""
    named = os.environ.get("LABKIT_CACHE")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "labkit"
