"""Reading a "quantization" record: one row per format, with all that was found about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labkit.contract import LabkitError, Record


@dataclass(frozen=True, slots=True)
class FormatPoint:
    """One format: sizes in bytes, loss in nats per token, times in ms per decoded token.

    `nll` has one mean per window of the same text for every format, so differences are paired.
    `bits_per_weight` counts scales. `weight_bytes` are read once per decoded token, because the
    head is the embedding. Times are medians; None where this format was not run that way: a
    GGUF format is not run by torch, nor a bitsandbytes one by llama.cpp. `emulated`: scored with
    the rounded weights in FP32 arithmetic, as its own kernels would round them.
    """

    key: str
    label: str
    kind: str
    bits: int
    bits_per_weight: float
    weight_bytes: int
    file_bytes: int | None
    nll: tuple[float, ...]
    perplexity: float
    emulated: bool
    torch_ms: float | None
    torch_cpu_ms: float | None
    llama_ms: float | None
    llama_cpu_ms: float | None


def format_points(record: Record) -> list[FormatPoint]:
    """The formats of a "quantization" record, in its order, the reference (fp32) first.

    Raises LabkitError when the record is of another measurement.
    """
    formats = record.facts.get("formats")
    if not isinstance(formats, dict):
        raise LabkitError(
            f"A record of {record.id!r} holds no formats: this reads one of bench.quantization()."
        )

    def median(name: str) -> float | None:
        return record.median(name) if name in record else None

    return [_point(key, facts, median) for key, facts in formats.items()]


def _point(key: str, facts: dict[str, Any], median: Any) -> FormatPoint:
    return FormatPoint(
        key=key,
        label=str(facts["label"]),
        kind=str(facts["kind"]),
        bits=int(facts["bits"]),
        bits_per_weight=float(facts["bits_per_weight"]),
        weight_bytes=int(facts["weight_bytes"]),
        file_bytes=facts["file_bytes"],
        nll=tuple(float(value) for value in facts["nll"]),
        perplexity=float(facts["perplexity"]),
        emulated=bool(facts["emulated"]),
        torch_ms=median(f"torch.{key}.step"),
        torch_cpu_ms=median(f"torch.{key}.cpu"),
        llama_ms=median(f"llama.{key}.step"),
        llama_cpu_ms=median(f"llama.{key}.cpu"),
    )
