"""Names of files, cells, metadata and environment variables that several rooms must agree on."""

from __future__ import annotations

import os
import re
from pathlib import Path

# What installers call this project; the import name `labkit` belongs to somebody else there.
DISTRIBUTION = "inference-labkit"

# Environment
ENV_WORKSPACE = "LABKIT_WORKSPACE"
ENV_RUNNER = "LABKIT_RUNNER"
ENV_REPLAY = "LABKIT_REPLAY"
ENV_RECORDS = "LABKIT_RECORDS"
ENV_LEARNER = "LABKIT_LEARNER"
ENV_CACHE = "LABKIT_CACHE"
ENV_SETUP = "LABKIT_SETUP"  # set while `make lab` prepares a workspace

# Inside a workspace
STATE_DIR = ".labkit"
LEARNER_FILE = "learner.toml"
EVENTS_FILE = "events.jsonl"
RECORDS_DIR = "records"
BACKUPS_DIR = "backups"

# Inside a notebook
METADATA_KEY = "labkit"
METADATA_SCHEMA = 1

_LEARNER = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$")
_EXERCISE = re.compile(r"^\d{1,2}\.\d{1,2}$")


def answer_cell(exercise: str) -> str:
    """Cell id of an exercise's answer: "1.7" → "ex-1-7-answer"."""
    return f"ex-{exercise.replace('.', '-')}-answer"


def check_cell(exercise: str) -> str:
    """Cell id of an exercise's check: "1.7" → "ex-1-7-check"."""
    return f"ex-{exercise.replace('.', '-')}-check"


def essay_cell(exercise: str) -> str:
    """Cell id of an essay: "11.9" → "ex-11-9-essay"."""
    return f"ex-{exercise.replace('.', '-')}-essay"


def valid_learner(learner: str) -> bool:
    """Whether this may be a learner id: up to 64 of A-Z a-z 0-9 . _ @ + -, no sign in front."""
    return bool(_LEARNER.fullmatch(learner)) and ".." not in learner


def valid_exercise(exercise: str) -> bool:
    """Whether this has the form of an exercise id, such as "1.7"."""
    return bool(_EXERCISE.fullmatch(exercise))


def find_workspace(start: Path | None = None) -> Path | None:
    """The workspace: ``LABKIT_WORKSPACE``, else the nearest folder upwards that holds `.labkit`.

    None where there is none; the caller then works in memory and says so.
    """
    named = os.environ.get(ENV_WORKSPACE)
    if named:
        root = Path(named).expanduser()
        return root if (root / STATE_DIR).is_dir() else None
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / STATE_DIR / LEARNER_FILE).is_file():
            return folder
    return None
