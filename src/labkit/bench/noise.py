"""Whether a record is quiet enough to keep: its samples' own spread and its CPU share.

The load of the machine is never asked: it says who waited, not whether these samples suffered.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.bench.registry import BENCHES
from labkit.bench.sampling import CPU_SHARE_LIMIT, SPREAD_LIMIT, spread
from labkit.contract import LabkitError, Record

# Facts a record carries for this judgement.
CPU_SHARE = "cpu_share"
DEVICE = "device"
THREADS = "threads"


class NoisyMeasurement(LabkitError):  # noqa: N818  the course calls it this, and it is no bug
    """A measurement that may not be kept; `record` holds it for whoever wants to look."""

    def __init__(self, message: str, record: Record) -> None:
        super().__init__(message)
        self.record = record


@dataclass(frozen=True, slots=True)
class Complaint:
    """One series that is too noisy, in words."""

    series: str
    reason: str


def complaints(record: Record) -> list[Complaint]:
    """Every series of `record` that is too noisy, worst first.

    Spread: IQR ÷ median above 20 %. CPU share: below 90 % of the threads that were asked for; not
    judged where a GPU did the work, because the CPU then only waits. Series that the registry calls
    indicative are left out.
    """
    found: list[tuple[float, Complaint]] = []
    spared = BENCHES[record.id].indicative if record.id in BENCHES else ()
    for series in record.series:
        if series.name in spared:
            continue
        width = spread(series.samples)
        if width > SPREAD_LIMIT:
            reason = f"the middle half of its samples spreads over {width:.0%} of the median"
            found.append((width / SPREAD_LIMIT, Complaint(series.name, reason)))
    if record.facts.get(DEVICE, "cpu") == "cpu":
        for name, share in _shares(record).items():
            if name not in spared and share < CPU_SHARE_LIMIT:
                reason = f"it had a core for only {share:.0%} of the time"
                found.append((CPU_SHARE_LIMIT / max(share, 0.01), Complaint(name, reason)))
    return [complaint for _, complaint in sorted(found, key=lambda pair: -pair[0])]


def refuse_if_noisy(record: Record) -> Record:
    """`record` itself, or NoisyMeasurement with the worst series and the two ways on."""
    noisy = complaints(record)
    if not noisy:
        return record
    worst = noisy[0]
    others = f" (and {len(noisy) - 1} more)" if len(noisy) > 1 else ""
    raise NoisyMeasurement(
        f"This measurement is too noisy to keep: {worst.series}{others}: {worst.reason}; close "
        f"other programs and run it again, or use replay=True for a recording of another machine.",
        record,
    )


def _shares(record: Record) -> dict[str, float]:
    shares = record.facts.get(CPU_SHARE, {})
    return {str(name): float(value) for name, value in dict(shares).items()}
