"""How a learner meets the course: the notebook's `Lab`, workspaces, progress, build of the labs."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["Lab"]  # loaded by __getattr__ on first use


def __getattr__(name: str) -> Any:
    """Load `Lab` on first use: starting JupyterLab needs neither exercises nor catalogue."""
    if name == "Lab":
        return importlib.import_module("labkit.course.lab").Lab
    raise AttributeError(f"module 'labkit.course' has no attribute {name!r}")
