"""Measurements kept in the workspace: `.labkit/records/<id>.json`, the latest of each bench."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from labkit.contract import LabkitError, Record
from labkit.contract.paths import ENV_RECORDS, RECORDS_DIR, STATE_DIR
from labkit.course.notebooks import write_bytes

_ID = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")


def folder(workspace: Path | None) -> Path | None:
    """Where records are kept: ``LABKIT_RECORDS``, else the workspace's folder, else nowhere."""
    named = os.environ.get(ENV_RECORDS)
    if named:
        return Path(named).expanduser()
    return None if workspace is None else workspace / STATE_DIR / RECORDS_DIR


def kept(record_id: str, workspace: Path | None) -> Record | None:
    """The record of this bench that was kept last; None where there is none that can be read."""
    home = folder(workspace)
    if home is None or not _ID.match(record_id):
        return None
    try:
        data = json.loads((home / f"{record_id}.json").read_text(encoding="utf-8"))
        return Record.from_json(data)
    except (OSError, ValueError, LabkitError):
        return None  # an absent or torn record is one that has yet to be made


def keep(record: Record, workspace: Path | None) -> None:
    """Keep a record for later labs; replaces the earlier one. In memory mode does nothing.

    Raises LabkitError when the folder cannot be written.
    """
    home = folder(workspace)
    if home is None or not _ID.match(record.id):
        return
    try:
        home.mkdir(parents=True, exist_ok=True)
        text = json.dumps(record.to_json(), ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise LabkitError(f"The record {record.id!r} holds a number that is not finite.") from None
    except OSError as error:
        raise LabkitError(f"{home} cannot be written: {error.strerror}.") from None
    write_bytes(home / f"{record.id}.json", text.encode("utf-8"))
