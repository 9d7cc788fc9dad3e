"""Finds what was handed in: a folder per learner, a folder of notebooks, or one notebook.

Links are never followed and hidden folders never entered. Everything is sorted, so that two
machines find the same in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from labkit.contract.errors import LabkitError

MAX_DEPTH = 6
MAX_FILES = 50
_SKIPPED = {"__MACOSX", "__pycache__", ".ipynb_checkpoints", ".git", ".labkit"}
_UNPACKED = (".zip", ".tar", ".gz", ".7z", ".rar")


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that was handed in. `owner` is the learner's folder, "" where there is none.

    `path` is None for a folder without a notebook. `problem` says why the file is not opened.
    """

    owner: str
    path: Path | None
    problem: str = ""


def collect(root: Path) -> tuple[list[Found], list[str]]:
    """What stands at `root`, and remarks about what was passed over.

    Raises LabkitError where there is nothing to grade.
    """
    if not root.exists():
        raise LabkitError(f"There are no submissions at {root}: no such file or folder.")
    if not root.is_dir():
        if root.suffix != ".ipynb":
            raise LabkitError(f"{root} is neither a folder nor a notebook (.ipynb).")
        return [Found("", root)], []
    found: list[Found] = []
    remarks: list[str] = []
    for entry in _entries(root, hidden=True):
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            inside = _folder(path)
            # A folder that begins with a dot is somebody's only if they handed something in.
            if not entry.name.startswith(".") or inside[0].path is not None:
                found += inside
        elif entry.is_symlink():
            is_notebook = path.suffix == ".ipynb"
            owner = "" if is_notebook else path.name
            found.append(Found(owner, path, "is a symbolic link; links are not followed"))
        elif path.suffix == ".ipynb" and not entry.name.startswith("."):
            found.append(Found("", path))
        elif path.suffix.lower() in _UNPACKED:
            remarks.append(f"{path.name} is an archive: unpack it into a folder of its own first.")
    if not found:
        raise LabkitError(f"There are no submissions in {root}: no folder and no notebook.")
    return found, remarks


def _folder(folder: Path) -> list[Found]:
    """The notebooks of one learner; one entry without a path where there is none."""
    found = list(_walk(folder, folder.name, 1))
    if len(found) > MAX_FILES:
        found = [*found[:MAX_FILES], Found(folder.name, None, f"holds over {MAX_FILES} notebooks")]
    return found or [Found(folder.name, None)]


def _walk(folder: Path, owner: str, depth: int) -> Iterator[Found]:
    try:
        entries = _entries(folder)
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        yield Found(owner, folder, f"cannot be opened: {reason}")
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.is_symlink():
            if path.suffix == ".ipynb":
                yield Found(owner, path, "is a symbolic link; hand in the notebook itself")
        elif entry.is_dir(follow_symlinks=False):
            if depth < MAX_DEPTH:
                yield from _walk(path, owner, depth + 1)
        elif path.suffix == ".ipynb":
            yield Found(owner, path)


def _entries(folder: Path, *, hidden: bool = False) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        kept = [e for e in entries if e.name not in _SKIPPED]
    kept = [e for e in kept if hidden or not e.name.startswith(".")]
    return sorted(kept, key=lambda entry: os.fsencode(entry.name))
