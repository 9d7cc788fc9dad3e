"""The sizing engine: memory, roofline, tensor parallelism, time and cost of a model on an instance.

Pure functions on the catalogue's records: no files, no network, no torch.
"""

from labkit.sizing.bands import Band
from labkit.sizing.cost import usd_per_million_tokens, usd_per_request
from labkit.sizing.estimate import Estimate, estimate
from labkit.sizing.explain import explain
from labkit.sizing.fleet import plan_fleet
from labkit.sizing.fleet_plan import FleetPlan
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
from labkit.sizing.parallel import all_reduce_seconds, valid_tensor_parallel_sizes
from labkit.sizing.pricing import CostReport, FleetLoad, cost_report
from labkit.sizing.purchase import PurchaseOption, purchase_options
from labkit.sizing.recommend import recommend
from labkit.sizing.recommendation import Recommendation
from labkit.sizing.refusal import Refusal, RefusalCode
from labkit.sizing.report import as_dict
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
from labkit.sizing.serving import Goodput, ServingPoint, max_rate_under_slo, steady_state
from labkit.sizing.sweep import sweep
from labkit.sizing.terms import Term
from labkit.sizing.user_rates import UserRate
from labkit.sizing.weights import (
    active_parameters,
    expected_distinct_experts,
    experts_touched,
    resident_weight_bytes,
    resident_weight_parts,
    streamed_weight_bytes,
)
from labkit.sizing.whatif import what_if

__all__ = [
    "SLO",
    "Band",
    "CostReport",
    "EngineConfig",
    "Estimate",
    "FleetLoad",
    "FleetPlan",
    "Goodput",
    "PurchaseOption",
    "Recommendation",
    "Refusal",
    "RefusalCode",
    "ServingPoint",
    "SizingError",
    "Term",
    "UserRate",
    "Workload",
    "active_parameters",
    "all_reduce_seconds",
    "arithmetic_intensity",
    "as_dict",
    "attainable_flops",
    "attention_flops",
    "compute_bound_context_limit",
    "compute_dtype",
    "compute_peak",
    "cost_report",
    "critical_batch",
    "decode_bytes",
    "decode_ceiling_tokens_per_s",
    "decode_flops",
    "decode_step_seconds",
    "estimate",
    "expected_distinct_experts",
    "experts_touched",
    "explain",
    "kv_blocks",
    "kv_bytes_per_sequence",
    "kv_bytes_per_token",
    "kv_growth_bytes_per_token",
    "kv_heads_per_device",
    "max_cached_tokens",
    "max_rate_under_slo",
    "plan_fleet",
    "prefill_floor_seconds",
    "prefill_flops",
    "purchase_options",
    "recommend",
    "resident_weight_bytes",
    "resident_weight_parts",
    "ridge_point",
    "steady_state",
    "streamed_weight_bytes",
    "sweep",
    "usd_per_million_tokens",
    "usd_per_request",
    "valid_tensor_parallel_sizes",
    "what_if",
]
