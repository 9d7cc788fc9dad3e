"""Tables and numbers as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers_from: int = 1) -> str:
    """A table; columns from `numbers_from` on are set right."""
    rule = ["---" if i < numbers_from else "--:" for i in range(len(head))]
    lines = [head, rule, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def percent(value: float | None) -> str:
    """0.1234 as "12 %"; a dash where there is nothing. Above 10 times: "> 1,000 %"."""
    if value is None:
        return "–"
    return f"{value * 100:.0f} %" if value <= 10 else "> 1,000 %"


def fine_percent(value: float | None) -> str:
    """0.1234 as "12.3 %"."""
    return "–" if value is None else f"{value * 100:.1f} %"


def number(value: float) -> str:
    """Three significant digits, thousands separated."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
