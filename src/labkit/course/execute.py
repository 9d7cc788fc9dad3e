"""Running a solved notebook in a clean kernel, in replay, and keeping its outputs."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Mapping
from typing import IO, Any

from labkit.contract import LabkitError
from labkit.contract.paths import (
    ENV_LEARNER,
    ENV_RECORDS,
    ENV_REPLAY,
    ENV_RUNNER,
    ENV_WORKSPACE,
)
from labkit.course import notebooks
from labkit.course.build import LANGUAGE, SOLUTION_LEARNER

CELL_TIMEOUT_S = 600
_FORGOTTEN = (ENV_WORKSPACE, ENV_RUNNER, ENV_RECORDS, "JPY_SESSION_NAME")


class ExecutionError(LabkitError):
    """A cell of a solved notebook raised."""


def environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The kernel's environment: replay, no workspace, the learner "solution", a fixed hash seed."""
    env = {k: v for k, v in (base or os.environ).items() if k not in _FORGOTTEN}
    return env | {ENV_REPLAY: "1", ENV_LEARNER: SOLUTION_LEARNER, "PYTHONHASHSEED": "0"}


def execute(solved: notebooks.Notebook, name: str) -> notebooks.Notebook:
    """The notebook with its outputs, executed in an empty folder.

    Execution leaves no trace but outputs and counts: no times, no Python version, nothing on the
    terminal. Raises ExecutionError naming the cell and what it raised, or, where the kernel died,
    its last words.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    nbformat: Any = importlib.import_module("nbformat")  # without types
    notebook = nbformat.reads(notebooks.dumps(solved).decode("utf-8"), as_version=4)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as said:
        client = NotebookClient(
            notebook,
            timeout=CELL_TIMEOUT_S,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute(env=environment(), stdout=said, stderr=said)
        except CellExecutionError as error:
            cell = next((c.id for c in notebook.cells if _raised(c)), "?")
            raise ExecutionError(
                f"{name}: cell {cell!r} raised {error.ename}: {error.evalue}"
            ) from None
        except CellTimeoutError:
            raise ExecutionError(f"{name}: a cell took longer than {CELL_TIMEOUT_S} s.") from None
        except RuntimeError as error:
            raise ExecutionError(f"{name}: {_last_words(error, said)}") from None
    notebook.metadata["language_info"] = dict(LANGUAGE)
    return notebooks.loads(nbformat.writes(notebook).encode("utf-8"), name)


def _last_words(error: Exception, said: IO[bytes]) -> str:
    """What a kernel that died, or never came up, left on its own output."""
    said.seek(0)
    lines = said.read().decode("utf-8", "replace").strip().splitlines()
    words = " / ".join(line.strip() for line in lines[-3:] if line.strip())
    return f"{str(error).rstrip('.')}; its kernel said: {words or '(nothing)'}"


def _raised(cell: Mapping[str, object]) -> bool:
    outputs = cell.get("outputs")
    return isinstance(outputs, list) and any(o.get("output_type") == "error" for o in outputs)
