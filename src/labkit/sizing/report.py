"""An estimate as plain JSON types: the contract of `labkit estimate --json`."""

from __future__ import annotations

from typing import Any

from labkit.sizing.bands import Band
from labkit.sizing.estimate import Estimate
from labkit.sizing.explain import explain


def as_dict(estimate: Estimate) -> dict[str, Any]:
    """The whole answer, terms included. Bands are {low, mid, high}; null is "not estimated".

    `memory` is in bytes per device of the tensor-parallel group; `max_cached_tokens` and
    `max_sequences` are of the replica.
    """
    memory = estimate.memory
    return {
        "fits": estimate.fits,
        "max_sequences": estimate.max_sequences,
        "refusals": [
            {"code": str(refusal.code), "detail": refusal.detail} for refusal in estimate.refusals
        ],
        "memory": {
            "weights_bytes": round(memory.weights_bytes),
            "kv_bytes_per_token": round(memory.kv_bytes_per_token),
            "kv_pool_bytes": round(memory.kv_pool_bytes),
            "max_cached_tokens": memory.max_cached_tokens,
            "overhead_bytes": round(memory.overhead.mid),
            "usable_bytes": round(memory.usable_bytes),
        },
        "ttft_ms": _band(estimate.ttft_ms),
        "tpot_ms": _band(estimate.tpot_ms),
        "output_tokens_per_s": _band(estimate.output_tokens_per_s),
        "requests_per_s": _band(estimate.requests_per_s),
        "bound": estimate.bound,
        "usd_per_hour": estimate.usd_per_hour,
        "usd_per_million_output_tokens": _band(estimate.usd_per_million_output_tokens),
        "terms": [entry for term in explain(estimate) for entry in term.entries()],
    }


def _band(band: Band | None) -> dict[str, float] | None:
    return band.as_dict() if band else None
