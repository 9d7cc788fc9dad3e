"""Which variant of the step-time model an engine runs as: its name, and sometimes its version.

TGI launched its kernels from Python until 2.0; from then on it replays CUDA graphs as vLLM does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from labkit.sizing.engines import Engine


def _tgi(version: str | None) -> str:
    return (
        "launched"
        if version is not None and version.strip().startswith(("0.", "1."))
        else "compiled"
    )


_BY_ENGINE: Mapping[str, Callable[[str | None], str]] = MappingProxyType({"tgi": _tgi})
_BY_FAMILY: Mapping[str, str] = MappingProxyType({"serving": "compiled"})


def variant_of(engine: Engine, version: str | None = None) -> str:
    """compiled, launched, eager, llama.cpp or neuron; `version` None is the newest."""
    special = _BY_ENGINE.get(engine.name)
    return special(version) if special else _BY_FAMILY.get(engine.family, engine.family)
