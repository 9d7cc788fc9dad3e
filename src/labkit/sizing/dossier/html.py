"""A document as one HTML file: style and pictures inside, nothing to fetch, made to be printed."""

from __future__ import annotations

from labkit.contract.view import escape
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
from labkit.sizing.whatif.markup import bar_markup

_STYLE = """
:root { color-scheme: light }
body { font: 16px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #1f2328;
  background: #fff; max-width: 76rem; margin: 2rem auto; padding: 0 1.25rem }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid #d0d7de;
  padding-bottom: .2rem; break-after: avoid }
.subtitle { color: #57606a; margin: .3rem 0 1.2rem }
.lead { border-left: 6px solid #0a5ca8; background: #f3f7fb; padding: .8rem 1.1rem;
  font-size: 1.1rem }
.lead p { margin: .2rem 0 }
.scroll { overflow-x: auto; margin: .8rem 0 1.4rem }
table { border-collapse: collapse; font-size: .82rem; width: 100% }
caption { text-align: left; font-weight: 600; padding: .3rem 0 }
th, td { text-align: left; vertical-align: top; padding: .3rem .4rem;
  border-bottom: 1px solid #e1e4e8 }
thead th { border-bottom: 2px solid #57606a; background: #f6f8fa }
tbody th { font-weight: normal }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.range { color: #57606a; font-size: .92em }
.bar { max-width: 50rem; break-inside: avoid; margin-bottom: 1.2rem }
figure { margin: 1rem 0; break-inside: avoid }
@media print {
  @page { size: A4 landscape; margin: 14mm }
  body { font-size: 11px; max-width: none; margin: 0; padding: 0 }
  .scroll { overflow: visible }
  tr { break-inside: avoid }
  thead { display: table-header-group }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact }
}
"""


def html(document: Document) -> str:
    """The whole file. Every text is escaped; a heading, a table or a picture names itself."""
    lead = "".join(f"<p>{escape(line)}</p>" for line in document.lead)
    sections = "\n".join(
        f"<section>\n<h2>{escape(section.title)}</h2>\n"
        + "\n".join(_block(block) for block in section.blocks)
        + "\n</section>"
        for section in document.sections
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(document.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<main>\n<h1>{escape(document.title)}</h1>\n<p class="subtitle">'
        f'{escape(document.subtitle)}</p>\n<div class="lead">{lead}</div>\n{sections}\n'
        "</main>\n</body>\n</html>\n"
    )


def _block(block: Block) -> str:
    match block:
        case Paragraph():
            return f"<p>{escape(block.text)}</p>"
        case Bullets():
            return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in block.items) + "</ul>"
        case Table():
            return _table(block)
        case Picture():
            return f"<figure>{block.svg}</figure>"
        case BarPicture():
            return f'<div class="bar">{bar_markup(block.bar)}</div>'
        case Link():
            return (
                f"<p>{escape(block.before)} <code>{escape(block.path)}</code>"
                f"{escape(block.after)}</p>"
            )


def _table(table: Table) -> str:
    def kind(i: int) -> str:
        return ' class="number"' if i in table.numeric else ""

    head = "".join(
        f'<th scope="col"{kind(i)}>{escape(name)}</th>'.replace("\n", "<br>")
        for i, name in enumerate(table.columns)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<th scope="row"{kind(0)}>{_cell(cell)}</th>'
            if i == 0
            else f"<td{kind(i)}>{_cell(cell)}</td>"
            for i, cell in enumerate(row)
        )
        + "</tr>\n"
        for row in table.rows
    )
    return (
        f'<div class="scroll"><table><caption>{escape(table.caption)}</caption>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def _cell(text: str) -> str:
    value, line, between = text.partition("\n")
    below = f'<br><span class="range">{escape(between)}</span>' if line else ""
    return f"{escape(value)}{below}"
