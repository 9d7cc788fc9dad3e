"""What to type when something is not installed; it depends on how labkit came to this machine."""

from __future__ import annotations

import sys
from pathlib import Path

_CLONE = Path(__file__).resolve().parents[3]


def set_up_again(otherwise: str, *, clone: Path = _CLONE, prefix: str = sys.prefix) -> str:
    """`make lab` in a clone, `python3 start.py` in an unpacked release, else `otherwise`.

    >>> set_up_again("`pip install torch`", clone=Path("/none"), prefix="/none/env")
    '`pip install torch`'
    """
    if (clone / "Makefile").is_file() and (clone / "pyproject.toml").is_file():
        return "`make lab`"
    if (Path(prefix).parent / "start.py").is_file():
        return "`python3 start.py`"
    return otherwise
