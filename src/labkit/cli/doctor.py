"""`labkit doctor`: what this machine can run, what is missing, and how to get it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from labkit.cli.common import console, emit_json
from labkit.cli.doctor_checks import Finding, Status, examine

_STYLE = {Status.OK: "green", Status.ATTENTION: "yellow", Status.MISSING: "red"}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Say what this machine can run, which weights are in use, and what is missing."""
    findings = examine()
    if as_json:
        emit_json({"findings": [asdict(finding) for finding in findings]})
        return
    _show(findings)


def _show(findings: list[Finding]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for finding in findings:
        status = finding.status
        text = Text(finding.text)
        if finding.remedy:
            text.append(f"\n→ {finding.remedy}", style="bold")
        label = Text(f"{status.symbol} {status.value}", style=_STYLE[status])
        table.add_row(label, Text(finding.name), text)
    out = console()
    out.print(table)
    counts = {status: sum(f.status is status for f in findings) for status in Status}
    out.print("\n" + ", ".join(f"{count} {status.value}" for status, count in counts.items()))
