"""Progress as a page in one file: what is done, what comes next, and how sure one may be.

No script, no font, no address outside the page. What colour says is said in words too; the chart
of the calibration has a table beside it. Everything that a learner could have written is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from html import escape
from pathlib import Path

from labkit.contract.outcome import of_points
from labkit.course.calibration import Calibration
from labkit.course.notebooks import write_bytes
from labkit.course.prediction import BAND_CAPTION, BAND_COLUMNS, band_rows
from labkit.course.progress import LabProgress, Progress, words
from labkit.course.workspace import WorkspaceError

MARK = '<meta name="generator" content="labkit progress">'
_COLUMNS = ("Exercise", "Title", "Status", "Points", "Tries")
_SIDE, _EDGE = 240, 44  # of the chart, in its own units: the square and the room for labels

_STYLE = """
:root { color-scheme: light; --ink: #1f2328; --soft: #57606a; --line: #d0d7de; --done: #0969da; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
main { max-width: 50rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; }
p { margin: .4rem 0; overflow-wrap: anywhere; }
.soft, caption { color: var(--soft); }
.next { border: 1px solid var(--line); border-left: 6px solid var(--done); border-radius: 6px;
  padding: .8rem 1rem; margin: 1.4rem 0; }
.bar { height: .7rem; border: 1px solid var(--soft); border-radius: 4px; margin: .5rem 0 .9rem;
  overflow: hidden; }
.bar div { height: 100%; background: var(--done); print-color-adjust: exact;
  -webkit-print-color-adjust: exact; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
caption { text-align: left; padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
  border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; white-space: nowrap; }
tr { break-inside: avoid; }
td.status { white-space: nowrap; }
.sure { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start; }
.sure svg { width: 20rem; max-width: 100%; height: auto; flex: none; }
.sure table { width: auto; }
@media (max-width: 34rem) {
  td.status { white-space: normal; }
  table { font-size: .85rem; } th, td { padding-right: .35rem; }
}
@media print { main { padding: 0; max-width: none; } section { break-inside: avoid-page; } }
"""


def write_page(report: Progress, target: Path, day: date) -> None:
    """Write the page to `target`. An older page there is replaced, any other file never.

    Raises WorkspaceError or NotebookError with one sentence.
    """
    if target.is_dir():
        raise WorkspaceError(f"{target} is a folder: name a file, such as progress.html.")
    if target.exists() and MARK.encode() not in target.read_bytes()[:4096]:
        raise WorkspaceError(f"{target} is there and is no page of labkit: choose another name.")
    if not target.parent.is_dir():
        raise WorkspaceError(f"There is no folder {target.parent} to put the page into.")
    write_bytes(target, page(report, day).encode("utf-8"))


def page(report: Progress, day: date) -> str:
    """The whole page as HTML."""
    learner = escape(report.learner or "unknown")
    body = "\n".join(
        (
            f"<h1>Progress of {learner}</h1>",
            f'<p class="soft">As of {day.isoformat()}. Points are what your notebooks say; '
            "the grade is your instructor's.</p>",
            f'<p class="next">{_code(report.next_thing())}</p>',
            *(_lab(lab) for lab in report.labs),
            _calibration(report.calibration),
        )
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
{MARK}
<title>Progress of {learner}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def _lab(lab: LabProgress) -> str:
    points, most = lab.points
    share = 100 * lab.passed / len(lab.rows) if lab.rows else 0.0
    done = f"{lab.passed} of {len(lab.rows)} exercises passed"
    graded = f", {of_points(points, most)}" if most else ", ungraded"
    title = f"Lab {lab.plan.number} · {lab.plan.title}"
    rows = (tuple(words(row)[name] for name in ("id", "title", "status", "points", "tries"))
            for row in lab.rows)  # fmt: skip
    table = _table(_COLUMNS, rows, f"Exercises of lab {lab.plan.number}", numbers={3, 4})
    said = "".join(f"<p>{escape(line)}</p>" for line in lab.predictions)
    return (
        f"<section><h2>{escape(title)}</h2><p>{escape(done + graded)}.</p>"
        f'<div class="bar" aria-hidden="true"><div style="width:{share:.0f}%"></div></div>'
        f"{table}{said}</section>"
    )


def _table(
    columns: tuple[str, ...], rows: Iterator[tuple[str, ...]], caption: str, numbers: set[int]
) -> str:
    def kind(i: int) -> str:
        if i in numbers:
            return ' class="number"'
        return ' class="status"' if columns[i] == "Status" else ""

    head = "".join(f'<th scope="col"{kind(i)}>{escape(c)}</th>' for i, c in enumerate(columns))
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td{kind(i)}>{escape(cell)}</td>" for i, cell in enumerate(rest, 1))
        + "</tr>"
        for first, *rest in rows
    )
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _calibration(found: Calibration) -> str:
    still = f"<p>Predictions still open: {found.undecided}.</p>" if found.undecided else ""
    shown = ""
    if not found.missing:
        table = _table(BAND_COLUMNS, iter(band_rows(found)), BAND_CAPTION, numbers={1, 2, 3})
        shown = f'<div class="sure">{_chart(found)}{table}</div>'
    verdict = f"<p>{escape(found.verdict)}</p>"
    return f"<section><h2>How sure you may be</h2>{verdict}{still}{shown}</section>"


def _chart(found: Calibration) -> str:
    """Said against held, in percent: on the line one is as often right as one is sure."""
    width, height = _SIDE + 2 * _EDGE, _SIDE + 2 * _EDGE
    ticks = "".join(
        f'<text x="{_x(p)}" y="{_y(0) + 18}" text-anchor="middle">{p}</text>'
        f'<text x="{_x(0) - 8}" y="{_y(p) + 4}" text-anchor="end">{p}</text>'
        for p in (0, 50, 100)
    )
    dots = "".join(
        f'<circle cx="{_x(b.stated):.1f}" cy="{_y(b.rate):.1f}" r="6" fill="#0969da"/>'
        f'<text x="{_x(b.stated):.1f}" y="{_y(b.rate) - 11:.1f}" text-anchor="middle">'
        f"{b.hits} of {b.predictions}</text>"
        for b in found.bands
    )
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" '
        'aria-label="How often predictions held, against how sure you were; '
        'the table has the numbers." font-size="12" fill="#1f2328">'
        f'<rect x="{_x(0)}" y="{_y(100)}" width="{_SIDE}" height="{_SIDE}" fill="none" '
        'stroke="#d0d7de"/>'
        f'<line x1="{_x(0)}" y1="{_y(0)}" x2="{_x(100)}" y2="{_y(100)}" stroke="#57606a" '
        'stroke-dasharray="5 4"/>'
        f"{ticks}{dots}"
        f'<text x="{_x(50)}" y="{height - 6}" text-anchor="middle">how sure you were, %</text>'
        f'<text transform="translate(12 {_y(50)}) rotate(-90)" text-anchor="middle">'
        "how often it held, %</text></svg>"
    )


def _x(percent: float) -> float:
    return _EDGE + _SIDE * percent / 100


def _y(percent: float) -> float:
    return _EDGE + _SIDE * (1 - percent / 100)


def _code(sentence: str) -> str:
    """Escape a sentence; what stands between backquotes becomes code."""
    parts = escape(sentence).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
