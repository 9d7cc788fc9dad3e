"""The one cache folder: weights, arrivals and extra environments live there, never in a clone."""

from __future__ import annotations

import os
from pathlib import Path

from labkit.contract.paths import ENV_CACHE


def cache_dir() -> Path:
    """``LABKIT_CACHE``, else the user's cache folder; not created here."""
    named = os.environ.get(ENV_CACHE)
    if named:
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("labkit", appauthor=False))
