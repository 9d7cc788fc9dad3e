"""Which of two set-ups is faster: how often the engine says so rightly, by how far they differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from benchmarks.accuracy.markdown import percent, table
from benchmarks.accuracy.statistics import Scored
from labkit.sizing.validate.quantities import TPOT_ONE

# Measured ratio of the slower to the faster.
STEPS = ((1.05, 1.2), (1.2, 1.5), (1.5, 2.0), (2.0, float("inf")))
FEWEST = 20


def section(rows: Sequence[Scored]) -> str:
    """Pairs of TPOT at batch 1: of one class and of two, labkit beside the naive formula."""
    part = [row for row in rows if row.quantity == TPOT_ONE and "naive" in row.others]
    pairs = list(combinations(part, 2))
    head = ["the slower takes", "pairs of one class", "labkit", "naive"]
    head += ["pairs of two classes", "labkit", "naive"]
    lines = []
    for low, high in STEPS:
        near = [pair for pair in pairs if low <= _ratio(pair, _measured) < high]
        cells = []
        for alike in (True, False):
            mine = [pair for pair in near if _alike(*pair) is alike]
            shown = len(mine) >= FEWEST
            cells += [
                f"{len(mine):,}",
                percent(_right(mine, _own)) if shown else "–",
                percent(_right(mine, _naive)) if shown else "–",
            ]
        upto = f"{low:g} to {high:g} times" if high < float("inf") else f"over {low:g} times"
        lines.append([upto, *cells])
    return table(head, lines)


def _alike(a: Scored, b: Scored) -> bool:
    return (a.family, a.hardware) == (b.family, b.hardware)


def _measured(row: Scored) -> float:
    return row.measured


def _own(row: Scored) -> float:
    return row.mid


def _naive(row: Scored) -> float:
    return row.others["naive"]


def _ratio(pair: tuple[Scored, Scored], of: Callable[[Scored], float]) -> float:
    a, b = of(pair[0]), of(pair[1])
    return max(a, b) / min(a, b)


def _right(pairs: Sequence[tuple[Scored, Scored]], of: Callable[[Scored], float]) -> float:
    """Share of pairs that `of` puts in the measured order; a tie is half right."""
    score = 0.0
    for a, b in pairs:
        said, true = of(a) - of(b), a.measured - b.measured
        score += 0.5 if said == 0 else float((said > 0) == (true > 0))
    return score / len(pairs) if pairs else 0.0
