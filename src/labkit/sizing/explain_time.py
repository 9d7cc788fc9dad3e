"""The explanation of times and cost: hardware, the two kinds of step, throughput, price."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.sizing.efficiency import Efficiency
from labkit.sizing.estimate import Estimate
from labkit.sizing.parallel import ALL_REDUCES_PER_LAYER
from labkit.sizing.roofline import compute_dtype
from labkit.sizing.step import StepTime
from labkit.sizing.terms import Term, band_term, row_of


def hardware_terms(e: Estimate) -> Iterator[Term]:
    """Bandwidth, peak and the prior's shares of them."""
    section, accelerator, device = "Hardware", e.instance.accelerator, e.device
    if device.bandwidth > 0:
        share = {"NeuronCore": ", one core's share", "CPU": ", fair share of the socket"}
        yield Term(
            section, "bandwidth", device.bandwidth, "B/s", row_of(e) + share.get(device.noun, "")
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
        yield Term(section, f"dense peak, computing in {dtype}", peak, "FLOP/s", row_of(e))
    else:
        yield Term(
            section,
            "dense peak",
            None,
            "FLOP/s",
            "not used, or no source gives it: without it prefill and TTFT are not estimated",
        )
    if e.efficiency is not None:
        yield from _efficiency_terms(section, e.efficiency, e.tensor_parallel_size)


_KINDS = {
    "fit": "fitted to published measurements",
    "prior": "prior: a published range, not fitted",
}


def _efficiency_terms(section: str, efficiency: Efficiency, n: int) -> Iterator[Term]:
    note = f"{_KINDS[efficiency.kind]} ({efficiency.name})"
    yield Term(section, "MBU, weights", efficiency.mbu, "share of bandwidth", note)
    yield Term(section, "MBU, KV cache", efficiency.mbu_kv, "share of bandwidth", note)
    yield Term(section, "MFU, prefill", efficiency.mfu, "share of peak", note)
    if efficiency.mfu_decode != efficiency.mfu:
        yield Term(section, "MFU, decode", efficiency.mfu_decode, "share of peak", note)
    hidden = ", beside the device: what exceeds its time shows" if efficiency.hides_host else ""
    yield Term(section, "host time per layer", efficiency.layer_seconds * 1e6, "us", note + hidden)
    yield Term(section, "host time per step", efficiency.step_seconds * 1e6, "us", note)
    yield Term(section, "host time per sequence", efficiency.sequence_seconds * 1e6, "us", note)
    if n > 1:
        link = efficiency.link
        yield Term(section, "all-reduce latency", link.latency(n) * 1e6, "us", link.name)


def step_terms(e: Estimate) -> Iterator[Term]:
    """The decode step of all running sequences, and the prefill of one prompt."""
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
    yield Term(
        section, f"{stem}: weights read", step.work.weight_bytes, "B", "one device, once a step"
    )
    yield Term(
        section, f"{stem}: KV cache read", step.work.kv_bytes, "B", "one device, all sequences"
    )
    yield Term(
        section, f"{stem}: FLOPs", step.work.flops, "FLOP", "2 per weight and token + attention"
    )
    yield Term(
        section,
        f"{stem}: roofline",
        step.roofline * 1e3,
        "ms",
        "max(bytes / bandwidth, FLOPs / peak): nothing is faster",
    )
    for name, seconds, source in (
        ("weights", step.weights, "bytes / (bandwidth x MBU)"),
        ("KV cache", step.cache, "bytes / (bandwidth x MBU of the cache)"),
        ("compute", step.compute, "FLOPs / (peak x MFU)"),
        ("reading beside computing", -step.hidden, "overlap of weights and compute, taken off"),
        ("all-reduces", step.communication, _all_reduce_source(e)),
        ("host", step.overhead, f"{e.model.layers} layers x host time + per step and sequence"),
    ):
        if seconds is not None and (seconds or name not in _ONLY_IF_ANY):
            yield Term(section, f"{stem}: {name}", seconds * 1e3, "ms", source)
    spread = step.spread
    yield band_term(
        section,
        f"{stem}: total",
        step.total.times(1e3),
        "ms",
        f"sum of the terms; range x {spread.low:.2f} to x {spread.high:.2f}, {spread.kind}"
        + (f" of {spread.rows} rows" if spread.rows else ""),
    )


_ONLY_IF_ANY = frozenset({"all-reduces", "reading beside computing"})


def _all_reduce_source(e: Estimate) -> str:
    return (
        f"{ALL_REDUCES_PER_LAYER} per layer, alpha + 2(n-1)/n x bytes / bw(n), "
        f"{e.efficiency.link.name if e.efficiency else 'no link'}"
    )


def money_terms(e: Estimate) -> Iterator[Term]:
    """Throughput, price and what stands idle."""
    section = "Throughput and cost"
    if e.output_tokens_per_s is not None and e.tpot_ms is not None:
        yield band_term(
            section,
            "decode alone",
            e.tpot_ms.under(e.running_sequences * 1e3),
            "tokens/s",
            "running sequences / TPOT",
        )
        yield band_term(
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
