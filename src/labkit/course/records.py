"""The learner's measurements as the workspace keeps them, or as they are replayed."""

from __future__ import annotations

import json
from pathlib import Path

from labkit.bench.records import graded, last, replay_wanted, write
from labkit.bench.registry import find_bench
from labkit.contract import LabkitError, Record
from labkit.contract.paths import RECORDS_DIR, STATE_DIR


def kept(record_id: str, workspace: Path | None) -> Record | None:
    """The record of this bench that the workspace holds; None where none can be read.

    In replay it is the shipped recording, as `bench.last` says.
    """
    if replay_wanted() or graded():
        try:
            return last(record_id)
        except LabkitError:
            return None
    if workspace is None:
        return None
    try:
        find_bench(record_id)  # an unknown id is no file name to open
        data = (workspace / STATE_DIR / RECORDS_DIR / f"{record_id}.json").read_text("utf-8")
        return Record.from_json(json.loads(data))
    except (OSError, ValueError, LabkitError):
        return None  # an absent or torn record is one that has yet to be made


def keep(record: Record, workspace: Path | None) -> None:
    """Keep a record that was handed in, for later labs; in memory mode does nothing.

    `bench` keeps what it measures; this adds a replay that a learner chose to work with. Raises
    LabkitError when the folder cannot be written.
    """
    if workspace is None or replay_wanted():
        return
    find_bench(record.id)
    path = workspace / STATE_DIR / RECORDS_DIR / f"{record.id}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(record, path)
    except OSError as error:
        raise LabkitError(f"{path} cannot be written: {error.strerror}.") from None
