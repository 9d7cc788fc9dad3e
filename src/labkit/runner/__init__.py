"""The untrusted side of grading: executes a notebook's cells and records its answers.

Runs inside the sandbox as ``python -m labkit.runner``. It knows no reference, no tolerance and no
points; nothing here may import another room than `contract`.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Lab"]  # loaded by __getattr__ on first use


def __getattr__(name: str) -> Any:
    """Load the recording `Lab` on first use."""
    if name == "Lab":
        return importlib.import_module("labkit.runner.lab").Lab
    raise AttributeError(f"module 'labkit.runner' has no attribute {name!r}")
