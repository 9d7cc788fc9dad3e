"""A "quantization" record as two short tables, for a terminal of 80 columns."""

from __future__ import annotations

from labkit.bench.quant.points import FormatPoint, format_points
from labkit.contract import Record
from labkit.contract.view import number, text_table

_LEGEND = (
    "MB = 1e6 bytes. ms: CPU time of one decoded token, median; – not run that way.",
    "Loss over {windows} windows of {tokens} tokens; ~ rounded weights in FP32 arithmetic.",
)


def summary(record: Record) -> str:
    """Formats by bytes, loss and speed; then quantised caches; then who measured, and remarks.

    A layer's error is that of its attention output.
    """
    points = format_points(record)
    text = record.facts["text"]
    legend = [
        line.format(windows=text["windows"], tokens=text["window_tokens"]) for line in _LEGEND
    ]
    parts = [_formats(record.title, points), *legend, "", _caches(record), ""]
    return "\n".join([*parts, record.origin(), *record.notes])


def _formats(title: str, points: list[FormatPoint]) -> str:
    reference = points[0].perplexity
    columns = ["Format", "Bits/w", "MB", "Perplexity", "vs FP32", "torch ms", "llama.cpp ms"]
    rows = [
        [
            point.label,
            f"{point.bits_per_weight:.2f}",
            f"{point.weight_bytes / 1e6:.1f}",
            ("~" if point.emulated else "") + _loss(point.perplexity),
            _change(point.perplexity / reference - 1) if point.key != "fp32" else "–",
            _time(point.torch_cpu_ms),
            _time(point.llama_cpu_ms),
        ]
        for point in points
    ]
    return text_table(columns, rows, title)


def _caches(record: Record) -> str:
    columns = ["KV cache", "Bytes/token", "Perplexity", "Worst layer's error"]
    rows = [
        [
            facts["label"],
            number(facts["bytes_per_token"]),
            _loss(facts["perplexity"]),
            f"{100 * max(facts['attention_error']):.1f} %" if facts["attention_error"] else "–",
        ]
        for facts in record.facts["kv"].values()
    ]
    return text_table(columns, rows)


def _loss(perplexity: float) -> str:
    """Two decimals while they mean something."""
    return f"{perplexity:.2f}" if perplexity < 1000 else number(perplexity, 3)


def _change(share: float) -> str:
    """A rise in percent; a collapse as a factor."""
    return f"{100 * share:+.2f} %" if share < 1 else f"× {1 + share:,.0f}"


def _time(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
