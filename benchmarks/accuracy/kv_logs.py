"""The memory model against what engines logged: the KV cache of one GPU, or the tokens it holds."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.accuracy.markdown import fine_percent, number, percent, table
from benchmarks.accuracy.statistics import WITHIN, relative_error
from labkit.sizing import overhead_fitted
from labkit.sizing.validate.kv_logs import predict_kv

FILE = Path(__file__).parents[1] / "data" / "kv-logs.csv"
WORST = 5


@dataclass(frozen=True, slots=True)
class Logged:
    """One start-up: the metric it is scored by, in GiB or tokens."""

    id: str
    engine: str
    version: str
    gpu: str
    model: str
    devices: str
    split: str
    metric: str
    measured: float
    low: float
    mid: float
    high: float

    @property
    def error(self) -> float:
        """Relative, always positive."""
        return relative_error(self.mid, self.measured)


def read() -> list[dict[str, str]]:
    """The rows of kv-logs.csv."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def scored(rows: Sequence[Mapping[str, str]]) -> list[Logged]:
    """What can be scored: tokens where tokens follow from bytes, else GiB; one metric a row."""
    found = []
    for row in rows:
        answers = {answer.metric: answer for answer in predict_kv(row)}
        for metric in ("kv_tokens", "kv_gib"):
            answer = answers[metric]
            values = (answer.measured, answer.low, answer.mid, answer.high)
            if None in values or answer.status != "ok":
                continue
            measured, low, mid, high = (float(v) for v in values if v is not None)
            found.append(
                Logged(
                    id=row["id"],
                    engine=row["engine"],
                    version=row["engine_version"],
                    gpu=row["gpu"],
                    model=row["model"],
                    devices=row["tp"],
                    split=row["split"],
                    metric=metric,
                    measured=measured,
                    low=low,
                    mid=mid,
                    high=high,
                )
            )
            break
    return found


def _held_out() -> str:
    """What `fit_memory` found when it wrote the shipped numbers, by its own note."""
    note = " ".join((overhead_fitted.__doc__ or "").split())
    return note.split("each source predicted from the others: ", 1)[1].rstrip(" .")


def section() -> str:
    """The table by engine, and the worst rows."""
    rows = read()
    known = scored(rows)
    groups = [("all", known)]
    groups += [
        (name, [row for row in known if row.engine == name])
        for name in sorted({row.engine for row in known})
    ]
    head = ["engine", "n", "median error", "within 20 %", "in band", "median half-width"]
    lines = [
        [
            name,
            f"{len(part)}",
            fine_percent(median(row.error for row in part)),
            percent(sum(row.error <= WITHIN for row in part) / len(part)),
            percent(sum(row.low <= row.measured <= row.high for row in part) / len(part)),
            percent(median((row.high - row.low) / (2 * row.mid) for row in part if row.mid)),
        ]
        for name, part in groups
    ]
    worst = sorted(known, key=lambda row: row.error, reverse=True)[:WORST]
    worst_lines = [
        [
            row.id,
            f"{row.engine} {row.version}",
            row.model,
            f"{row.devices} × {row.gpu}",
            f"{number(row.measured)} {'tokens' if row.metric == 'kv_tokens' else 'GiB'}",
            number(row.mid),
            percent(row.error),
        ]
        for row in worst
    ]
    worst_head = ["row", "engine", "model", "GPUs", "logged", "labkit", "error"]
    return "\n\n".join(
        [
            f"{len(rows)} start-ups of real engines; {len(known)} say enough to be predicted from "
            "their own weights, memory and limits. Scored in tokens of cache; in GiB on "
            "sliding-window and hybrid models, where tokens depend on the engine's page layout. "
            f"The overhead was fitted on these logs; each source left out in turn: {_held_out()}.",
            table(head, lines),
            "The furthest off:",
            table(worst_head, worst_lines, numbers_from=4),
        ]
    )
