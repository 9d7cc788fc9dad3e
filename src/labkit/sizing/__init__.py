"""The sizing engine: memory, roofline, tensor parallelism, time and cost of a model on an instance.

Pure functions on the catalogue's records: no files, no network, no torch.
"""

from labkit.sizing.flops import attention_flops, decode_flops, prefill_flops
from labkit.sizing.inputs import SLO, EngineConfig, SizingError, Workload
from labkit.sizing.kv import (
    kv_blocks,
    kv_bytes_per_sequence,
    kv_bytes_per_token,
    kv_growth_bytes_per_token,
    kv_heads_per_device,
    max_cached_tokens,
)
from labkit.sizing.roofline import (
    arithmetic_intensity,
    attainable_flops,
    compute_bound_context_limit,
    compute_dtype,
    compute_peak,
    critical_batch,
    decode_bytes,
    decode_ceiling_tokens_per_s,
    decode_step_seconds,
    prefill_floor_seconds,
    ridge_point,
)
from labkit.sizing.weights import (
    active_parameters,
    expected_distinct_experts,
    experts_touched,
    resident_weight_bytes,
    resident_weight_parts,
    streamed_weight_bytes,
)

__all__ = [
    "SLO",
    "EngineConfig",
    "SizingError",
    "Workload",
    "active_parameters",
    "arithmetic_intensity",
    "attainable_flops",
    "attention_flops",
    "compute_bound_context_limit",
    "compute_dtype",
    "compute_peak",
    "critical_batch",
    "decode_bytes",
    "decode_ceiling_tokens_per_s",
    "decode_flops",
    "decode_step_seconds",
    "expected_distinct_experts",
    "experts_touched",
    "kv_blocks",
    "kv_bytes_per_sequence",
    "kv_bytes_per_token",
    "kv_growth_bytes_per_token",
    "kv_heads_per_device",
    "max_cached_tokens",
    "prefill_floor_seconds",
    "prefill_flops",
    "resident_weight_bytes",
    "resident_weight_parts",
    "ridge_point",
    "streamed_weight_bytes",
]
