"""A document as GitHub-flavoured Markdown."""

from __future__ import annotations

import re

from labkit.sizing.dossier.document import (
    BarPicture,
    Block,
    Bullets,
    Document,
    Link,
    Paragraph,
    Picture,
    Table,
)
from labkit.sizing.whatif.text import bar_lines

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#])")


def markdown(document: Document, pictures: bool = False) -> str:
    """The page. `pictures`: link SVG files of the pictures' names, which lie beside the page."""
    parts = [f"# {_plain(document.title)}", _plain(document.subtitle)]
    parts.append("\n".join(f"> {_plain(line)}" for line in document.lead))
    for section in document.sections:
        parts.append(f"## {_plain(section.title)}")
        parts += [text for block in section.blocks if (text := _block(block, pictures))]
    return "\n\n".join(parts) + "\n"


def _block(block: Block, pictures: bool) -> str:
    match block:
        case Paragraph():
            return _plain(block.text)
        case Bullets():
            return "\n".join(f"- {_plain(item)}" for item in block.items)
        case Table():
            return _table(block)
        case Picture():
            return f"![{_plain(block.words)}]({block.name})" if pictures else ""
        case BarPicture():
            return "```text\n" + "\n".join(bar_lines(block.bar)) + "\n```"
        case Link():
            return f"{_plain(block.before)} `{block.path}`{_plain(block.after)}"


def _table(table: Table) -> str:
    rule = ["---:" if i in table.numeric else "---" for i in range(len(table.columns))]
    lines = [_row(table.columns), "| " + " | ".join(rule) + " |"]
    return "\n".join([f"**{_plain(table.caption)}**", "", *lines, *map(_row, table.rows)])


def _row(cells: tuple[str, ...]) -> str:
    """A line break in a cell is one of the few tags that GitHub reads in a table."""
    return "| " + " | ".join("<br>".join(map(_plain, cell.split("\n"))) for cell in cells) + " |"


def _plain(text: str) -> str:
    """Text that stays text: nothing in it becomes markup, a table's line stays one line."""
    # A dollar sign would begin mathematics on GitHub.
    return _SPECIAL.sub(r"\\\1", " ".join(text.split())).replace("$", "&#36;")
