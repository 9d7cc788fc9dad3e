"""The error tables: against the goals, by class, and beside other tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.accuracy.markdown import fine_percent, percent, table
from benchmarks.accuracy.statistics import Scored, Summary, median_error, shared, summary
from labkit.sizing.validate.quantities import THROUGHPUT, TPOT_MANY, TPOT_ONE, TTFT

CALIBRATION = "calibration"
VALIDATION = "visible validation"
FEWEST_SHARED = 10


@dataclass(frozen=True, slots=True)
class Goal:
    """A promise: the median error of some rows stays at or below `error`."""

    name: str
    error: float
    holds_for: Callable[[Scored], bool]


GOALS = (
    Goal(
        "TPOT at batch 1, one GPU",
        0.20,
        lambda r: r.quantity == TPOT_ONE and r.devices == 1 and r.hardware not in ("cpu", "neuron"),
    ),
    Goal("batch > 1 (throughput and TPOT)", 0.30, lambda r: r.quantity in (THROUGHPUT, TPOT_MANY)),
    Goal("TTFT", 0.35, lambda r: r.quantity == TTFT),
    Goal(
        "tensor parallel (TPOT and throughput)",
        0.25,
        lambda r: r.devices > 1 and r.quantity in (TPOT_ONE, TPOT_MANY, THROUGHPUT),
    ),
)


def goals(rows: Sequence[Scored]) -> str:
    """What was promised, on rows the engine was not fitted to, and on those it was."""
    head = ["quantity", "goal", "unseen rows: n", "median error", "within 20 %", "in band"]
    head += ["half-width", "fitted rows: n", "median error"]
    lines = []
    for goal in GOALS:
        unseen = summary([r for r in rows if r.purpose == VALIDATION and goal.holds_for(r)])
        fitted = summary([r for r in rows if r.purpose == CALIBRATION and goal.holds_for(r)])
        lines.append(
            [goal.name, f"≤ {percent(goal.error)}", *_cells(unseen), *_cells(fitted)[:2]],
        )
    return table(head, lines)


def by_class(rows: Sequence[Scored], name: str, key: Callable[[Scored], str]) -> str:
    """labkit and the naive formula for each value of `key`, fitted and unseen rows apart."""
    head = [name, "rows", "n", "median error", "naive", "within 20 %", "in band", "half-width"]
    lines = []
    for value in sorted({key(row) for row in rows}, key=_natural):
        for purpose in (VALIDATION, CALIBRATION):
            part = [r for r in rows if key(r) == value and r.purpose == purpose]
            if not part:
                continue
            said = _cells(summary(part))
            naive = percent(median_error(part, "naive"))
            label = "unseen" if purpose == VALIDATION else "fitted"
            lines.append([value, label, *said[:2], naive, *said[2:]])
    return table(head, lines, numbers_from=2)


def beside(rows: Sequence[Scored], tools: Sequence[str]) -> str:
    """Medians on the rows that a tool and labkit both predict, by tool and quantity."""
    head = ["tool", "quantity", "rows", "n", "labkit", "the tool", "naive", "nearer"]
    lines = []
    for tool in tools:
        for purpose, label in ((VALIDATION, "unseen"), (CALIBRATION, "fitted")):
            for quantity in sorted({row.quantity for row in rows}):
                part = shared(
                    [r for r in rows if r.quantity == quantity and r.purpose == purpose], tool
                )
                if len(part) < FEWEST_SHARED:
                    continue
                lines.append([tool, quantity, label, *_compared(part, tool)])
    return table(head, lines, numbers_from=3)


def beside_by_family(rows: Sequence[Scored], tools: Sequence[str]) -> str:
    """The same by engine family, all quantities of time and rate together."""
    head = ["tool", "engines", "n", "labkit", "the tool", "naive", "nearer"]
    lines = []
    for tool in tools:
        for family in sorted({row.family for row in rows}):
            part = shared([r for r in rows if r.family == family], tool)
            if len(part) >= FEWEST_SHARED:
                lines.append([tool, family, *_compared(part, tool)])
    return table(head, lines, numbers_from=2)


def lost(rows: Sequence[Scored], tools: Sequence[str], fewest: int, most: int) -> list[str]:
    """Where a tool's median is nearer than labkit's, on cuts of `fewest` to `most` shared rows."""
    found = []
    for name, part in _cuts(rows):
        for tool in tools:
            both = shared(part, tool)
            own, theirs = summary(both), median_error(both, tool)
            if own is None or theirs is None or not fewest <= own.n <= most:
                continue
            if theirs <= own.error:
                figures = f"{percent(theirs)} against {percent(own.error)}, n = {own.n}"
                found.append(f"{tool} on {name} ({figures})")
    return found


def _cuts(rows: Sequence[Scored]) -> list[tuple[str, list[Scored]]]:
    """Ways to look at the rows: quantity, engines, accelerator and weights, for each purpose."""
    found = []
    for purpose, label in ((VALIDATION, "unseen"), (CALIBRATION, "fitted")):
        mine = [row for row in rows if row.purpose == purpose]
        for key in (
            lambda r: r.quantity,
            lambda r: f"{r.family} engines",
            lambda r: r.accelerator,
            lambda r: f"{r.weights} weights",
        ):
            for value in sorted({key(row) for row in mine}):
                found.append((f"{value}, {label}", [r for r in mine if key(r) == value]))
    return found


def _compared(part: Sequence[Scored], tool: str) -> list[str]:
    own, theirs = summary(part), median_error(part, tool)
    assert own is not None
    assert theirs is not None
    nearer = "labkit" if own.error < theirs else f"**{tool}**"
    naive = percent(median_error(part, "naive"))
    return [f"{own.n}", percent(own.error), percent(theirs), naive, nearer]


def _cells(said: Summary | None) -> list[str]:
    """n, median error, within 20 %, in band, half-width."""
    if said is None:
        return ["0", "–", "–", "–", "–"]
    shares = (percent(said.within), percent(said.held), percent(said.half_width))
    return [f"{said.n}", fine_percent(said.error), *shares]


def _natural(value: str) -> tuple[int, str]:
    """Numbers by size, then words by letter."""
    return (int(value), "") if value.isdigit() else (10**9, value)
