"""The roster: which learner stands behind which name of the learning management system."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

from labkit.contract.errors import LabkitError
from labkit.contract.paths import valid_learner

COLUMNS = ("lms_id", "learner")


def load_roster(path: Path) -> dict[str, str]:
    """{lms_id: learner} from a CSV with those two columns.

    Raises LabkitError naming the line of a duplicate, an empty field or an invalid learner id.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise LabkitError(f"The roster {path} cannot be read: {reason}.") from None
    rows = csv.DictReader(text.splitlines())
    missing = [name for name in COLUMNS if name not in (rows.fieldnames or ())]
    if missing:
        raise LabkitError(
            f"The roster {path} lacks the column {missing[0]!r}; it needs lms_id,learner."
        )
    roster: dict[str, str] = {}
    for row in rows:
        _add(roster, row, f"The roster {path}, line {rows.line_num}")
    return roster


def _add(roster: dict[str, str], row: Mapping[str, str | None], where: str) -> None:
    lms_id, learner = ((row.get(name) or "").strip() for name in COLUMNS)
    if not lms_id or not learner:
        raise LabkitError(f"{where}: lms_id and learner must both be given.")
    if not valid_learner(learner):
        raise LabkitError(f"{where}: {learner!r} cannot be a learner id.")
    if lms_id in roster:
        raise LabkitError(f"{where}: {lms_id!r} is listed twice.")
    if learner in roster.values():
        raise LabkitError(f"{where}: the learner {learner!r} is listed twice.")
    roster[lms_id] = learner
