"""The records "engines" and "load" as short tables, for a terminal of 80 columns."""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.bench.engine.interval import ratio_interval
from labkit.contract import Record
from labkit.contract.view import text_table

_REPLAYED = "*"
_WIDTH = 80


def engines_summary(record: Record) -> str:
    """A row for each mode; then who measured, what was replayed or is missing, and remarks."""
    facts = record.facts
    columns = ["Engine", "tok/CPU-s", "tok/s", "× sequential (95 %)", "× alone", "Agreement"]
    rows = [
        [
            name + (_REPLAYED if mode["origin"] else ""),
            _median(mode["cpu_rate"]),
            _median(mode["rate"]),
            _ratio(mode["speedup"]) if mode["counts"] else "does not count",
            _median(mode["alone"], digits=2),
            f"{100 * mode['agreement']:.1f} %",
        ]
        for name, mode in facts["modes"].items()
    ]
    outputs = facts["requests"]["output_tokens"]
    legend = (
        f"{len(outputs)} requests, {sum(outputs)} useful tokens (answers of {min(outputs)} to "
        f"{max(outputs)}), {facts['slots']} slots, {facts['rounds']} paired rounds. "
        f"Ratios compare {facts['seconds']} seconds."
    )
    means = (
        "× sequential: geometric mean, and Student's t on the logarithms. Lab 05 takes the plain "
        "mean, which differs in the second decimal. × alone: median at concurrency 1."
    )
    parts = [text_table(columns, rows, record.title), *_filled(legend), *_filled(means), ""]
    return "\n".join([*parts, *_origins(record, facts["modes"]), *record.notes])


def _filled(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH)


def load_summary(record: Record) -> str:
    """TTFT by users, shared beginnings, and the gaps a long prompt tears; then who measured."""
    facts = record.facts
    stairs = [
        [
            name + (_REPLAYED if server["origin"] else ""),
            users,
            " ".join(f"{ms / 1e3:.2f}" for ms in level["ttft_ms"]),
            f"{level['tok_per_s']:.1f}",
        ]
        for name, server in facts["staircase"].items()
        for users, level in server["levels"].items()
    ]
    prefixes = [
        [
            name + (_REPLAYED if server["origin"] else ""),
            server["shared_tokens"],
            _median(server["cold_ms"], digits=0),
            _median(server["warm_ms"], digits=0),
        ]
        for name, server in facts["prefix"].items()
    ]
    chunks = [
        [
            name + (_REPLAYED if server["origin"] else ""),
            server[kind]["tokens_per_step"],
            f"{server[kind]['usual_ms']:.0f}",
            _median(server[kind]["worst_ms"], digits=0),
            _median(server[kind]["long_ttft_ms"], digits=0),
        ]
        for name, server in facts["chunked"].items()
        for kind in ("whole", "chunked")
    ]
    return "\n".join(
        [
            text_table(["Server", "Users", "TTFT of each (s)", "tok/s"], stairs, record.title),
            "",
            text_table(["Server", "Shared tokens", "TTFT first (ms)", "TTFT next (ms)"], prefixes),
            "",
            text_table(
                ["Server", "Tokens per step", "Usual gap (ms)", "Worst gap", "Long TTFT"], chunks
            ),
            "",
            *_origins(record, facts["staircase"]),
            *record.notes,
        ]
    )


def _origins(record: Record, entries: Mapping[str, Any]) -> list[str]:
    found = [record.origin()]
    found += [
        f"{_REPLAYED} {name}: {entry['origin']}"
        for name, entry in entries.items()
        if entry["origin"]
    ]
    return found + [f"{name}: {why}" for name, why in record.facts["missing"].items()]


def _median(values: Sequence[float], digits: int = 1) -> str:
    return f"{statistics.median(values):.{digits}f}" if values else "–"


def _ratio(values: Sequence[float]) -> str:
    if len(values) < 2:
        return _median(values, digits=2)
    interval = ratio_interval(values)
    return f"{interval.ratio:.2f} ({interval.low:.2f} to {interval.high:.2f})"
