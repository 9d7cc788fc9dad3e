"""A look as plain text: for a terminal, a log, and a notebook that shows no widgets."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from datetime import date
from itertools import pairwise

from labkit.contract.view import WIDTH, text_table
from labkit.sizing.whatif import words
from labkit.sizing.whatif.bars import Bar
from labkit.sizing.whatif.look import Look

_BAR = 64


def text(look: Look, today: date) -> str:
    """Everything the panel shows, in at most 88 columns."""
    parts = [_wrap(words.title(look)), _wrap(words.verdict(look))]
    parts += [_wrap(f"! {line}") for line in words.refusals(look)]
    if rows := words.rows(look):
        parts.append(text_table(words.COLUMNS, rows))
    parts += ["\n".join(bar_lines(bar)) for bar in look.bars]
    parts += [_wrap(line) for line in (words.binds(look),) if line]
    if lines := words.at_rate_lines(look):
        parts.append("\n".join(_wrap(line) for line in lines))
    if notes := words.footnotes(look, today):
        parts.append("\n".join(_wrap(line) for line in notes))
    return "\n\n".join(parts)


def bar_lines(bar: Bar) -> Iterator[str]:
    """A title, a bar of letters, and one line for each letter; `<` marks the largest."""
    yield bar.title
    drawn = "".join(s.letter * n for s, n in zip(bar.segments, _cells(bar), strict=True))
    yield f"  [{drawn}]"
    if bar.limit is not None:
        place = round(_BAR * bar.limit / bar.total)
        yield "   " + " " * place + "^ the engine may use no more"
    width = max(len(segment.name) for segment in bar.segments)
    for segment in bar.segments:
        mark = "  < largest" if segment.largest else ""
        share = segment.value / bar.total
        yield (
            f"  {segment.letter}  {segment.name:<{width}}  {segment.shown:>10}  {share:4.0%}{mark}"
        )


def _cells(bar: Bar) -> list[int]:
    """Cells per segment, `_BAR` in all: rounded at the running sum, so that nothing is lost."""
    ends, done = [0], 0.0
    for segment in bar.segments:
        done += segment.value
        ends.append(round(_BAR * done / bar.total))
    return [end - start for start, end in pairwise(ends)]


def _wrap(line: str) -> str:
    return textwrap.fill(line, WIDTH, subsequent_indent="  " if line.startswith("!") else "")
