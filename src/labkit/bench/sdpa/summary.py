"""An "attention" record as two tables, for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from labkit.contract import Record
from labkit.contract.view import number, text_table

_WIDTH = 80
_CLOCKS = {"cpu": "CPU ms", "wall": "ms"}


def summary(record: Record) -> str:
    """Back ends by length; the profile of one decode step; then who measured, and remarks."""
    parts = [
        _back_ends(record),
        *_remarks(record.facts["sdpa"]),
        "",
        *_profile(record.facts["profile"], _CLOCKS[record.facts["clock"]]),
        "",
        *(textwrap.fill(line, _WIDTH) for line in (record.origin(), *record.notes)),
    ]
    return "\n".join(parts)


def _back_ends(record: Record) -> str:
    sdpa, clock = record.facts["sdpa"], record.facts["clock"]
    rows: list[list[object]] = []
    for name, found in sdpa["backends"].items():
        if found["available"]:
            rows.append([f"{name}, {_CLOCKS[clock]}", *_numbers(found[f"{clock}_ms"])])
            rows.append([f"{name}, peak MB", *_megabytes(found["peak_bytes"])])
    rows.append(["all score matrices, MB", *_megabytes(sdpa["score_bytes"])])
    rows.append(["q, k, v and output, MB", *_megabytes(sdpa["qkv_bytes"])])
    return text_table(["Tokens", *(f"{n:,}" for n in sdpa["lengths"])], rows, record.title)


def _remarks(sdpa: dict[str, Any]) -> list[str]:
    lines = [
        f"Causal, {sdpa['heads']} heads of {sdpa['head_dim']}, {sdpa['dtype'].upper()}. "
        "MB = 1e6 bytes; peak: beyond q, k and v."
    ]
    for name, found in sdpa["backends"].items():
        if not found["available"]:
            lines.append(f"{name}: {found['why']}")
        elif name != "math":
            verdict = "equal to math" if found["agrees"] else "NOT equal to math"
            lines.append(
                f"{name}: {verdict} (largest difference {max(found['max_difference']):.1g}, "
                f"{sdpa['tolerance']:.0e} allowed)."
            )
    return lines


def _profile(profile: dict[str, Any], clock: str) -> list[str]:
    host = profile["host_share"]
    share = "not told on this device" if host is None else f"{100 * host:.0f} %"
    lines = [
        f"One decode step after {profile['context_tokens']} tokens: "
        f"{number(profile['step_ms'], 3)} {clock}, under the profiler "
        f"{number(profile['profiled_ms'], 3)} ms.",
        f"{profile['calls']:,} operator calls of {profile['kinds']} kinds. Host's share (outside "
        f"the kernels): {share}.",
        _operators("Operator", profile["operators"], profile["profiled_ms"]),
    ]
    if profile["gpu_kernels"]:
        lines += ["", _operators("GPU kernel", profile["gpu_kernels"], profile["profiled_ms"])]
    return lines


def _operators(head: str, operators: Sequence[dict[str, Any]], step_ms: float) -> str:
    """Shares are of the profiled step, as the host's is, so that the two can be added."""
    rows = [
        [
            _short(operator["name"]),
            f"{operator['calls']:,}",
            number(operator["self_ms"], 3),
            f"{100 * operator['self_ms'] / step_ms:.1f} %",
            "yes" if operator["computes"] else "hands on",
        ]
        for operator in operators
    ]
    return text_table([head, "Calls", "Own ms", "Of step", "Computes"], rows)


def _short(name: str) -> str:
    return name if len(name) <= 46 else f"{name[:45]}…"


def _numbers(values: Sequence[float]) -> list[str]:
    return [number(value, 3) for value in values]


def _megabytes(values: Sequence[int | None]) -> list[str]:
    return ["–" if value is None else number(value / 1e6, 3) for value in values]
