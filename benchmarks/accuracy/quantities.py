"""What a measured number is, whatever its source calls it.

A rate at batch 1 is a TPOT: 1000 / rate. At batch > 1 a total rate is a throughput. Relative errors
of a time and of its rate differ (half the time is 50 % off, twice the rate 100 %), so each row is
scored in one unit only.
"""

from __future__ import annotations

TPOT_1 = "TPOT, batch 1"
TPOT_N = "TPOT, batch > 1"
THROUGHPUT = "throughput, batch > 1"
TTFT = "TTFT"
PROMPT_RATE = "prompt rate"
REQUEST_TIME = "request time"
MEMORY = "memory"

QUANTITIES = (TPOT_1, TPOT_N, THROUGHPUT, TTFT, PROMPT_RATE, REQUEST_TIME, MEMORY)

_PLAIN = {
    "ttft_ms_p50": TTFT,
    "prefill_tok_s": PROMPT_RATE,
    "latency_s": REQUEST_TIME,
    "vram_gb": MEMORY,
}
_RATES_OF_ONE = ("decode_tok_s_per_user", "decode_tok_s_total")


def quantity(metric: str, batch: int) -> str:
    """Which of `QUANTITIES` a row of this metric is. Raises KeyError for an unknown metric."""
    if metric in ("tpot_ms", "decode_tok_s_per_user"):
        return TPOT_1 if batch == 1 else TPOT_N
    if metric in ("decode_tok_s_total", "req_s"):
        return TPOT_1 if batch == 1 and metric in _RATES_OF_ONE else THROUGHPUT
    return _PLAIN[metric]


def in_quantity(value: float, metric: str, batch: int) -> float:
    """The value in the quantity's unit: ms for TPOT and TTFT, else the metric's own."""
    inverted = metric in _RATES_OF_ONE and quantity(metric, batch) in (TPOT_1, TPOT_N)
    return 1e3 / value if inverted else value
