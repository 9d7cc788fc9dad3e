"""The sentences that every view of a recommendation shares: question, answer, prices, ranges."""

from __future__ import annotations

from datetime import date
from math import isinf

from labkit.catalog.specs import Price
from labkit.contract.view import number
from labkit.sizing.bands import Band
from labkit.sizing.dossier.collect import Dossier, Winner
from labkit.sizing.inputs import SLO, Workload
from labkit.sizing.lengths import Lengths
from labkit.sizing.loading import GP3_LEAST_MIB
from labkit.sizing.money import usd
from labkit.sizing.recommendation import Deployment, Recommendation, Setup

LOAD_SOURCES = {
    "ebs": f"gp3 volume at {GP3_LEAST_MIB:,.0f} MiB/s",
    "nvme": "local NVMe drives",
    "network": "another machine over the network",
    "s3": "S3",
}


def question(recommendation: Recommendation) -> str:
    """Model, traffic and promise in one or two sentences."""
    workload = recommendation.workload
    rate = workload.requests_per_second
    often = "as many requests as it can" if rate is None else f"{number(rate)} requests/s"
    text = (
        f"Which machine should serve {recommendation.model.name} with {often}, "
        f"{lengths(workload.prompt_lengths, workload.prompt_tokens)} prompt tokens and "
        f"{lengths(workload.output_lengths, workload.output_tokens)} output tokens each?"
    )
    if workload.prefix_hit_rate:
        text += f" {workload.prefix_hit_rate:.0%} of the prompt is found in the prefix cache."
    return f"{text} {promise(workload)}"


def lengths(law: Lengths | None, mean: int) -> str:
    """ "512", or the mean and the tail of a distribution: "300 (95% below 900)"."""
    if law is None or law.variance <= 0:
        return f"{mean:,}"
    return f"{mean:,} (95% below {law.quantile(0.95):,})"


def promise(workload: Workload) -> str:
    """The SLO as a sentence."""
    slo = workload.slo
    limits = _limits(slo)
    if slo is None or not limits:
        return "No latency is promised."
    return f"Promised to {number(slo.percentile)}% of requests: {' and '.join(limits)}."


def _limits(slo: SLO | None) -> list[str]:
    if slo is None:
        return []
    return [
        f"{name} of at most {number(value)} ms"
        for name, value in (("TTFT", slo.ttft_ms), ("TPOT", slo.tpot_ms))
        if value is not None
    ]


def answer(dossier: Dossier) -> tuple[str, str]:
    """The answer in two sentences."""
    winner, recommendation = dossier.winner, dossier.recommendation
    if winner is None:
        return _nothing(recommendation)
    best, fleet = winner.deployment, winner.deployment.fleet
    first = (
        f"Run {instances(best, winner.fleet_size)} with {set_up(best.setup)}, at most "
        f"{best.batch:,} sequences in flight per replica: {usd(fleet.usd_per_hour.mid)} an hour, "
        f"{usd(fleet.usd_per_month.mid)} a month, "
        f"{usd(fleet.usd_per_million_output_tokens.mid)} per 1M output tokens"
    )
    load = (
        "at full load"
        if fleet.rate is None
        else f"with the fleet {fleet.utilisation:.0%} busy at {number(fleet.rate)} requests/s"
    )
    second = (
        f"Expect a TTFT of {spread(best.ttft_ms)} ms and a TPOT of "
        f"{spread(best.served_tpot_ms)} ms at busy moments, {load}"
    )
    if fleet.spares:
        lost = "one instance" if fleet.spares == 1 else f"{fleet.spares} instances"
        second += f"; the promise still holds with {lost} lost"
    return f"{first}.", f"{second}."


def _nothing(recommendation: Recommendation) -> tuple[str, str]:
    first = f"Nothing holds this: {recommendation.considered:,} set-ups were looked at."
    if not recommendation.nearest:
        return first, "No instance type came near it."
    nearest = recommendation.nearest[0]
    return first, f"The nearest is {setup_name(nearest.setup)}. {nearest.miss.detail}"


def instances(deployment: Deployment, count: int | None = None) -> str:
    """ "3 × g6e.xlarge"."""
    size = deployment.fleet.instances if count is None else count
    return f"{size:,}\u00a0×\u00a0{deployment.setup.instance}"


def set_up(setup: Setup) -> str:
    """ "vllm, fp8 weights, bf16 KV cache, TP 2"."""
    return (
        f"{setup.engine}, {setup.weights} weights, {setup.kv} KV cache, "
        f"TP {setup.tensor_parallel_size}"
    )


def setup_name(setup: Setup) -> str:
    """ "g6e.xlarge fp8 TP 1"."""
    return f"{setup.instance} {setup.weights} TP {setup.tensor_parallel_size}"


def spread(band: Band) -> str:
    """ "38 (26 to 71)"; one number where the range has no width."""
    if band.low == band.high:
        return number(band.mid, 3)
    return f"{number(band.mid, 3)} ({number(band.low, 3)} to {number(band.high, 3)})"


def usd_spread(band: Band) -> str:
    """The same for money."""
    if band.low == band.high:
        return usd(band.mid)
    return f"{usd(band.mid)} ({usd(band.low)} to {usd(band.high)})"


def over(times: float) -> str:
    """How many times a limit was missed: "1.2 ×"; "–" where there is no number."""
    if isinf(times):
        return "–"
    return f"{times:,.2f} ×" if times < 100 else f"{times:,.0f} ×"


def price_line(price: Price, on: date) -> str:
    """Price, kind, region, day, age, source."""
    fact = price.provenance
    expired = ", expired: check it" if fact.stale(on) else ""
    return (
        f"{usd(price.usd_per_hour)}/h {price.kind}, {price.region}, as of "
        f"{fact.as_of.isoformat()} ({price.age(on)} old{expired}). Source: {fact.source}."
    )


def ranges(winner: Winner) -> str:
    """What the ranges mean for this winner."""
    if winner.deployment.kind == "fit":
        return (
            "Ranges come from how far the engine was off on published measurements of this class."
        )
    return (
        "Ranges are a prior: no published measurement of this class was fitted, so take them as "
        "wide guesses and measure before you promise anything."
    )
