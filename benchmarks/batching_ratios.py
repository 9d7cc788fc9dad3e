"""`python -m benchmarks.batching_ratios`: published gains of batching beside the simulator's."""

from __future__ import annotations

import csv
import textwrap
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import use_one_thread

DATA = Path(__file__).parent / "data" / "batching_speedups.csv"


@dataclass(frozen=True)
class Published:
    """A row of `data/batching_speedups.csv`: `low` to `high` is what the source prints."""

    id: str
    source: str
    system: str
    baseline: str
    model: str
    hardware: str
    workload: str
    metric: str
    low: float
    high: float
    as_printed: str
    conditions: str

    @property
    def what(self) -> str:
        return f"{self.system} over {self.baseline}" if self.baseline else self.system

    def apart(self, ours: float) -> float:
        """By which factor `ours` lies outside the published range; 1 inside it."""
        return max(self.low / ours, ours / self.high, 1.0)


def published() -> dict[str, Published]:
    with DATA.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        del row["seen_in"]
        low, high = float(row.pop("low")), float(row.pop("high"))
        found[row["id"]] = Published(low=low, high=high, **row)
    return found


def main() -> int:
    use_one_thread()
    from benchmarks.batching_cases import CASES, NOT_SIMULATED

    rows = published()
    print("Published gains of continuous batching and paging, and the simulator's.\n")
    print(f"  {'':<66}{'published':>12}{'simulated':>12}{'apart':>10}{'allowed':>10}")
    source, said = "", set()
    for case in CASES:
        row, ours = rows[case.id], case.ours()
        if row.source != source:
            source = row.source
            print(f"\n{source}")
        apart = f"{row.apart(ours):.2f} x"
        print(
            f"  {row.what + ', ' + row.metric:<66}"
            f"{row.as_printed:>12}{ours:>12.4g}{apart:>10}{case.factor:>8g} x"
        )
        for note in (
            f"{row.model} on {row.hardware}; {row.workload}; {row.conditions}.",
            f"Assumed: {case.assumed}.",
            f"Gap: {case.gap}" if case.gap else "",
        ):
            if note and note not in said:
                said.add(note)
                print(textwrap.indent(textwrap.fill(note, 96), "      "))
    print("\nNot simulated")
    for name, reason in NOT_SIMULATED.items():
        print(f"  {rows[name].what}, {rows[name].metric} {rows[name].as_printed}: {reason}.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
