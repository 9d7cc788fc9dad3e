"""Which device a measurement uses: CUDA where there is one, MPS where it works, else the CPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labkit.contract import LabkitError
from labkit.contract.errors import UnknownNameError
from labkit.contract.remedies import set_up_again

KINDS = ("cuda", "mps", "cpu")


@dataclass(frozen=True, slots=True)
class Device:
    """An accelerator (or the CPU): name, memory and last-level cache in bytes, where known."""

    kind: str
    name: str
    memory_bytes: int | None = None
    llc_bytes: int | None = None

    def describe(self) -> dict[str, Any]:
        """The `device` object inside a record's hardware."""
        if self.kind == "cpu":
            return {"kind": "cpu"}
        return {"kind": self.kind, "name": self.name, "memory_bytes": self.memory_bytes}


def pick(wanted: str | None = None) -> Device:
    """The best device that works, or the one that is `wanted`. Imports torch.

    Raises UnknownNameError for a kind that does not exist, LabkitError for one that is not here
    and where torch is missing.
    """
    if wanted is not None and wanted not in KINDS:
        raise UnknownNameError("device", wanted, KINDS)
    try:
        import torch
    except ImportError as error:
        raise LabkitError(
            f"Measuring needs torch, which this Python does not have ({error}). Get it with "
            f"{set_up_again('`pip install torch accelerate`')}, or use replay=True for a recording."
        ) from error
    if wanted in (None, "cuda") and torch.cuda.is_available():
        card = torch.cuda.get_device_properties(0)
        cache = getattr(card, "L2_cache_size", None)  # torch ≥ 2.2
        return Device("cuda", str(card.name), int(card.total_memory), cache)
    if wanted in (None, "mps") and _mps_works():
        return Device("mps", "Apple GPU", int(torch.mps.recommended_max_memory()))
    if wanted in (None, "cpu"):
        return Device("cpu", "CPU")
    raise LabkitError(f"This machine has no {wanted.upper()} device that torch can use.")


def _mps_works() -> bool:
    """MPS can be built in and present and still fail on the first kernel (virtual machines)."""
    import torch

    if not torch.backends.mps.is_available():
        return False
    try:
        return bool(torch.ones(2, device="mps").sum().item() == 2.0)
    except RuntimeError:
        return False
