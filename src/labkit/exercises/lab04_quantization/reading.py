"""Reading a quantization record that a stranger may have written: each number checked on the way.

Losses are nats per token, one mean per window of text; the windows are the same for every format,
so differences are paired.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from labkit.contract.errors import LabkitError
from labkit.contract.record import Record
from labkit.exercises.kinds.intervals import Interval, paired_t

REFERENCE = "fp32"
TRAP = "q4_1"
LEAST_WINDOWS = 4
_MOST_NATS = 50.0


def entries(record: Record) -> dict[str, Any]:
    """The formats of the record. Raises LabkitError where it has none."""
    formats = record.facts.get("formats")
    if not isinstance(formats, dict) or REFERENCE not in formats:
        raise LabkitError("The record has no formats: run bench.quantization() again.")
    return formats


def _entry(record: Record, key: str) -> dict[str, Any]:
    entry = entries(record).get(key)
    if not isinstance(entry, dict):
        raise LabkitError(
            f"The record has no {key!r}. Run bench.quantization() again, or take the recording: "
            "bench.quantization(replay=True)."
        )
    return entry


def losses(record: Record, key: str) -> list[float]:
    """The format's loss in each window. Raises LabkitError unless paired with the reference."""
    found = _losses(record, key)
    if len(found) != len(_losses(record, REFERENCE)):
        raise LabkitError(f"{key!r} was not scored on the reference's windows: run it again.")
    return found


def _losses(record: Record, key: str) -> list[float]:
    values = _entry(record, key).get("nll")
    numbers = isinstance(values, list) and all(
        type(x) in (int, float) and 0 < x < _MOST_NATS for x in values
    )
    if not isinstance(values, list) or not numbers or len(values) < LEAST_WINDOWS:
        raise LabkitError(f"The record has no usable losses of {key!r}: run it again.")
    return [float(x) for x in values]


def number(record: Record, key: str, name: str) -> float:
    """A positive number of one format. Raises LabkitError."""
    value = _entry(record, key).get(name)
    if type(value) not in (int, float) or not 0 < float(value or 0) < 1e15:
        raise LabkitError(f"The record has no usable {name!r} of {key!r}: run it again.")
    return float(value or 0)


def label(record: Record, key: str) -> str:
    """The format's name for people."""
    return str(_entry(record, key).get("label", key))[:60]


def is_original(record: Record) -> bool:
    """Whether the reference has the published weights, not a dequantised copy."""
    reference = record.facts.get("reference")
    return isinstance(reference, dict) and reference.get("original") is True


def ranked(record: Record) -> list[str]:
    """Formats that may be compared, largest first; Q4_1 only where it is not the reference's grid.

    Of equal size the one named first in the record comes first.
    """
    keys = [key for key in entries(record) if key != TRAP or is_original(record)]
    return sorted(keys, key=lambda key: -number(record, key, "weight_bytes"))


# --- rise of perplexity, in percent --------------------------------------------------------------


def percent(difference: float) -> float:
    """A difference of mean losses as a rise of perplexity: perplexity is exp of the mean loss."""
    return 100 * math.expm1(difference)


def as_percent(interval: Interval) -> Interval:
    """Both ends as rises."""
    return percent(interval[0]), percent(interval[1])


def rise(reference: Sequence[float], other: Sequence[float]) -> float:
    """By how many percent perplexity is higher."""
    return percent(statistics.fmean(other) - statistics.fmean(reference))


def rise_interval(reference: Sequence[float], other: Sequence[float]) -> Interval:
    """Its 95 % interval, paired window by window (Student's t: no seed, so the same everywhere)."""
    return as_percent(paired_t(reference, other))
