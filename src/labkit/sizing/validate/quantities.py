"""What a measured number is, whatever its source calls it, and in which unit it is scored.

A rate at batch 1 is a time per output token: TPOT = 1000 / rate. At batch > 1 a total rate is a
throughput. Relative errors of a time and of its rate differ (half the time is 50 % off, twice the
rate 100 %), so a quantity is scored in one unit only.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TPOT_ONE = "TPOT, batch 1"
TPOT_MANY = "TPOT, batch > 1"
THROUGHPUT = "throughput"
TTFT = "TTFT"

_PLAIN: Mapping[str, str] = MappingProxyType(
    {
        "ttft_ms_p50": TTFT,
        "prefill_tok_s": "prompt rate",
        "latency_s": "request time",
        "vram_gb": "memory",
        "kv_gib": "KV cache, GiB",
        "kv_tokens": "KV cache, tokens",
    }
)
_TIMES = frozenset({"tpot_ms", "decode_tok_s_per_user"})
_RATES = frozenset({"decode_tok_s_per_user", "decode_tok_s_total"})


def quantity_of(metric: str, batch: int) -> str:
    """The quantity of a metric at that batch; an unknown metric is its own."""
    if metric in _TIMES:
        return TPOT_ONE if batch == 1 else TPOT_MANY
    if metric == "decode_tok_s_total":
        return TPOT_ONE if batch == 1 else THROUGHPUT
    if metric == "req_s":
        return THROUGHPUT
    return _PLAIN.get(metric, metric)


def is_inverted(metric: str, quantity: str) -> bool:
    """Whether the metric is a rate that is scored as a time per token."""
    return metric in _RATES and quantity in {TPOT_ONE, TPOT_MANY}
