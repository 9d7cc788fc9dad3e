"""Where records come from and go to: shipped recordings, a learner's notebook, the workspace."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from labkit.bench.registry import find_bench
from labkit.contract import LabkitError, Record
from labkit.contract.paths import (
    ENV_RECORDS,
    ENV_REPLAY,
    ENV_RUNNER,
    RECORDS_DIR,
    STATE_DIR,
    find_workspace,
)


class NoRecord(LabkitError):  # noqa: N818  reads as what is the case
    """There is no recording, or nothing was measured yet; the message names the command."""


def recordings_dir() -> Path:
    """The folder of the recordings that ship with labkit."""
    return Path(__file__).parent / "recordings"


def graded() -> bool:
    """Whether this runs under grading: then nothing is measured here."""
    return bool(os.environ.get(ENV_RUNNER) or os.environ.get(ENV_RECORDS))


def replay_wanted() -> bool:
    """Whether ``LABKIT_REPLAY`` asks for recordings (any value but empty and 0)."""
    return os.environ.get(ENV_REPLAY, "") not in ("", "0")


def has_recording(name: str) -> bool:
    """Whether a recording of measurement `name` ships."""
    return _shipped(name).is_file()


def recording(name: str) -> Record:
    """The shipped recording of measurement `name`, always marked as replayed.

    Raises NoRecord with the command that makes one.
    """
    find_bench(name)
    path = _shipped(name)
    if not path.is_file():
        raise NoRecord(
            f"There is no recording of {name!r} to replay: `labkit bench {name} --record` makes "
            "one on a machine that can measure it."
        )
    return replace(_read(path), live=False)


def graded_record(name: str) -> Record:
    """The learner's own record as their notebook carried it, else the recording.

    ``LABKIT_RECORDS`` names a JSON file {id: record}.
    """
    named = os.environ.get(ENV_RECORDS)
    if named:
        records = _json(Path(named))
        if not isinstance(records, dict):
            raise LabkitError(f"{ENV_RECORDS} must name a JSON object of records by id.")
        if name in records:
            record = Record.from_json(records[name])
            if record.id != name:
                raise LabkitError(f"The record carried as {name!r} calls itself {record.id!r}.")
            return record
    return recording(name)


def last(name: str) -> Record:
    """The latest record of measurement `name`, also after a restart of the kernel.

    Under grading the learner's own, else the recording; in replay the recording; else the one
    in the workspace. Raises NoRecord when it was not measured yet.
    """
    find_bench(name)
    if graded():
        return graded_record(name)
    if replay_wanted():
        return recording(name)
    path = _kept(name)
    if path is None:
        raise NoRecord(
            f"There is no workspace here to hold a record of {name!r}: run bench.{name}() and keep "
            "what it returns."
        )
    if not path.is_file():
        raise NoRecord(
            f"{name!r} was not measured in this workspace yet: run bench.{name}() first, or use "
            f"bench.{name}(replay=True)."
        )
    return _read(path)


def keep(record: Record) -> Path | None:
    """Save a live record in the workspace; None where there is none.

    A quick record never takes the place of a full one.
    """
    path = _kept(record.id)
    if path is None:
        return None
    if record.facts.get("quick") and path.is_file() and not _read(path).facts.get("quick"):
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    write(record, path)
    return path


def write(record: Record, path: Path) -> None:
    """Write `record` as JSON, whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record.to_json(), indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def _shipped(name: str) -> Path:
    return recordings_dir() / f"{name}.json"


def _kept(name: str) -> Path | None:
    workspace = find_workspace()
    return workspace / STATE_DIR / RECORDS_DIR / f"{name}.json" if workspace else None


def _read(path: Path) -> Record:
    return Record.from_json(_json(path))


def _json(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LabkitError(f"{path} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise LabkitError(f"{path} is not JSON: delete it and measure again.") from error
