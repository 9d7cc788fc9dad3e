"""The codes of refusals, which of them stop everything, and one refusal."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RefusalCode(StrEnum):
    """The codes a refusal may carry."""

    WEIGHTS = "WEIGHTS"
    KV_CACHE = "KV_CACHE"
    HEADS_NOT_DIVISIBLE = "HEADS_NOT_DIVISIBLE"
    DTYPE_UNSUPPORTED = "DTYPE_UNSUPPORTED"
    HOST_RAM = "HOST_RAM"
    SLO_TTFT = "SLO_TTFT"
    SLO_TPOT = "SLO_TPOT"
    NOT_OFFERED = "NOT_OFFERED"
    ENGINE_UNSUPPORTED = "ENGINE_UNSUPPORTED"
    UNKNOWN_PRICE = "UNKNOWN_PRICE"


BLOCKING = frozenset(
    {
        RefusalCode.WEIGHTS,
        RefusalCode.KV_CACHE,
        RefusalCode.HEADS_NOT_DIVISIBLE,
        RefusalCode.DTYPE_UNSUPPORTED,
        RefusalCode.HOST_RAM,
        RefusalCode.NOT_OFFERED,
        RefusalCode.ENGINE_UNSUPPORTED,
    }
)
# With these alone the device could still run a smaller batch, or the same one loaded differently.
STILL_TIMED = frozenset({RefusalCode.KV_CACHE, RefusalCode.HOST_RAM})


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason, with the number behind it in `detail` (one sentence)."""

    code: RefusalCode
    detail: str
