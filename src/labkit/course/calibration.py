"""Does a learner know what they know? Stated confidence against how often the prediction held.

A prediction holds ("hits") when it lies within a factor of `HIT_RATIO` of what was then found;
a text must be the same text. Whether a gap is more than chance is told by the exact binomial
tail at `ALPHA`: with seven predictions nothing else would be honest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from labkit.contract.answer import Wire
from labkit.contract.errors import LabkitError
from labkit.contract.quantity import split_text
from labkit.contract.record import Record
from labkit.contract.view import number
from labkit.course.state import Prediction, Standing
from labkit.exercises.units import convert

HIT_RATIO = 1.25
ALPHA = 0.1
ENOUGH = 5
BANDS = ((5, 29), (30, 49), (50, 69), (70, 89), (90, 100))


@dataclass(frozen=True, slots=True)
class Band:
    """Predictions whose confidence was between `low` and `high` percent."""

    low: int
    high: int
    predictions: int
    hits: int
    stated: float  # their mean confidence, percent

    @property
    def rate(self) -> float:
        """Share of hits, percent."""
        return 100 * self.hits / self.predictions


@dataclass(frozen=True, slots=True)
class Calibration:
    """`bands` that hold predictions, `undecided` predictions without an outcome, one `verdict`.

    `missing` is how many more outcomes are needed before the bands mean anything.
    """

    bands: tuple[Band, ...]
    undecided: int
    verdict: str
    missing: int

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "bands": [
                {
                    "from": band.low,
                    "to": band.high,
                    "predictions": band.predictions,
                    "hits": band.hits,
                    "stated_percent": round(band.stated, 1),
                    "hit_percent": round(band.rate, 1),
                }
                for band in self.bands
            ],
            "undecided": self.undecided,
            "missing": self.missing,
            "verdict": self.verdict,
        }


def calibration(standings: Iterable[Standing]) -> Calibration:
    """Calibration over all predictions that have an outcome."""
    made = [s.prediction for s in standings if s.prediction is not None]
    decided = [p for p in made if p.hit is not None]
    bands = tuple(
        _band(low, high, inside)
        for low, high in BANDS
        if (inside := [p for p in decided if low <= p.confidence <= high])
    )
    missing = max(0, ENOUGH - len(decided))
    return Calibration(bands, len(made) - len(decided), _verdict(decided, bands), missing)


def _band(low: int, high: int, inside: Sequence[Prediction]) -> Band:
    stated = sum(p.confidence for p in inside) / len(inside)
    return Band(low, high, len(inside), sum(bool(p.hit) for p in inside), stated)


def _verdict(decided: Sequence[Prediction], bands: Sequence[Band]) -> str:
    if len(decided) < ENOUGH:
        return (
            f"{len(decided)} of your predictions {'has' if len(decided) == 1 else 'have'} an "
            f"outcome so far: {ENOUGH - len(decided)} more, and this says how sure you may be."
        )
    whole = _band(BANDS[0][0], BANDS[-1][1], decided)
    # The band that deviates most speaks, if it is large enough to speak; else all together.
    loud = [band for band in bands if band.predictions >= ENOUGH and _surprise(band) < ALPHA]
    if loud:
        chosen = min(loud, key=_surprise)
    elif _surprise(whole) < ALPHA:
        chosen = whole
    else:
        return (
            f"You said {whole.stated:.0f} % on average and were right {whole.hits} of "
            f"{whole.predictions}: that fits."
        )
    side = "over-confident" if chosen.rate < chosen.stated else "under-confident"
    return (
        f"You said {chosen.stated:.0f} % and were right {chosen.hits} of "
        f"{chosen.predictions}: {side}."
    )


def _surprise(band: Band) -> float:
    """Chance of a hit count at least this far out, on its side, if the stated confidence held."""
    return tail(band.hits, band.predictions, band.stated / 100)


def tail(hits: int, n: int, p: float) -> float:
    """The smaller of P(X ≤ hits) and P(X ≥ hits) for X ~ Binomial(n, p).

    >>> round(tail(6, 10, 0.9), 4)
    0.0128
    """
    terms = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    return min(1.0, math.fsum(terms[: hits + 1]), math.fsum(terms[hits:]))


@dataclass(frozen=True, slots=True)
class Verdict:
    """A prediction held against what was found; numbers as text, units included."""

    hit: bool
    predicted: str
    found: str


def compare(predicted: Wire, found: Wire, unit: str) -> Verdict | None:
    """Whether a prediction hit; None where the two cannot be compared.

    `unit` is the unit that bare numbers of this exercise are read in. A record counts with its
    first series of the predicted unit, else with its first series.
    """
    left = quantity_of(predicted)
    if left is None:
        if predicted.get("kind") == found.get("kind") == "text":
            said, is_ = str(predicted.get("text")).strip(), str(found.get("text")).strip()
            return Verdict(said.casefold() == is_.casefold(), said[:60], is_[:60])
        return None
    right = _recorded(found, left[1]) if found.get("kind") == "record" else quantity_of(found)
    if right is None:
        return None
    (a, a_unit), (b, b_unit) = left, right
    asked = unit or a_unit or b_unit
    try:
        a = convert(a, a_unit, asked) if a_unit and a_unit != asked else a
        b = convert(b, b_unit, asked) if b_unit and b_unit != asked else b
    except LabkitError:
        return None
    hit = a == b or (a > 0 and b > 0 and max(a / b, b / a) <= HIT_RATIO)
    return Verdict(hit, f"{number(a)} {asked}".rstrip(), f"{number(b)} {asked}".rstrip())


def quantity_of(wire: Wire) -> tuple[float, str] | None:
    """Number and unit of a wire quantity, or of a text that holds one; else None."""
    if wire.get("kind") == "text":
        split = split_text(str(wire.get("text", "")))
        return None if split is None else (split.number, split.unit)
    value = wire.get("number")
    if wire.get("kind") != "quantity" or not isinstance(value, (int, float)):
        return None
    return float(value), str(wire.get("unit") or "")


def _recorded(wire: Wire, unit: str) -> tuple[float, str] | None:
    try:
        record = Record.from_json(wire.get("record"))
    except LabkitError:
        return None
    if not record.series:
        return None
    chosen = next((s for s in record.series if s.unit == unit), record.series[0])
    return chosen.median, chosen.unit
