"""Lab 00's preflight: `labkit doctor`'s own findings as a table in the notebook.

The program is asked in a process of its own, so that the notebook and the terminal cannot say
different things. What identifies a person stays out: a notebook is handed in.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labkit.bench.records import replay_wanted
from labkit.contract import LabkitError
from labkit.course.cards import Card, Table

TIMEOUT_S = 180
MARKS = {"ok": "✓ ok", "attention": "! attention", "missing": "✗ missing"}
# What each line is for, in a learner's words.
WHY = {
    "Python": "runs the notebooks",
    "System": "decides what is supported",
    "CPU": "what your measurements will be about, where there is no GPU",
    "Memory": "measurements want 4 GiB free",
    "Disk": "room for the small model's weights",
    "torch": "runs the small model when you measure",
    "Weights": "a real model of 135 million parameters, fetched once",
    "JupyterLab": "what you are looking at",
    "Workspace": "where your answers and your progress are kept",
    "Grading": "for instructors only",
    "Browser test": "for those who work on the course itself",
}


def preflight() -> Table | Card:
    """What this machine can run, line by line. In replay nothing is asked of the machine.

    Raises LabkitError when `labkit doctor` itself cannot be run.
    """
    if replay_wanted():
        return Card(
            "○ This machine was not looked at",
            (
                "Replay is on (LABKIT_REPLAY), so nothing is asked of the machine. "
                "`labkit doctor` in a terminal asks it.",
            ),
            state="not-attempted",
        )
    return show(_findings())


def show(findings: Sequence[Mapping[str, Any]]) -> Table:
    """Findings of `labkit doctor --json` as a table, remedies below."""
    rows = tuple(
        (finding["name"], MARKS[finding["status"]], _text(finding), WHY.get(finding["name"], ""))
        for finding in findings
    )
    remedies = tuple(
        f"{finding['name']}: {finding['remedy']}" for finding in findings if finding["remedy"]
    )
    notes = remedies or ("Nothing is missing.",)
    return Table(("What", "State", "Found", "What for"), rows, "Preflight", notes)


def _text(finding: Mapping[str, Any]) -> str:
    """The finding in short: no way to the learner's folder, no remark for later labs."""
    data = finding.get("data", {})
    if data.get("path"):
        return f"the folder {Path(data['path']).name}"
    return str(data.get("label") or finding["text"])


def _findings() -> list[dict[str, Any]]:
    command = [sys.executable, "-P", "-m", "labkit.cli.main", "doctor", "--json"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True, encoding="utf-8"
        )
        found: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    except (subprocess.SubprocessError, OSError, ValueError, KeyError) as error:
        raise LabkitError(
            f"`labkit doctor` did not answer ({type(error).__name__}): run it in a terminal."
        ) from error
    return found
