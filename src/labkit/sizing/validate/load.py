"""How many sequences a row had in flight, and whether they start together or come and go.

"8", "16 users", "offline", "1000 requests at inf rate". Requests that all arrive at once, or
without end, saturate the engine: as many run as it lets in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from labkit.sizing.validate.cells import Reading, absent, quantity, whole
from labkit.sizing.validate.engine_names import NamedEngine
from labkit.sizing.validate.remarks import Remarks
from labkit.sizing.validate.result import Unsupported

# So many requests are there at once where a row says only that all of them are.
OFFLINE_REQUESTS = 1024
MOST_SEQUENCES = 1_000_000
_RATE = re.compile(
    r"([\d,]{1,9})\s*(?:requests|prompts|reqs?)\b.*?\bat\s+(inf(?:inite)?|[\d.,]{1,12})"
    r"\s*(?:rate|req(?:uest)?s?/s|rps|qps)?",
    re.IGNORECASE | re.ASCII,
)
_OFFLINE = re.compile(r"offline|\binf(?:inite)? rate|\bsaturat|max throughput", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Load:
    """`batch` sequences sent at once; `offered_rate` in requests/s, None: as fast as served."""

    batch: int
    closed_loop: bool
    saturated: bool = False
    offered_rate: float | None = None
    assumptions: tuple[str, ...] = ()


def load_of(text: str, metric: str, engine: NamedEngine, remarks: Remarks) -> Load:
    """The load that a `batch_or_concurrency` cell states; `Unsupported` where it states none."""
    rate = _RATE.search(text)
    if rate:
        return _arrivals(text, rate[1], rate[2], metric)
    if _OFFLINE.search(text) and quantity("batch_or_concurrency", text) is None:
        _no_queue(metric, text)
        said = f"{text[:40]!r}: {OFFLINE_REQUESTS} requests are there at once"
        return Load(OFFLINE_REQUESTS, closed_loop=True, saturated=True, assumptions=(said,))
    reading = quantity("batch_or_concurrency", text)
    if reading is None:
        return _unstated(text, metric, engine)
    batch = whole("batch_or_concurrency", reading)
    if batch > MOST_SEQUENCES:
        raise Unsupported(f"batch_or_concurrency is {batch}: at most {MOST_SEQUENCES:,} are read.")
    assumptions = (reading.assumption,) if reading.assumption else ()
    return Load(batch, closed_loop=_closed(engine, remarks), assumptions=assumptions)


def _closed(engine: NamedEngine, remarks: Remarks) -> bool:
    """Whether requests come and go: the notes say so, else the engine's usual benchmark."""
    if remarks.one_by_one:
        return False  # the whole batch is there at the start, however it is prefilled
    if remarks.static is not None:
        return not remarks.static
    return not engine.static


def _arrivals(text: str, requests: str, rate: str, metric: str) -> Load:
    count = _number("requests", requests, text)
    batch = whole("batch_or_concurrency", count)
    if rate.casefold().startswith("inf"):
        _no_queue(metric, text)
        said = f"{text[:40]!r}: all {batch} requests are there at once"
        return Load(batch, closed_loop=True, saturated=True, assumptions=(said,))
    offered = _number("request rate", rate, text).value
    if offered <= 0:
        raise Unsupported(f"batch_or_concurrency is {text[:40]!r}: the rate must be above 0.")
    _no_queue(metric, text)
    said = f"{text[:40]!r}: {offered:g} requests/s are taken to be more than can be served"
    return Load(batch, closed_loop=True, saturated=True, offered_rate=offered, assumptions=(said,))


def _number(what: str, digits: str, text: str) -> Reading:
    reading = quantity(what, digits.strip(".,"))
    if reading is None:
        raise Unsupported(f"batch_or_concurrency is {text[:40]!r}: no {what} can be read from it.")
    return reading


def _no_queue(metric: str, text: str) -> None:
    if metric in {"ttft_ms_p50", "latency_s"}:
        raise Unsupported(
            f"{metric} at {text[:40]!r} is mostly the wait in a growing queue: not predicted."
        )


def _unstated(text: str, metric: str, engine: NamedEngine) -> Load:
    if not absent(text):
        raise Unsupported(f"batch_or_concurrency is {text[:40]!r}: no number can be read from it.")
    if metric in {"decode_tok_s_total", "req_s"}:
        raise Unsupported(f"batch_or_concurrency is not stated: {metric} depends on it.")
    said = ("batch_or_concurrency is not stated: 1 is assumed",)
    return Load(1, closed_loop=not engine.static, assumptions=said)
