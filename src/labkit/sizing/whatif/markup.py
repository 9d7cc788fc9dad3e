"""A look as HTML for the panel: bars with hatching and letters, so that colour is never alone.

Text takes the page's own colour, so it reads on JupyterLab's light and dark themes.
"""

from __future__ import annotations

from datetime import date

from labkit.contract.view import escape
from labkit.sizing.whatif import words
from labkit.sizing.whatif.bars import Bar, Segment
from labkit.sizing.whatif.look import Look

# Okabe and Ito's palette: told apart by people who see colours differently.
_COLOURS = {
    "W": "#0072b2",
    "K": "#e69f00",
    "C": "#009e73",
    "A": "#cc79a7",
    "O": "#f0e442",
    "H": "#d55e00",
    "E": "#d55e00",
    "R": "#999999",
    "F": "#56b4e9",
    "B": "#bbbbbb",
}
_HATCHES = {
    "K": "repeating-linear-gradient(45deg,#0000 0 5px,#0003 5px 7px)",
    "O": "repeating-linear-gradient(90deg,#0000 0 3px,#0003 3px 4px)",
    "C": "repeating-linear-gradient(90deg,#0000 0 6px,#0003 6px 8px)",
    "A": "repeating-linear-gradient(0deg,#0000 0 5px,#0003 5px 7px)",
    "H": "repeating-linear-gradient(135deg,#0000 0 5px,#0003 5px 7px)",
    "E": "repeating-linear-gradient(135deg,#0000 0 5px,#0003 5px 7px)",
    "F": "repeating-linear-gradient(45deg,#0000 0 9px,#fff8 9px 11px)",
}
_DARK = frozenset("WCHE")
_MIN_LETTER = 0.035  # a narrower segment shows no letter; its line below does


def markup(look: Look, today: date) -> str:
    """The whole answer; every text in it is escaped."""
    e = look.estimate
    mark, edge = ("✓", "#1a7f37") if e.fits else ("✗", "#bc4c00")
    parts = [
        f'<div style="opacity:.8">{escape(words.title(look))}</div>',
        f'<div style="border-left:6px solid {edge};padding:.3em .8em;margin:.5em 0;'
        f'font-weight:600">{mark} {escape(words.verdict(look))}</div>',
        *(_refusal(line) for line in words.refusals(look)),
        _table(look),
        *(bar_markup(bar) for bar in look.bars),
        _paragraph(words.binds(look)),
        *(_paragraph(line) for line in words.at_rate_lines(look)),
        *(_paragraph(line, "opacity:.75;font-size:.92em") for line in words.footnotes(look, today)),
    ]
    return (
        '<div class="labkit-what-if" style="color:var(--jp-ui-font-color1,inherit);'
        f'line-height:1.45;max-width:46em">{"".join(parts)}</div>'
    )


def _refusal(line: str) -> str:
    code, _, detail = line.partition(": ")
    return (
        '<div style="padding:.1em .8em;margin:.2em 0;border-left:6px solid #bc4c00">'
        f"<code>{escape(code)}</code> {escape(detail)}</div>"
    )


def _paragraph(line: str, style: str = "") -> str:
    return f'<div style="margin:.35em 0;{style}">{escape(line)}</div>' if line else ""


def _table(look: Look) -> str:
    found = words.rows(look)
    if not found:
        return ""
    first, *others = words.COLUMNS
    head = f'<th scope="col" style="{_CELL};text-align:left">{escape(first)}</th>'
    head += "".join(f'<th scope="col" style="{_CELL}">{escape(n)}</th>' for n in others)
    body = "".join(
        f'<tr><th scope="row" style="{_CELL};text-align:left;font-weight:normal">{escape(row[0])}'
        "</th>" + "".join(f'<td style="{_CELL}">{escape(cell)}</td>' for cell in row[1:]) + "</tr>"
        for row in found
    )
    return (
        '<table style="border-collapse:collapse;margin:.4em 0">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


_CELL = "padding:.1em .9em .1em 0;text-align:right;font-variant-numeric:tabular-nums"


def bar_markup(bar: Bar) -> str:
    """A bar with its title above and its parts below; they are read aloud as one description."""
    described = "; ".join(f"{s.name} {s.shown}" for s in bar.segments)
    limit = ""
    if bar.limit is not None:
        # The words stand on that side of the line where there is room for them.
        place = 100 * bar.limit / bar.total
        left = place > 50
        side = (
            f"width:{place:.2f}%;border-right" if left else f"margin-left:{place:.2f}%;border-left"
        )
        limit = (
            f'<div style="{side}:2px solid;text-align:{"right" if left else "left"};'
            'padding:0 .3em;box-sizing:border-box;font-size:.85em">the engine may use no more</div>'
        )
    return (
        f'<div style="margin:.7em 0 .2em;font-weight:600">{escape(bar.title)}</div>'
        f'<div role="img" aria-label="{escape(described)}" style="display:flex;height:1.7em;'
        'border:1px solid #0006;overflow:hidden">'
        + "".join(_block(segment, bar.total) for segment in bar.segments)
        + f"</div>{limit}"
        '<div style="display:flex;flex-wrap:wrap;gap:.1em 1.3em;font-size:.92em;margin:.2em 0">'
        + "".join(_key(segment, bar.total) for segment in bar.segments)
        + "</div>"
    )


def _paint(letter: str) -> str:
    ink = "#fff" if letter in _DARK else "#000"
    hatch = f";background-image:{_HATCHES[letter]}" if letter in _HATCHES else ""
    return f"background-color:{_COLOURS[letter]};color:{ink}{hatch}"


def _block(segment: Segment, total: float) -> str:
    share = segment.value / total
    letter = segment.letter if share >= _MIN_LETTER else ""
    return (
        f'<div aria-hidden="true" style="{_paint(segment.letter)};width:{100 * share:.3f}%;'
        'text-align:center;font-weight:700;line-height:1.7em;overflow:hidden">'
        f"{letter}</div>"
    )


def _key(segment: Segment, total: float) -> str:
    weight = "font-weight:700" if segment.largest else ""
    note = ", largest" if segment.largest else ""
    return (
        f'<span style="white-space:nowrap;{weight}"><span aria-hidden="true" '
        f'style="{_paint(segment.letter)};display:inline-block;width:1.3em;text-align:center;'
        f'font-weight:700;margin-right:.4em">{segment.letter}</span>{escape(segment.name)} '
        f"{escape(segment.shown)} ({segment.value / total:.0%}{note})</span>"
    )
