"""Fit the engine overhead (`sizing/overhead.py`) on what vLLM logged, and say how well it holds.

Usage: python -m benchmarks.fit_memory [--write]

Rows: `data/kv-logs.csv`, split "visible", predictable, engine vLLM. A row's overhead is
utilization x total - weights - KV cache. Every source weighs sqrt(its rows): one person's ten logs
say little more than one. The loss is absolute, in units of (0.1 GiB + 5 % of the overhead), so a
few odd runs do not move the parameters.

Each parameter in turn is set to the best value of a grid, until none moves. The spread (`below`,
`above`) comes from leaving each source out: the shares of its rows that fall outside on either
side are held to `TAIL`. With --write the numbers go to src/labkit/sizing/overhead_fitted.py.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from labkit.sizing.bands import Band
from labkit.sizing.overhead import spread_unit, vllm_overhead, vllm_parts
from labkit.sizing.units import GIB
from labkit.sizing.validate.kv_row import KvRow, read_row

DATA = Path(__file__).parent / "data" / "kv-logs.csv"
TARGET = Path(__file__).parents[1] / "src" / "labkit" / "sizing" / "overhead_fitted.py"

# (name, least, most, step): the step is the precision the rows can tell apart.
GRIDS = (
    ("base_gib", 0.0, 0.5, 0.01),
    ("base_kernel_gib", 0.0, 1.0, 0.02),
    ("sort_copies", 6.0, 14.0, 0.1),
    ("step_bytes", 3.0, 12.0, 0.25),
    ("expert_share", 0.1, 1.0, 0.05),
    ("rank_gib", 0.0, 0.8, 0.02),
    ("image_gib", 0.0, 3.5, 0.1),
)
# Where the search starts, from the arithmetic in `overhead` alone: never from an earlier fit, which
# would have seen the rows that are left out.
START = {
    "base_gib": 0.1,
    "base_kernel_gib": 0.1,
    "sort_copies": 10.0,
    "step_bytes": 7.5,
    "expert_share": 0.5,
    "rank_gib": 0.2,
    "image_gib": 0.5,
}
TAIL = 0.05


@dataclass(frozen=True, slots=True)
class Log:
    """One row: as the model reads it, whose it is, and the pool that was logged (bytes)."""

    name: str
    source: str
    row: KvRow
    pool: float

    @property
    def overhead(self) -> float:
        """Bytes that the log leaves for neither weights nor cache."""
        row = self.row
        return row.utilization * row.total_bytes - row.weights_bytes - self.pool


def read_logs(path: Path = DATA) -> list[Log]:
    """The rows to fit: visible, predictable, vLLM, with a pool logged or given by its tokens."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            log_of(row)
            for row in csv.DictReader(file)
            if row["split"] == "visible"
            and row["predictable"] == "1"
            and row["engine"].startswith("vLLM")
        ]


def log_of(row: Mapping[str, str]) -> Log:
    """One row of the file; raises ValueError where it logs no pool."""
    parsed = read_row(row)
    if row["kv_gib"]:
        pool = float(row["kv_gib"]) * GIB
    elif parsed.bytes_per_token and row["kv_tokens"]:
        pool = float(row["kv_tokens"]) * parsed.bytes_per_token
    else:
        raise ValueError(f"{row['id']} logs no pool")
    return Log(row["id"], row["source_group"], parsed, pool)


def fit(logs: Sequence[Log]) -> dict[str, float]:
    """The parameters that fit best; a parameter that no row speaks of keeps its start."""
    rows_of = Counter(log.source for log in logs)
    weights = [1.0 / math.sqrt(rows_of[log.source]) for log in logs]
    fitted = dict(START)

    def loss() -> float:
        return sum(
            weight * abs(log.overhead - middle(log, fitted)) / spread_unit(max(0.0, log.overhead))
            for weight, log in zip(weights, logs, strict=True)
        )

    best = loss()
    for _ in range(12):
        before = best
        for name, least, most, step in GRIDS:
            kept = fitted[name]
            for index in range(round((most - least) / step) + 1):
                fitted[name] = round(least + index * step, 4)
                value = loss()
                if value < best - 1e-9:
                    best, kept = value, fitted[name]
            fitted[name] = kept
        if before - best < 1e-6:
            break
    return fitted


def middle(log: Log, fitted: dict[str, float]) -> float:
    """The overhead that the parameters give this row, bytes."""
    return sum(part.size.mid for part in vllm_parts(log.row.case, fitted))


def leave_one_out(logs: Sequence[Log]) -> list[tuple[Log, dict[str, float]]]:
    """Every row with the parameters fitted on all other sources."""
    held: list[tuple[Log, dict[str, float]]] = []
    for source in dict.fromkeys(log.source for log in logs):
        others = fit([log for log in logs if log.source != source])
        held += [(log, others) for log in logs if log.source == source]
    return held


def spread(held: Iterable[tuple[Log, dict[str, float]]]) -> tuple[float, float]:
    """(below, above): how far outside its parts' sums a held-out row falls, in spread units."""
    under, over = [], []
    for log, fitted in held:
        parts = vllm_parts(log.row.case, fitted)
        unit = spread_unit(middle(log, fitted))
        under.append((sum(part.size.low for part in parts) - log.overhead) / unit)
        over.append((log.overhead - sum(part.size.high for part in parts)) / unit)
    return (max(0.0, _quantile(under, 1 - TAIL)), max(0.0, _quantile(over, 1 - TAIL)))


@dataclass(frozen=True, slots=True)
class Score:
    """Errors of the pool: |predicted - logged| / logged; the band's hits and half-width / mid."""

    rows: int
    median_error: float
    within_10: float
    within_20: float
    worst: float
    inside: float
    half_width: float

    def __str__(self) -> str:
        return (
            f"{self.rows} rows: median error {self.median_error:.1%}, within 10 % "
            f"{self.within_10:.0%}, within 20 % {self.within_20:.0%}, worst {self.worst:.1%}; "
            f"band holds {self.inside:.0%}, median half-width {self.half_width:.1%}"
        )


def score(pairs: Sequence[tuple[Log, Band]]) -> Score:
    """Score rows against overhead bands."""
    errors, inside, widths = [], 0, []
    for log, overhead in pairs:
        row = log.row
        budget = row.utilization * row.total_bytes - row.weights_bytes
        low, mid, high = (
            max(0.0, budget - kept) for kept in (overhead.high, overhead.mid, overhead.low)
        )
        errors.append(abs(mid - log.pool) / log.pool)
        inside += low <= log.pool <= high
        widths.append((high - low) / 2 / log.pool)
    n = len(errors)
    return Score(
        n,
        median(errors),
        sum(e <= 0.10 for e in errors) / n,
        sum(e <= 0.20 for e in errors) / n,
        max(errors),
        inside / n,
        median(widths),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Fit, print the scores, and write the numbers where asked to."""
    parser = argparse.ArgumentParser(prog="fit_memory", description="Fit the engine overhead.")
    parser.add_argument("--write", action="store_true", help="write overhead_fitted.py")
    parser.add_argument("--rows", action="store_true", help="print every row, held out")
    options = parser.parse_args(argv)
    logs = read_logs()
    fitted = fit(logs)
    held = leave_one_out(logs)
    below, above = (round(value, 2) for value in spread(held))
    fitted |= {"below": below, "above": above}
    held = [(log, others | {"below": below, "above": above}) for log, others in held]
    print("parameters:", ", ".join(f"{name} {value:g}" for name, value in fitted.items()))
    seen = score([(log, vllm_overhead(log.row.case, fitted)) for log in logs])
    unseen = score([(log, vllm_overhead(log.row.case, others)) for log, others in held])
    print("in sample:              ", seen)
    print("leaving one source out: ", unseen)
    if options.rows:
        for log, others in held:
            band = vllm_overhead(log.row.case, others)
            print(
                f"{log.name} {log.source[:32]:32} pool {log.pool / GIB:6.2f}  overhead "
                f"{log.overhead / GIB:5.2f}  predicted {band.low / GIB:5.2f} "
                f"{band.mid / GIB:5.2f} {band.high / GIB:5.2f}"
            )
    if options.write:
        TARGET.write_text(_module(fitted, logs, seen, unseen), encoding="utf-8")
        print(f"written: {TARGET.name}")
    return 0


def _module(fitted: Mapping[str, float], logs: Sequence[Log], seen: Score, unseen: Score) -> str:
    sources = len({log.source for log in logs})
    numbers = "\n".join(f'    "{name}": {value!r},' for name, value in fitted.items())
    return f'''"""Written by `python -m benchmarks.fit_memory --write`: do not edit.

The numbers of `overhead`, fitted on {len(logs)} logs of vLLM from {sources} sources
(benchmarks/data/kv-logs.csv, split "visible", predictable).

KV pool, in sample:
  {_wrapped(str(seen))}
KV pool, each source predicted from the others:
  {_wrapped(str(unseen))}
"""

from __future__ import annotations

FITTED: dict[str, float] = {{
{numbers}
}}
SOURCE = "fit to {len(logs)} vLLM logs of {sources} sources (benchmarks/data/kv-logs.csv)"
'''


def _wrapped(text: str) -> str:
    return text.replace("; band", ";\n  band")


def _quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


if __name__ == "__main__":
    raise SystemExit(main())
