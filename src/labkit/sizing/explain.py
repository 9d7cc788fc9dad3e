"""`explain`: every byte and every term of an estimate, with unit and source.

Terms are made on demand, so that the numbers alone stay cheap. A term with a range carries low
and high beside its value; in JSON it becomes three entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from labkit.sizing.bands import PRIOR_SOURCE, Band
from labkit.sizing.estimate import Estimate
from labkit.sizing.kv import kv_blocks, kv_bytes_per_sequence, kv_bytes_per_token
from labkit.sizing.memory import max_sequences
from labkit.sizing.parallel import ALL_REDUCES_PER_LAYER, LINK_PRIORS, link_kind
from labkit.sizing.roofline import compute_dtype
from labkit.sizing.step import StepTime
from labkit.sizing.weights import (
    expected_distinct_experts,
    experts_touched,
    resident_weight_bytes,
    resident_weight_parts,
    streamed_weight_bytes,
)


@dataclass(frozen=True, slots=True)
class Term:
    """One number of an explanation. `value` None: no source gives it, and `source` says so."""

    section: str
    name: str
    value: float | None
    unit: str
    source: str
    low: float | None = None
    high: float | None = None

    def entries(self) -> Iterator[dict[str, Any]]:
        """The term as JSON entries: one, or three where it has a range."""
        yield {"name": self.name, "value": self.value, "unit": self.unit, "source": self.source}
        for label, value in (("low", self.low), ("high", self.high)):
            if value is not None:
                yield {
                    "name": f"{self.name} ({label})",
                    "value": value,
                    "unit": self.unit,
                    "source": self.source,
                }


def explain(estimate: Estimate) -> tuple[Term, ...]:
    """All terms in reading order: weights, memory, occupancy, hardware, decode, prefill, cost."""
    return (
        *_weights(estimate),
        *_memory(estimate),
        *_occupancy(estimate),
        *_hardware(estimate),
        *_steps(estimate),
        *_money(estimate),
    )


def _weights(e: Estimate) -> Iterator[Term]:
    fmt, params = e.config.weight_format, e.model.params
    parts = resident_weight_parts(e.model, fmt)
    section = "Weights, whole model"
    for name, size, count in (
        ("input embedding (resident, not streamed)", parts.embedding, params.embedding),
        ("output head", parts.head, params.head),
        ("position table", parts.positions, params.positions),
        ("linear layers", parts.linear, params.linear),
        ("experts, all of them", parts.experts, params.experts),
        ("norms, biases, routers", parts.other, params.other),
    ):
        if count:
            source = f"{count:,} parameters x {size / count:g} bytes"
            if params.tied and count == params.embedding:
                source += "; tied: the head reads this table"
            yield Term(section, name, size, "B", source)
    resident = resident_weight_bytes(e.model, fmt)
    yield Term(section, "weights, resident", resident, "B", f"{params.total:,} parameters, sum")
    batch = max(1, e.running_sequences)
    streamed = streamed_weight_bytes(e.model, fmt, batch)
    yield Term(
        section,
        "weights, streamed per decode step",
        streamed,
        "B",
        f"all but the input embedding, head included, batch {batch}",
    )
    if e.model.moe is not None:
        moe = e.model.moe
        touched = experts_touched(moe.experts, moe.experts_per_token, batch)
        yield Term(
            section,
            "experts read per layer and step",
            touched,
            "experts",
            f"min({moe.experts}, {batch} x {moe.experts_per_token}): upper bound, used here",
        )
        expected = expected_distinct_experts(moe.experts, moe.experts_per_token, batch)
        yield Term(
            section,
            "distinct experts expected",
            expected,
            "experts",
            "N(1-(1-k/N)^batch), uniform independent routing; not used",
        )


def _memory(e: Estimate) -> Iterator[Term]:
    budget, n = e.memory, e.tensor_parallel_size
    section = f"Memory of one device ({e.device.noun}, TP {n})"
    accelerator = e.instance.accelerator
    provenance = accelerator.provenance if accelerator else e.instance.provenance
    yield Term(
        section,
        "usable memory",
        budget.usable_bytes,
        "B",
        f"{_row(e)}: {provenance.source}",
    )
    yield Term(
        section,
        "gpu_memory_utilization",
        budget.utilization,
        "share",
        f"{'given' if e.config.gpu_memory_utilization else e.engine.name + ' default'}, "
        f"of {'the total' if budget.utilization_of == 'total' else 'what is free after loading'}",
    )
    yield Term(
        section,
        "weights on this device",
        budget.weights_bytes,
        "B",
        "resident / TP; norms and positions on every device",
    )
    yield _band(section, "engine overhead", budget.overhead, "B", e.engine.overhead.source)
    rule = (
        "utilization x usable - weights - overhead"
        if budget.utilization_of == "total"
        else "utilization x (usable - weights - overhead)"
    )
    yield _band(section, "KV pool", budget.pool, "B", rule)


def _occupancy(e: Estimate) -> Iterator[Term]:
    section, n, length = "KV cache and occupancy", e.tensor_parallel_size, e.workload.full_length
    kv, budget = e.config.kv_format, e.memory
    yield Term(
        section,
        "KV per token, whole model",
        kv_bytes_per_token(e.model, kv),
        "B",
        _kv_formula(e),
    )
    yield Term(
        section,
        "KV per token, one device",
        budget.kv_bytes_per_token,
        "B",
        f"KV heads / TP {n}, at least one per device; an MLA latent is not divided",
    )
    block = e.config.block_tokens if e.engine.paged else 1
    each = kv_bytes_per_sequence(e.model, kv, length, tensor_parallel_size=n, block_tokens=block)
    yield Term(
        section,
        "KV per sequence at full length",
        each,
        "B",
        f"{e.workload.prompt_tokens:,} + {e.workload.output_tokens:,} tokens, one device, "
        f"blocks of {block}; sliding windows capped",
    )
    yield Term(
        section,
        "KV blocks",
        kv_blocks(budget.kv_pool_bytes, budget.kv_bytes_per_token, e.config.block_tokens),
        "blocks",
        f"pool / {e.config.block_tokens} tokens",
    )
    yield Term(
        section,
        "cached tokens, most",
        budget.max_cached_tokens,
        "tokens",
        "whole blocks, of the replica",
    )
    yield Term(
        section,
        "sequences at full length",
        e.max_sequences,
        "sequences",
        f"pool / {length:,}-token sequence; this decides `fits`",
        low=_room(e, budget.pool.low, length),
        high=_room(e, budget.pool.high, length),
    )
    middle = e.workload.mean_context
    yield Term(
        section,
        "sequences mid-generation",
        e.max_sequences_mid_generation,
        "sequences",
        f"if all stood at {middle:,.0f} tokens (prompt + output / 2); more would preempt later",
        low=_room(e, budget.pool.low, middle),
        high=_room(e, budget.pool.high, middle),
    )
    yield Term(
        section,
        "sequences running",
        e.running_sequences,
        "sequences",
        f"of the {e.config.batch} asked; times below are theirs, the rest wait in a queue",
    )


def _hardware(e: Estimate) -> Iterator[Term]:
    section, accelerator, device = "Hardware", e.instance.accelerator, e.device
    if device.bandwidth > 0:
        share = {"NeuronCore": ", one core's share", "CPU": ", fair share of the socket"}
        yield Term(
            section, "bandwidth", device.bandwidth, "B/s", _row(e) + share.get(device.noun, "")
        )
    else:
        yield Term(
            section,
            "bandwidth",
            None,
            "B/s",
            f"no source gives it for {e.instance.name}: times and cost are not estimated",
        )
    peak = device.peak(e.config.weight_format) if e.decode else 0.0
    if peak > 0 and accelerator is not None:
        dtype = compute_dtype(accelerator, e.config.weight_format)
        yield Term(section, f"dense peak, computing in {dtype}", peak, "FLOP/s", _row(e))
    else:
        yield Term(
            section,
            "dense peak",
            None,
            "FLOP/s",
            "not used, or no source gives it: without it prefill and TTFT are not estimated",
        )
    if e.prior is not None:
        note = f"{PRIOR_SOURCE} ({e.prior.name})"
        yield _band(section, "MBU", e.prior.mbu, "share of bandwidth", note)
        yield _band(section, "MFU", e.prior.mfu, "share of peak", note)
        yield _band(section, "host time per layer", e.prior.layer_seconds.times(1e6), "us", note)


def _steps(e: Estimate) -> Iterator[Term]:
    if e.decode is not None:
        yield from _step_terms(
            f"Decode step, {e.running_sequences} at {e.workload.mean_context:,.0f} tokens each",
            "decode",
            e,
            e.decode,
        )
    if e.prefill is not None and e.prefill.compute is not None:
        computed = round(e.workload.prompt_tokens * (1 - e.workload.prefix_hit_rate))
        yield from _step_terms(
            f"Prefill, one prompt, {computed:,} of {e.workload.prompt_tokens:,} tokens computed",
            "prefill",
            e,
            e.prefill,
        )


def _step_terms(section: str, stem: str, e: Estimate, step: StepTime) -> Iterator[Term]:
    yield Term(section, f"{stem}: weights read", step.weight_bytes, "B", "one device, once a step")
    yield Term(section, f"{stem}: KV cache read", step.kv_bytes, "B", "one device, all sequences")
    yield Term(section, f"{stem}: FLOPs", step.flops, "FLOP", "2 per weight and token + attention")
    yield Term(
        section,
        f"{stem}: roofline",
        step.roofline * 1e3,
        "ms",
        "max(bytes / bandwidth, FLOPs / peak): nothing is faster",
    )
    yield _band(
        section, f"{stem}: memory", step.memory.times(1e3), "ms", "bytes / (bandwidth x MBU)"
    )
    if step.compute is not None:
        yield _band(
            section, f"{stem}: compute", step.compute.times(1e3), "ms", "FLOPs / (peak x MFU)"
        )
    if e.tensor_parallel_size > 1:
        link = LINK_PRIORS[link_kind(e.device.link)]
        yield _band(
            section,
            f"{stem}: all-reduces",
            step.communication.times(1e3),
            "ms",
            f"{ALL_REDUCES_PER_LAYER} per layer, alpha + 2(n-1)/n x bytes / bw(n); {link.source}",
        )
    yield _band(
        section,
        f"{stem}: host and launches",
        step.overhead.times(1e3),
        "ms",
        f"{e.model.layers} layers x host time",
    )
    yield _band(
        section,
        f"{stem}: total",
        step.total.times(1e3),
        "ms",
        "max(memory, compute) + all-reduces + host",
    )


def _money(e: Estimate) -> Iterator[Term]:
    section = "Throughput and cost"
    if e.output_tokens_per_s is not None and e.tpot_ms is not None:
        yield _band(
            section,
            "decode alone",
            e.tpot_ms.under(e.running_sequences * 1e3),
            "tokens/s",
            "running sequences / TPOT",
        )
        yield _band(
            section,
            "sustained",
            e.output_tokens_per_s,
            "tokens/s",
            "running x output / (running x prefill + (output - 1) x step)"
            if e.ttft_ms is not None
            else "decode alone: prefill time unknown",
        )
    if e.price is not None:
        provenance = e.price.provenance
        yield Term(
            section,
            f"{e.price.kind} price, {e.price.region}",
            e.price.usd_per_hour,
            "USD/h",
            f"{provenance.source}, as of {provenance.as_of.isoformat()}",
        )
    idle = e.device.count - e.tensor_parallel_size
    if idle > 0:
        yield Term(
            section,
            "idle devices",
            idle,
            "devices",
            "one replica is estimated; it is charged the whole instance",
        )


def _row(e: Estimate) -> str:
    """Where the device's figures stand; `usable memory` carries the sources in full."""
    accelerator = e.instance.accelerator
    name = accelerator.name if accelerator else e.instance.name
    provenance = accelerator.provenance if accelerator else e.instance.provenance
    return f"catalogue row {name}, as of {provenance.as_of.isoformat()}"


def _room(e: Estimate, pool: float, tokens: float) -> int:
    return max_sequences(
        e.model, e.config, pool, tokens, e.tensor_parallel_size, paged=e.engine.paged
    )


def _band(section: str, name: str, band: Band, unit: str, source: str) -> Term:
    return Term(section, name, band.mid, unit, source, low=band.low, high=band.high)


def _kv_formula(e: Estimate) -> str:
    width = e.config.kv_format.bytes_per_weight
    words = []
    for kind in e.model.attention:
        if kind.kind == "mla":
            words.append(f"{kind.layers} layers x ({kind.latent_dim} + {kind.rope_dim})")
        elif kind.kind == "linear":
            words.append(f"{kind.layers} linear layers: constant state")
        else:
            value = kind.value_head_dim or kind.head_dim
            dims = (
                f"2 x {kind.head_dim}" if value == kind.head_dim else f"({kind.head_dim} + {value})"
            )
            window = f" (window {kind.window:,})" if kind.kind == "sliding" and kind.window else ""
            words.append(f"{kind.layers} layers{window} x {kind.kv_heads} KV heads x {dims}")
    return " + ".join(words) + f", x {width:g} bytes ({e.config.kv})"
