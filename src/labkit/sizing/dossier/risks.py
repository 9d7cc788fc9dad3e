"""What could go wrong with the winner, as its own numbers show, and what is not modelled."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.catalog.formats import number_format
from labkit.contract.view import number
from labkit.sizing.bands import Band
from labkit.sizing.dossier.collect import Dossier, Winner
from labkit.sizing.memory import max_sequences
from labkit.sizing.money import usd

NOT_MODELLED = (
    "Network, load balancer, TLS and tokenization: they add to TTFT.",
    "Storage, data transfer, load balancers and monitoring: they add to the bill.",
    "Prefill/decode disaggregation, KV cache offload, expert parallelism over several machines, "
    "speculative decoding and LoRA adapters.",
    "Whether AWS has the capacity when you launch: a quota is a permission, not a reservation.",
    "Bursts within a minute: arrivals are taken as random around a steady rate.",
    "The quality of quantized weights: test yours on your own questions.",
)


def risks(dossier: Dossier) -> tuple[str, ...]:
    """Sentences, the gravest first; empty only where no number gives cause for concern."""
    winner = dossier.winner
    return () if winner is None else tuple(_risks(dossier, winner))


def _risks(dossier: Dossier, winner: Winner) -> Iterator[str]:
    best, slo = winner.deployment, dossier.recommendation.workload.slo
    if slo is not None:
        for name, limit, band in (
            ("TTFT", slo.ttft_ms, best.ttft_ms),
            ("TPOT", slo.tpot_ms, best.served_tpot_ms),
        ):
            yield from _slow_end(name, limit, band)
    if best.kind == "prior":
        yield (
            "No published measurement of this class of machine, engine and format was fitted: "
            "times are a prior. Measure one instance before you buy many."
        )
    yield from _quantized(winner)
    yield from _memory(winner)
    yield from _one_machine(winner)
    yield from _price(dossier, winner)
    accelerator = best.instance.accelerator
    if accelerator is not None and accelerator.provenance.confidence == "low":
        yield f"Low confidence in {accelerator.name}: {accelerator.provenance.note}"


def _slow_end(name: str, limit: float | None, band: Band) -> Iterator[str]:
    if limit is not None and band.high > limit:
        yield (
            f"At the slow end of the range {name} is {number(band.high, 3)} ms, above the "
            f"promised {number(limit)} ms. The promise holds at the expected value only."
        )


def _quantized(winner: Winner) -> Iterator[str]:
    e = winner.estimate
    used, published = e.config.weight_format, number_format(e.model.native_format)
    if used.bits < published.bits:
        yield (
            f"The weights are {used.name}; the model was published in {published.name}. Quantized "
            "answers may be worse: evaluate them, or name the formats you accept with --weights."
        )


def _memory(winner: Winner) -> Iterator[str]:
    e, best = winner.estimate, winner.deployment
    low = max_sequences(
        e.model,
        e.config,
        e.memory.pool.low,
        e.workload.full_length,
        e.tensor_parallel_size,
        paged=e.engine.paged,
    )
    if low < best.batch:
        yield (
            f"If the engine keeps as much memory as it may, {low:,} instead of {best.batch:,} "
            "sequences fit at full length; the rest wait."
        )


def _one_machine(winner: Winner) -> Iterator[str]:
    if winner.fleet_size == 1:
        yield "One instance is the whole fleet: while it is down, nothing answers."
    elif winner.deployment.fleet.spares == 0:
        yield "No spare instance is counted: with one lost, the rest may not hold the SLO."


def _price(dossier: Dossier, winner: Winner) -> Iterator[str]:
    price, on = winner.deployment.price, dossier.on
    if price.provenance.stale(on):
        yield (f"The price is {price.age(on)} old and has expired: check it before you decide.")
    if price.kind == "spot":
        band = next(
            (option.interruption for option in winner.purchases if option.interruption), None
        )
        words = "with no published band" if band is None else f"{band.words} of it in a month"
        yield f"AWS takes Spot capacity back at two minutes' notice ({words})."
        option = next(o for o in winner.purchases if o.kind.name == "spot")
        if option.usd_per_month is not None and option.instances > winner.fleet_size:
            yield (
                f"To outlive the loss of a capacity pool, hold {option.instances:,} instances on "
                f"Spot, not {winner.fleet_size:,}: {usd(option.usd_per_month.mid)} a month."
            )
