"""How far off the engine is, for people: by quantity and hardware, worst rows, what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from labkit.sizing.validate import RowResult, Score, Summary

NONE = "–"
REASONS = 12
SHOWN = ("quantity", "accelerator")


def render(
    results: Sequence[RowResult],
    summary: Summary,
    out: Console,
    *,
    title: str,
    rows: int,
    worst: int,
) -> None:
    """Print the summary of a validated table of `rows` rows."""
    out.print(Text(title, style="bold"))
    counted = _counted(rows, "row")
    if rows != summary.rows:
        counted += f", {_counted(summary.rows, 'value')}"
    out.print(
        f"{counted}: {summary.supported} predicted ({summary.supported_share:.0%}), "
        f"{summary.rows - summary.supported} unsupported, {summary.suspect} suspect (not scored)."
    )
    for group in SHOWN:
        scores = summary.groups.get(group)
        if scores:
            last = {"all": summary.total} if group == SHOWN[0] else {}
            out.print(_scores(group, {**scores, **last}))
    out.print(
        "error: median of |predicted - measured| / measured; rates at batch 1 are scored as times "
        "per token. in band: share whose measured value lies between low and high. band: median "
        "half-width over the middle."
    )
    far = [row for row in results if row.error is not None]
    far = sorted(far, key=lambda row: -(row.error or 0.0))[:worst]
    if far:
        out.print(_worst(far))
    if summary.reasons:
        out.print(Text("Unsupported", style="bold"))
        for line in _reasons(summary.reasons):
            out.print(line, soft_wrap=False)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _table(title: str, columns: Iterable[tuple[str, bool]]) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
    )
    for name, right in columns:
        # Long names fold; figures, ids and metrics stay whole.
        whole = right or name in {"row", "metric"}
        table.add_column(name, justify="right" if right else "left", overflow="fold", no_wrap=whole)
    return table


def _scores(group: str, scores: Mapping[str, Score]) -> Table:
    columns = ("rows", "error", "within 20 %", "in band", "band ±")
    table = _table(f"\nBy {group}", [(group, False), *((name, True) for name in columns)])
    for name, one in scores.items():
        shares = (one.median_error, one.within, one.coverage, one.half_width)
        table.add_row(name, str(one.rows), *(_percent(share) for share in shares))
    return table


def _worst(rows: Sequence[RowResult]) -> Table:
    columns: tuple[tuple[str, bool, Callable[[RowResult], str]], ...] = (
        ("row", False, lambda r: r.id),
        ("run", False, lambda r: f"{r.engine or NONE} on {r.accelerator or NONE}"),
        ("metric", False, lambda r: r.metric),
        ("measured", True, lambda r: _number(r.measured)),
        ("low", True, lambda r: _number(r.low)),
        ("mid", True, lambda r: _number(r.mid)),
        ("high", True, lambda r: _number(r.high)),
        ("error", True, lambda r: _percent(r.error)),
    )
    table = _table("\nFarthest off", [(name, right) for name, right, _ in columns])
    for row in rows:
        table.add_row(*(Text(cell(row)) for _, _, cell in columns))
    return table


def _reasons(reasons: Mapping[str, int]) -> list[Text]:
    lines = [Text(f"{count:>5}  {reason}") for reason, count in reasons.items()]
    more = len(lines) - REASONS
    if more > 0:
        lines = [*lines[:REASONS], Text(f"       and {more} other reasons: --json lists every row")]
    return lines


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:,.0f} %"


def _number(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
