"""A steady state as terms: each number with its unit and where it comes from."""

from __future__ import annotations

from labkit.sizing.serving.latency import Latency
from labkit.sizing.serving.point import ServingPoint
from labkit.sizing.terms import Term


def point_terms(section: str, point: ServingPoint) -> list[Term]:
    """The numbers of a steady state under the heading `section`; only the load where saturated."""
    terms = [
        Term(section, "load", point.rate, "requests/s", "rate / replicas"),
        Term(section, "utilisation", point.utilisation, "1", "load / capacity"),
    ]
    found = point.latencies
    if found is None:
        return terms
    terms.append(
        Term(section, "sequences in flight", point.sequences, "sequences", "load-dependent queue")
    )
    parts = (
        f"mean of waiting for a place {_ms(found.place)}, running step {_ms(found.running)}, "
        f"prompts ahead {_ms(found.ahead)}, own prefill {_ms(found.own)}"
    )
    terms.append(_latency_term(section, "TTFT", found.ttft, parts))
    if found.tpot is not None:
        source = "a decode step at that batch, and prompts of others within it"
        terms.append(_latency_term(section, "TPOT", found.tpot, source))
    terms.append(_latency_term(section, "E2E", found.e2e, "TTFT + (output - 1) x TPOT"))
    return terms


def _latency_term(section: str, name: str, latency: Latency, source: str) -> Term:
    """The promised percentile, with median and p99 as its ends."""
    source = f"{source}; range: median and p99"
    return Term(
        section,
        f"{name} at the promised percentile",
        latency.promised * 1e3,
        "ms",
        source,
        low=latency.p50 * 1e3,
        high=latency.p99 * 1e3,
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f} ms"
