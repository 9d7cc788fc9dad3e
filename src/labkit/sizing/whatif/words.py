"""A look in words and rows: what the plain text and the panel both say."""

from __future__ import annotations

from datetime import date

from labkit.contract.view import number
from labkit.sizing.bands import Band
from labkit.sizing.estimate import Estimate
from labkit.sizing.fleet import DEFAULT_HEADROOM
from labkit.sizing.money import usd
from labkit.sizing.refusal_codes import BLOCKING
from labkit.sizing.units import plural
from labkit.sizing.whatif.at_rate import AtRate
from labkit.sizing.whatif.look import Look

COLUMNS = ("one replica", "low", "mid", "high")


def title(look: Look) -> str:
    """What is looked at, in one line."""
    e = look.estimate
    return (
        f"{e.model.name} on {e.instance.name}: {plural(e.tensor_parallel_size, e.device.noun)}, "
        f"{e.engine.name}, {e.config.weights} weights, {e.config.kv} KV cache, "
        f"batch {e.config.batch}, {e.workload.prompt_tokens:,} prompt + "
        f"{e.workload.output_tokens:,} output tokens"
    )


def verdict(look: Look) -> str:
    """Whether it runs, and how many sequences."""
    e = look.estimate
    batch, running = e.config.batch, e.running_sequences
    if e.fits:
        return f"Runs. {_count(batch)} at full length; the memory has room for {e.max_sequences:,}."
    if running and not {r.code for r in e.refusals} & BLOCKING - {"KV_CACHE"}:
        return f"Runs {running:,} of {batch:,} sequences at once; the rest wait."
    return "Does not run as asked."


def refusals(look: Look) -> tuple[str, ...]:
    """Every obstacle as "CODE: sentence"."""
    return tuple(f"{r.code}: {r.detail}" for r in look.estimate.refusals)


def binds(look: Look) -> str:
    """The term that rules a decode step, and what moves it; empty where nothing is timed."""
    return _BINDS.get(look.estimate.bound or "", "")


_BINDS = {
    "memory": (
        "Memory bandwidth binds the decode step. Smaller weights or a faster memory shorten it; "
        "a larger batch shares the reading of the weights among more sequences."
    ),
    "compute": (
        "Arithmetic binds the decode step. A larger batch now lengthens it nearly in proportion."
    ),
    "communication": (
        "Talk between devices binds the decode step. Fewer devices, or a faster link, shorten it."
    ),
    "overhead": (
        "The host binds the decode step: the device waits for it. More bandwidth changes little."
    ),
}


def rows(look: Look) -> list[tuple[str, str, str, str]]:
    """The numbers of one replica, each low, mid and high."""
    e = look.estimate
    return [
        (name, number(band.low, 3), number(band.mid, 3), number(band.high, 3))
        for name, band in (
            ("TTFT, ms", e.ttft_ms),
            ("TPOT, ms", e.tpot_ms),
            ("output tokens/s", e.output_tokens_per_s),
            ("requests/s", e.requests_per_s),
            ("USD per 1M output tokens", e.usd_per_million_output_tokens),
        )
        if band is not None
    ]


def at_rate_lines(look: Look) -> tuple[str, ...]:
    """What the asked rate needs, in sentences."""
    asked, found = look.asked.rate, look.at_rate
    if asked is None:
        return ()
    if found is None:
        return (f"{number(asked)} requests/s: no answer, since a replica cannot be timed.",)
    return (_fleet(look.estimate, found), _meets(look.estimate, found), _cost(found))


def _fleet(e: Estimate, found: AtRate) -> str:
    low, high = found.replicas_range
    replicas = "1 replica" if found.replicas == 1 else f"{found.replicas:,} replicas"
    text = f"{number(found.rate)} requests/s need {replicas}"
    if low != high:
        text += f" ({low:,} to {high:,})"
    text += f" on {plural(found.instances, e.instance.name)}: "
    return (
        text + f"one keeps up with {_range(found.capacity)} requests/s, "
        f"and {DEFAULT_HEADROOM:.0%} stay free."
    )


def _meets(e: Estimate, found: AtRate) -> str:
    tpot = "" if found.tpot_p95_ms is None else f", TPOT below {number(found.tpot_p95_ms, 3)} ms"
    return (
        f"Each is {found.utilisation:.0%} busy with {number(found.sequences, 3)} sequences in "
        f"flight on average (at most {e.config.batch:,}). 95% of requests meet a TTFT below "
        f"{number(found.ttft_p95_ms, 3)} ms{tpot}."
    )


def _cost(found: AtRate) -> str:
    if found.usd_per_hour is None or found.usd_per_million is None:
        return "No price is known, so the fleet's cost is not."
    return (
        f"The fleet costs {usd(found.usd_per_hour)} per hour, "
        f"{usd(found.usd_per_million)} per 1M output tokens at this rate."
    )


def footnotes(look: Look, today: date) -> tuple[str, ...]:
    """Where ranges and the price come from."""
    e, found = look.estimate, []
    if e.decode is not None:
        spread = e.decode.spread
        found.append(
            f"Ranges: residuals of {spread.rows} published measurements."
            if spread.kind == "fit"
            else "Ranges: a prior; no published measurement of this class was fitted."
        )
    if e.price is not None:
        stale = ", expired" if e.price.provenance.stale(today) else ""
        found.append(
            f"Price: {usd(e.price.usd_per_hour)}/h {e.price.kind}, {e.price.region}, as of "
            f"{e.price.provenance.as_of.isoformat()} ({e.price.age(today)} old{stale})."
        )
    return tuple(found)


def _count(batch: int) -> str:
    return "1 sequence" if batch == 1 else f"All {batch:,} sequences"


def _range(band: Band) -> str:
    return f"{number(band.mid, 3)} ({number(band.low, 3)} to {number(band.high, 3)})"
