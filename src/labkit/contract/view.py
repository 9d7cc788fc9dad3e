"""How things look: small HTML cards and tables, each with a plain-text twin.

Every piece of text is escaped here, because half of it comes from learners. The colours meet
WCAG AA on white and on JupyterLab's dark theme, and each card also says its state in words.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Sequence

WIDTH = 88

_EDGE = {
    "passed": "#1a7f37",
    "failed": "#bc4c00",
    "error": "#cf222e",
    "not-attempted": "#6e7781",
    "info": "#0969da",
}


def escape(text: object) -> str:
    """Text made safe inside HTML, quotes included."""
    return html.escape(str(text), quote=True)


def prose(text: object) -> str:
    """A sentence inside HTML: escaped first, then what stands between backticks is code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text))


def card(state: str, head: str, tail: str, lines: Sequence[str]) -> str:
    """One bordered card. `state` picks the edge: passed, failed, error, not-attempted, info."""
    edge = _EDGE[state]
    body = "".join(f'<div style="margin-top:.35em">{prose(line)}</div>' for line in lines if line)
    right = (
        f'<span style="opacity:.75;white-space:nowrap;margin-left:1em">{escape(tail)}</span>'
        if tail
        else ""
    )
    return (
        f'<div class="labkit-card labkit-{escape(state)}" role="status" style="'
        f"border:1px solid {edge};border-left:6px solid {edge};border-radius:4px;"
        'padding:.6em .9em;margin:.4em 0;max-width:46em;line-height:1.45">'
        '<div style="display:flex;justify-content:space-between">'
        f"<b>{prose(head)}</b>{right}</div>{body}</div>"
    )


def text_card(head: str, tail: str, lines: Sequence[str]) -> str:
    """The same card as plain text, wrapped to a terminal's width."""
    first = f"{head}  [{tail}]" if tail else head
    wrapped = [
        textwrap.fill(line, WIDTH, initial_indent="  ", subsequent_indent="  ")
        for line in lines
        if line
    ]
    return "\n".join([first, *wrapped])


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], caption: str = "") -> str:
    """An HTML table with left-aligned text; numbers should come already formatted."""
    cell = "padding:.2em .6em;text-align:left;vertical-align:top"
    header = "".join(f'<th scope="col" style="{cell}">{escape(name)}</th>' for name in columns)
    body = "".join("<tr>" + "".join(_cell(value, cell) for value in row) + "</tr>" for row in rows)
    title = (
        f'<caption style="text-align:left;font-weight:600;padding:.2em .6em">{escape(caption)}'
        "</caption>"
        if caption
        else ""
    )
    return (
        '<table class="labkit-table" style="border-collapse:collapse;margin:.4em 0">'
        f"{title}<thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(value: object, style: str) -> str:
    """One cell; a short one does not wrap, so that a number keeps its unit."""
    text = str(value)
    if len(text) <= 28:
        style += ";white-space:nowrap"
    return f'<td style="{style}">{escape(text)}</td>'


def text_table(columns: Sequence[str], rows: Sequence[Sequence[object]], caption: str = "") -> str:
    """The same table as aligned plain text."""
    grid = [[str(value) for value in row] for row in [columns, *rows]]
    widths = [max(len(row[i]) for row in grid) for i in range(len(columns))]
    lines = [
        "  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip() for row in grid
    ]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join([caption, *lines] if caption else lines)


def number(value: float, digits: int = 4) -> str:
    """A number as people read it: thousands separated, `digits` significant figures."""
    if abs(value) < 1e13 and (isinstance(value, int) or value == int(value) >= 1000):
        return f"{int(value):,}"
    if value != 0 and not 1e-3 <= abs(value) < 1e7:
        return f"{value:.{digits}g}"
    shown = f"{value:,.{max(0, digits - len(str(int(abs(value)))))}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown
