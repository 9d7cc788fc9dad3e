"""Givens taken from facts, with the unit a datasheet prints and a source a person can follow."""

from __future__ import annotations

from labkit.catalog import Accelerator, ModelSpec, NumberFormat
from labkit.contract.errors import LabkitError
from labkit.contract.givens import Given
from labkit.contract.record import Record


def bandwidth(accelerator: Accelerator, name: str = "bandwidth_gbps") -> Given:
    """Memory bandwidth in GB/s (1 GB = 1e9 bytes)."""
    return Given(
        name,
        accelerator.bandwidth_bytes_per_s / 1e9,
        "GB/s",
        f"{accelerator.name}: memory bandwidth",
        _source(accelerator),
    )


def peak(accelerator: Accelerator, number_format: str, name: str = "peak_tflops") -> Given:
    """Dense peak in TFLOP/s of one number format."""
    return Given(
        name,
        accelerator.peak_flops(number_format) / 1e12,
        "TFLOP/s",
        f"{accelerator.name}: dense {number_format.upper()} peak",
        _source(accelerator),
    )


def sparse_peak(accelerator: Accelerator, number_format: str) -> Given:
    """The larger figure that datasheets print beside it: twice the dense one."""
    return Given(
        "sparse_tflops",
        2 * accelerator.peak_flops(number_format) / 1e12,
        "TFLOP/s",
        f"{accelerator.name}: {number_format.upper()} peak with 2:4 sparsity",
        "twice the dense figure, if two of every four weights are zero",
    )


def width(number_format: NumberFormat) -> Given:
    """Stored bytes per weight."""
    return Given(
        "bytes_per_weight",
        number_format.bytes_per_weight,
        "B",
        f"bytes per {number_format.name.upper()} weight",
        "the format's definition",
    )


def parameters(model: ModelSpec) -> Given:
    """All stored parameters."""
    return Given(
        "params_total",
        model.params.total,
        "parameters",
        f"{model.name}: stored parameters",
        "counted from its config",
    )


def embedding(model: ModelSpec) -> Given:
    """The input embedding table."""
    return Given(
        "params_embedding",
        model.params.embedding,
        "parameters",
        f"{model.name}: of these, input embedding",
        "vocabulary × hidden size",
    )


def head(model: ModelSpec) -> Given:
    """The output head, where it is a table of its own."""
    return Given(
        "params_head",
        model.params.head,
        "parameters",
        f"{model.name}: of these, output head",
        "vocabulary × hidden size",
    )


def measured(record: Record, series: str, name: str, label: str, unit: str) -> Given:
    """The median of one series of the learner's own record.

    Raises LabkitError when the record has no such series, or a median that is not positive.
    """
    if series not in record:
        raise LabkitError(f"Your record {record.id!r} has no {series!r}: run the bench again.")
    return Given(name, _positive(record, series, record.median(series)), unit, label, _own(record))


def counted(record: Record, fact: str, name: str, label: str, unit: str) -> Given:
    """A counted number of the learner's own record; "sweep.fp32.weight_bytes" reaches inwards.

    Raises LabkitError when it is missing or not a positive number.
    """
    value: object = record.facts
    for part in fact.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return Given(name, _positive(record, fact, value), unit, label, f"counted, {_own(record)}")


def samples(record: Record, series: str, name: str, label: str) -> Given:
    """All samples of one series of the learner's own record, in order: a list in the notebook.

    Raises LabkitError when the record has no such series.
    """
    if series not in record:
        raise LabkitError(f"Your record {record.id!r} has no {series!r}: run the bench again.")
    found = record[series]
    return Given(name, list(found.samples), found.unit, label, _own(record))


def _own(record: Record) -> str:
    whose = "your record" if record.live else "replayed recording"
    return f"{whose}, {record.made_on}"


def _positive(record: Record, what: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e18:
        raise LabkitError(f"Your record {record.id!r} has no usable {what!r}: run the bench again.")
    return value


def _source(accelerator: Accelerator) -> str:
    row = accelerator.provenance
    tail = "" if row.confidence == "high" else f", {row.confidence} confidence"
    return f"catalogue, {row.as_of}{tail}"
