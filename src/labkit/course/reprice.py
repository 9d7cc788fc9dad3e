"""The learner's use case, priced by the engine: a table that every lab ends with.

For each machine on the shortlist the batch is the one that carries most requests while the wished
TTFT and TPOT hold at the middle of their bands. Queues and spare machines are left out, and it is
said so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from labkit.catalog import Catalog, Instance, ModelSpec
from labkit.contract.view import number
from labkit.course.cards import Card, Table
from labkit.course.workload import EXAMPLE_NOTE, FILE, UseCase
from labkit.sizing import Band, EngineConfig, Estimate, RefusalCode, estimate
from labkit.sizing.defaults import default_kv_format

NO_WORKSPACE = (
    f"There is no workspace here, so there is no {FILE} to read: make one with "
    "`labkit init DIR --learner ID` and open the lab in it."
)
HOURS_PER_MONTH = 730
MOST_SEQUENCES = 256  # a serving engine's usual limit of sequences in flight
_SLOW = frozenset({RefusalCode.SLO_TTFT, RefusalCode.SLO_TPOT})
COLUMNS = (
    "Machine", "Batch", "TTFT, ms", "TPOT, ms", "Machines", "USD per month",
    "USD per 1M output tokens", "USD per hour", "Price's age",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Priced:
    """One machine: its estimate at the chosen batch, and what the traffic takes of it.

    `machines` and `usd_per_month` are None where nothing runs or no price is known. Their bands
    come from the engine's band of requests/s.
    """

    estimate: Estimate
    in_time: bool
    machines: Band | None
    usd_per_month: Band | None

    @property
    def name(self) -> str:
        """The instance type."""
        return self.estimate.instance.name


def price(use: UseCase, catalog: Catalog) -> list[Priced]:
    """Every machine of the shortlist, in its order."""
    model = use.spec()
    return [_priced(use, model, catalog.instance(name)) for name in use.instances]


def _priced(use: UseCase, model: ModelSpec, instance: Instance) -> Priced:
    best = max(_estimates(use, model, instance), key=_merit)
    rate, hourly = best.requests_per_s, best.usd_per_hour
    if not best.fits or rate is None:
        return Priced(best, False, None, None)
    low, mid, high = (
        math.ceil(use.requests_per_second / carried) for carried in (rate.high, rate.mid, rate.low)
    )
    machines = Band(low, mid, high)
    monthly = machines.times(hourly * HOURS_PER_MONTH) if hourly is not None else None
    return Priced(best, _in_time(best), machines, monthly)


def _estimates(use: UseCase, model: ModelSpec, instance: Instance) -> Iterator[Estimate]:
    """Batch 1, then doubled while it fits, and the largest that fits."""
    kv = default_kv_format(use.weights, instance)

    def at(batch: int) -> Estimate:
        config = EngineConfig(weights=use.weights, kv=kv, batch=batch)
        return estimate(model, instance, config, use.traffic, region=use.region)

    one = at(1)
    yield one
    most = min(one.max_sequences, MOST_SEQUENCES)
    if one.fits:
        doubled = (2**n for n in range(1, most.bit_length()))
        yield from (at(batch) for batch in sorted({*doubled, most} - {1}))


def _merit(found: Estimate) -> tuple[bool, float]:
    """Within the wishes first; then requests/s if it is, else the shorter step."""
    if not found.fits or found.requests_per_s is None:
        return False, -math.inf
    in_time = _in_time(found)
    return in_time, found.requests_per_s.mid if in_time else -found.config.batch


def _in_time(found: Estimate) -> bool:
    return not any(refusal.code in _SLOW for refusal in found.refusals)


def table(use: UseCase, catalog: Catalog, today: date) -> Table:
    """The use case's price on each machine: bands, price, the price's age, and what does not go."""
    priced = price(use, catalog)
    rows = tuple(_row(one, today) for one in priced)
    wish = " and ".join(
        f"{name} ≤ {number(limit)} ms"
        for name, limit in (("TTFT", use.ttft_ms), ("TPOT", use.tpot_ms))
        if limit is not None
    )
    caption = (
        f"Your use case today: {use.model} in {use.weights}, {use.prompt_tokens:,} + "
        f"{use.output_tokens:,} tokens, {number(use.requests_per_second)} requests/s"
    )
    return Table(
        COLUMNS, rows, f"{caption}, {wish}" if wish else caption, tuple(_notes(use, priced))
    )


def _row(one: Priced, today: date) -> tuple[str, ...]:
    found = one.estimate
    hourly, age = "unknown", "–"
    if found.price is not None:
        hourly = f"{found.price.usd_per_hour:.3f}"
        stale = ", expired" if found.price.provenance.stale(today) else ""
        age = f"{found.price.age(today)}{stale}"
    if one.machines is None:
        return (one.name, "does not run", "–", "–", "–", "–", "–", hourly, age)
    return (
        one.name,
        str(found.config.batch),
        _band(found.ttft_ms),
        _band(found.tpot_ms),
        _band(one.machines),
        _band(one.usd_per_month),
        _band(found.usd_per_million_output_tokens),
        hourly,
        age,
    )


def _notes(use: UseCase, priced: list[Priced]) -> Iterator[str]:
    yield (
        "Read 88 (61–140) as: probably 88, between 61 and 140. The ranges come from published "
        "measurements; docs/accuracy.md, in the course's own folder, says how far off they were."
    )
    yield (
        "Batch: texts that one machine writes at once; as many as fit and keep your wishes at the "
        "middle of the range."
    )
    for one in priced:
        said = [f"{r.code}: {r.detail}" for r in one.estimate.refusals]
        if said:
            yield f"{one.name}: {' '.join(said)}"
    yield from _verdict(use, priced)
    yield (
        "Machines are counted full, on demand, 730 hours a month: nothing is spare for a peak, a "
        "queue or a machine that fails."
    )
    if use.example:
        yield EXAMPLE_NOTE


def _verdict(use: UseCase, priced: list[Priced]) -> Iterator[str]:
    """The cheapest machine that keeps the wishes, against the budget."""
    able = [(one.usd_per_month.mid, one) for one in priced if one.usd_per_month and one.in_time]
    if not able:
        yield "None of these machines keeps your wishes at a known price: change the shortlist."
        return
    monthly, one = min(able, key=lambda pair: pair[0])
    said = f"Cheapest of these: {one.name}, about {number(monthly, 3)} USD a month"
    if use.usd_per_month is None:
        yield f"{said}."
        return
    side = "within" if monthly <= use.usd_per_month else "over"
    yield f"{said}, {side} your budget of {number(use.usd_per_month)} USD."


def _band(band: Band | None) -> str:
    if band is None:
        return "–"
    low, mid, high = (number(value, 3) for value in (band.low, band.mid, band.high))
    return mid if low == high else f"{mid} ({low}–{high})"


def without_workspace() -> Card:
    """What stands in the table's place where there is no workspace."""
    return Card(
        "○ Your use case is not priced",
        (NO_WORKSPACE,),
        state="not-attempted",
    )
