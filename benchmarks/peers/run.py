"""`python -m benchmarks.peers.run`: put every published row to every tool and keep the answers.

Writes benchmarks/data/peers-DATE.csv, one line for each row and tool. Status is "ok", or
"unsupported" with the reason: a tool that does not model a row is never asked for it in disguise.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.peers.ask import NotInstalledError, ask
from benchmarks.peers.metrics import UNITS, Reading, in_metric
from benchmarks.peers.question import Question, Times, Unsupported
from benchmarks.peers.registry import PEERS
from benchmarks.peers.translate import question_of_run
from benchmarks.rows import DATA, measurements
from labkit.sizing.validate import result
from labkit.sizing.validate.runs import read_run

COLUMNS = ("id", "peer", "version", "metric", "predicted", "unit", "status", "reason")


@dataclass(frozen=True, slots=True)
class Asked:
    """A row, and how it is put to the tools, or why it cannot be put to any."""

    id: str
    metric: str
    question: Question | None
    reading: Reading | None
    reason: str = ""


def asked(row: Mapping[str, str]) -> Asked:
    """How a row is put to the tools."""
    try:
        question, reading = question_of_run(row, read_run(row))
    except (Unsupported, result.Unsupported) as reason:
        return Asked(row["id"], row["metric"], None, None, str(reason))
    return Asked(row["id"], row["metric"], question, reading)


def answers(rows: Iterable[Mapping[str, str]], names: Iterable[str]) -> list[dict[str, str]]:
    """One record for each row and tool. Raises `NotInstalledError` where a tool is not there."""
    known = [asked(row) for row in rows]
    records = []
    for name in names:
        able = [one for one in known if one.question is not None]
        version, replies = ask(PEERS[name], [one.question for one in able if one.question])
        by_id = dict(zip([one.id for one in able], replies, strict=True))
        for one in known:
            value, reason = _value(one, by_id.get(one.id, {"unsupported": one.reason}))
            records.append(
                {
                    "id": one.id,
                    "peer": name,
                    "version": version,
                    "metric": one.metric,
                    "predicted": "" if value is None else f"{value:.6g}",
                    "unit": UNITS.get(one.metric, ""),
                    "status": "unsupported" if value is None else "ok",
                    "reason": reason,
                }
            )
    return records


def _value(one: Asked, reply: Mapping[str, Any]) -> tuple[float | None, str]:
    if "unsupported" in reply or one.question is None or one.reading is None:
        return None, str(reply["unsupported"])
    try:
        return in_metric(Times(**reply), one.question, one.reading), ""
    except Unsupported as reason:
        return None, str(reason)


def newest() -> Path:
    """The answers that were kept last."""
    return max(DATA.glob("peers-*.csv"))


def main() -> int:
    """Ask all tools about all rows; exit code 2 where they are not installed."""
    target = DATA / f"peers-{date.today().isoformat()}.csv"
    try:
        records = answers(measurements(), PEERS)
    except NotInstalledError as error:
        print(error, file=sys.stderr)
        return 2
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    for name in PEERS:
        mine = [record for record in records if record["peer"] == name]
        known = sum(record["status"] == "ok" for record in mine)
        print(f"{name:<14} {mine[0]['version']:<32} {known} of {len(mine)} rows")
    print(f"Written: {target.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
