"""`explain`: every byte and every term of an estimate, with unit and source.

Terms are made on demand, so that the numbers alone stay cheap. Here: weights, memory and
occupancy; times and cost are in `explain_time`.
"""

from __future__ import annotations

from collections.abc import Iterator

from labkit.sizing.estimate import Estimate
from labkit.sizing.explain_time import hardware_terms, money_terms, step_terms
from labkit.sizing.kv import kv_blocks, kv_bytes_per_sequence, kv_bytes_per_token
from labkit.sizing.memory import max_sequences, overhead_parts
from labkit.sizing.terms import Term, band_term, row_of
from labkit.sizing.weights import (
    expected_distinct_experts,
    experts_touched,
    resident_weight_bytes,
    resident_weight_parts,
    streamed_weight_bytes,
)


def explain(estimate: Estimate) -> tuple[Term, ...]:
    """All terms in reading order: weights, memory, occupancy, hardware, decode, prefill, cost."""
    return (
        *_weights(estimate),
        *_memory(estimate),
        *_occupancy(estimate),
        *hardware_terms(estimate),
        *step_terms(estimate),
        *money_terms(estimate),
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
        f"{row_of(e)}: {provenance.source}",
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
    for part in overhead_parts(e.model, e.device, e.engine, e.config, n):
        yield band_term(section, f"engine overhead: {part.name}", part.size, "B", part.source)
    yield band_term(
        section,
        "engine overhead",
        budget.overhead,
        "B",
        "sum of its parts; ends: spread of the fit",
    )
    rule = (
        "utilization x usable - weights - overhead"
        if budget.utilization_of == "total"
        else "utilization x (usable - weights - overhead)"
    )
    yield band_term(section, "KV pool", budget.pool, "B", rule)


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


def _room(e: Estimate, pool: float, tokens: float) -> int:
    return max_sequences(
        e.model, e.config, pool, tokens, e.tensor_parallel_size, paged=e.engine.paged
    )


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
