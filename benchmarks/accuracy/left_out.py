"""What no error is computed of: suspect rows, and rows that the engine does not support."""

from __future__ import annotations

from collections import defaultdict

from benchmarks.accuracy.frame import Frame
from benchmarks.accuracy.markdown import number, table


def section(known: Frame) -> str:
    """Both lists, with reasons."""
    return "\n\n".join([_suspect(known), _unsupported(known)])


def _suspect(known: Frame) -> str:
    groups: dict[tuple[str, str, str], list[tuple[float, float]]] = defaultdict(list)
    for row, result in known.suspect:
        note = row["notes"].split("SUSPECT", 1)[1].strip(" :()") or "no reason given"
        if "disagrees with b*out" in note:
            note = "throughput column contradicts the TTFT and TPOT beside it"
        pair = (result.measured or 0.0, result.mid or 0.0)
        groups[row["source_id"], result.metric, note].append(pair)
    lines = []
    for (source, metric, note), pairs in groups.items():
        measured, said = max(pairs, key=lambda p: max(p[0] / p[1], p[1] / p[0]))
        lines.append(
            [source, metric, f"{len(pairs)}", note, f"{number(measured)} / {number(said)}"]
        )
    head = ["source", "metric", "rows", "why", "furthest: printed / labkit"]
    return (
        f"**Suspect: {len(known.suspect)} rows.** Their own notes say that they contradict "
        "themselves or the hardware. Predicted, not scored, not fitted.\n\n" + table(head, lines)
    )


def _unsupported(known: Frame) -> str:
    groups: dict[tuple[str, str], int] = defaultdict(int)
    for row, result in known.unsupported:
        groups[row["source_id"], result.reason] += 1
    lines = [[source, f"{n}", reason] for (source, reason), n in groups.items()]
    share = 1 - len(known.unsupported) / known.total
    return (
        f"**Unsupported: {len(known.unsupported)} of {known.total} rows** ({share * 100:.0f} % are "
        "supported).\n\n" + table(["source", "rows", "why"], lines)
    )
