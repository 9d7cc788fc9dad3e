"""Reading and writing .ipynb files as plain JSON: their labkit metadata and their cells.

nbformat is not imported here: a workspace can be made, and a lab reset, where only the core of
labkit is installed.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.contract import LabkitError
from labkit.contract.paths import METADATA_KEY

MAX_BYTES = 64 << 20
Notebook = dict[str, Any]


class NotebookError(LabkitError):
    """A file that is no notebook, or cannot be read or written."""


def loads(raw: bytes, name: str = "this file") -> Notebook:
    """A notebook from its bytes. Raises NotebookError."""
    try:
        data = json.loads(raw.decode("utf-8-sig"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise NotebookError(f"{name} is not a notebook: {error}.") from None
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        raise NotebookError(f"{name} is not a notebook: it has no list of cells.")
    return data


def read(path: Path) -> Notebook:
    """The notebook in a file. Raises NotebookError."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise NotebookError(f"{path.name} is larger than {MAX_BYTES >> 20} MiB.")
        return loads(path.read_bytes(), path.name)
    except OSError as error:
        raise NotebookError(f"{path.name} cannot be read: {error.strerror}.") from None


def dumps(notebook: Mapping[str, Any]) -> bytes:
    """The bytes JupyterLab itself would write: one-space indent, sorted keys, UTF-8."""
    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8") + b"\n"


def write(path: Path, notebook: Mapping[str, Any]) -> None:
    """Write a notebook so that a crash leaves either the old file or the new one."""
    write_bytes(path, dumps(notebook))


def write_bytes(path: Path, raw: bytes) -> None:
    """Replace a file in one step. Raises NotebookError when the folder cannot be written."""
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())  # else a power cut may leave the new name on an empty file
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise NotebookError(f"{path} cannot be written: {error.strerror}.") from None


def metadata(notebook: Mapping[str, Any]) -> dict[str, Any]:
    """The notebook's labkit metadata; empty when it has none or something else stands there."""
    outer = notebook.get("metadata")
    inner = outer.get(METADATA_KEY) if isinstance(outer, dict) else None
    return inner if isinstance(inner, dict) else {}


def with_metadata(notebook: Notebook, **fields: Any) -> Notebook:
    """A copy of the notebook with these labkit metadata fields set."""
    outer = dict(notebook.get("metadata") or {})
    outer[METADATA_KEY] = {**metadata(notebook), **fields}
    return {**notebook, "metadata": outer}


def digest(raw: bytes) -> str:
    """SHA-256 of a file's bytes, in hex; line ends that a tool made Windows's count as Unix's."""
    return hashlib.sha256(raw.replace(b"\r\n", b"\n")).hexdigest()
