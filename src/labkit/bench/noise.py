"""Whether a record is quiet enough to keep, judged by its own samples, and what to do if not.

The load of the machine is never asked: it says who waited, not whether these samples suffered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from labkit.bench.registry import BENCHES
from labkit.bench.sampling import CPU_SHARE_LIMIT, SPREAD_LIMIT, spread
from labkit.contract import LabkitError, Record

# Facts a record carries for this judgement.
CPU_SHARE = "cpu_share"
DEVICE = "device"
THREADS = "threads"
HUGE_PAGES = "huge_pages"  # share of the bandwidth buffers; None where the system does not tell

# Reading may come out this much below copying. With huge pages it is the faster of the two (29 and
# 26 GB/s on the machine this was found on); with small ones chance decides, and nothing follows.
READ_OVER_COPY_LIMIT = 0.90
_ALL_HUGE = 0.95
_SHOWN = 2


class Kind(StrEnum):
    """What is wrong with a series."""

    SCATTERED = "scattered"
    WAITED = "waited"
    SLOW_READ = "slow read"


@dataclass(frozen=True, slots=True)
class Complaint:
    """One series that is too noisy: its spread, its CPU share, or its ratio to copying.

    `excess` compares complaints of every kind: 1 is what is allowed.
    """

    series: str
    label: str
    kind: Kind
    value: float
    excess: float


class NoisyMeasurement(LabkitError):  # noqa: N818  the course calls it this, and it is no bug
    """A measurement that may not be kept; `record` holds it for whoever wants to look.

    `finding` is what is wrong, in one sentence; the message adds what to do in a notebook.
    """

    def __init__(self, finding: str, record: Record, *, recorded: bool) -> None:
        way_out = f", or take a recording: bench.{record.id}(replay=True)" if recorded else "."
        super().__init__(f"{finding} Close other programs and run the cell again{way_out}")
        self.finding = finding
        self.record = record
        self.recorded = recorded


def complaints(record: Record) -> list[Complaint]:
    """Everything that is too noisy in `record`, worst first.

    Spread: IQR ÷ median above 20 %. CPU share: below 90 % of the threads that were asked for; not
    judged where a GPU did the work, because the CPU then only waits. Reading: slower than 90 % of
    copying although both had huge pages. Series that the registry calls indicative are left out.
    """
    spared = BENCHES[record.id].indicative if record.id in BENCHES else ()
    found = [
        complaint
        for judge in (_scattered, _waited, _slow_read)
        for complaint in judge(record)
        if not any(fnmatchcase(complaint.series, pattern) for pattern in spared)
    ]
    return sorted(found, key=lambda complaint: -complaint.excess)


def refuse_if_noisy(record: Record, *, recorded: bool = True) -> Record:
    """`record` itself, or NoisyMeasurement with the worst series and the ways on.

    `recorded`: whether there is a recording that the learner can take instead.
    """
    noisy = complaints(record)
    if not noisy:
        return record
    worst = [complaint for complaint in noisy if complaint.kind is noisy[0].kind]
    count = len({complaint.series for complaint in noisy})
    share = f" ({count} of {len(record.series)} figures)" if count > _SHOWN else ""
    words = _WORDS[noisy[0].kind](worst[:_SHOWN], record)
    finding = f"This measurement is too noisy to keep{share}: {words}."
    raise NoisyMeasurement(finding, record, recorded=recorded)


def _scattered(record: Record) -> Iterator[Complaint]:
    for series in record.series:
        width = spread(series.samples)
        if width > SPREAD_LIMIT:
            label = _label(record, series.name)
            yield Complaint(series.name, label, Kind.SCATTERED, width, width / SPREAD_LIMIT)


def _waited(record: Record) -> Iterator[Complaint]:
    if not _on_cpu(record):
        return
    for name, value in dict(record.facts.get(CPU_SHARE, {})).items():
        share = float(value)
        if share < CPU_SHARE_LIMIT:
            excess = CPU_SHARE_LIMIT / max(share, 0.01)
            yield Complaint(str(name), _label(record, name), Kind.WAITED, share, excess)


def _slow_read(record: Record) -> Iterator[Complaint]:
    read, copy = "bandwidth.read", "bandwidth.copy"
    huge = record.facts.get(HUGE_PAGES) or 0.0
    if not (_on_cpu(record) and huge >= _ALL_HUGE and read in record and copy in record):
        return
    ratio = record.median(read) / record.median(copy)
    if ratio < READ_OVER_COPY_LIMIT:
        excess = READ_OVER_COPY_LIMIT / max(ratio, 0.01)
        yield Complaint(read, _label(record, read), Kind.SLOW_READ, ratio, excess)


def _on_cpu(record: Record) -> bool:
    return bool(record.facts.get(DEVICE, "cpu") == "cpu")


def _label(record: Record, name: str) -> str:
    return (record[name].label or name) if name in record else name


def _scatter_words(found: Sequence[Complaint], _: Record) -> str:
    each = [f'"{c.label}" {"scattered " * (c is found[0])}by {_percent(c.value)}' for c in found]
    return f"{' and '.join(each)}; {_percent(SPREAD_LIMIT)} is allowed"


def _wait_words(found: Sequence[Complaint], _: Record) -> str:
    each = [
        f'"{c.label}" {"had a core " * (c is found[0])}for {_percent(c.value)} of its time'
        for c in found
    ]
    return f"{' and '.join(each)}; {_percent(CPU_SHARE_LIMIT)} is needed"


def _read_words(_: Sequence[Complaint], record: Record) -> str:
    read, copy = record["bandwidth.read"], record["bandwidth.copy"]
    return (
        f'"{_label(record, read.name)}" came out at {read.median:.3g} {read.unit}, well below '
        f'"{_label(record, copy.name)}" with {copy.median:.3g}, though reading is the easier work'
    )


_WORDS: dict[Kind, Callable[[Sequence[Complaint], Record], str]] = {
    Kind.SCATTERED: _scatter_words,
    Kind.WAITED: _wait_words,
    Kind.SLOW_READ: _read_words,
}


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
