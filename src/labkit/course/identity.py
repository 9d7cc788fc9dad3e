"""Whose numbers these are: the learner's id and, per exercise, which variant of the draw.

Personal numbers must be a pure function of what is handed in, because they are drawn again when
it is graded. So both the id and the variants live in the notebook's own metadata,
``labkit: {learner: "ada", variants: {"1.4": 1}}``, and the notebook wins over everything else.
`labkit reset 1.4` raises the variant; a draw's name is then "ada#1" instead of "ada". The sign
"#" cannot stand in a learner id, so no learner's draw is another's.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.contract.paths import (
    ENV_LEARNER,
    LEARNER_FILE,
    STATE_DIR,
    valid_exercise,
    valid_learner,
)
from labkit.course import kernel, notebooks

ANONYMOUS = "anonymous"
MAX_VARIANT = 999


@dataclass(frozen=True, slots=True)
class Identity:
    """A learner and their variants; `notices` are sentences that must be said aloud once."""

    learner: str
    variants: Mapping[str, int]
    notices: tuple[str, ...] = ()

    def draw(self, exercise: str) -> str:
        """The name that this exercise's personal numbers are drawn by."""
        return draw_name(self.learner, self.variants.get(exercise, 0))


def draw_name(learner: str, variant: int) -> str:
    """Name of a draw: the learner's id, with "#n" for the n-th fresh set of numbers.

    >>> draw_name("ada", 0), draw_name("ada", 2)
    ('ada', 'ada#2')
    """
    return f"{learner}#{variant}" if variant else learner


def from_metadata(metadata: Mapping[str, Any]) -> Identity:
    """The identity that a notebook's labkit metadata states. Never raises.

    What is not a valid id or variant counts as absent: an empty learner, variant 0.
    """
    learner = metadata.get("learner")
    variants = metadata.get("variants")
    counted = variants.items() if isinstance(variants, dict) else ()
    return Identity(
        learner if isinstance(learner, str) and valid_learner(learner) else "",
        {
            str(name): number
            for name, number in counted
            if valid_exercise(str(name))
            and isinstance(number, int)
            and not isinstance(number, bool)
            and 0 < number <= MAX_VARIANT
        },
    )


def identify(lab: str, file: str, workspace: Path | None) -> Identity:
    """Who works here: the notebook's learner, else learner.toml's, else LABKIT_LEARNER's.

    None of them → "anonymous", and a notice says so.
    """
    path = find_notebook(lab, file, workspace)
    written = from_metadata(notebooks.metadata(notebooks.read(path))) if path else _NOBODY
    kept = workspace_learner(workspace)
    named = os.environ.get(ENV_LEARNER, "")
    notices: list[str] = []
    if named and not valid_learner(named):
        notices.append(f"{ENV_LEARNER} is {named!r}, which cannot be a learner id; it is ignored.")
        named = ""
    if written.learner and kept and written.learner != kept:
        notices.append(
            f"This notebook belongs to {written.learner!r}, the workspace to {kept!r}: its numbers "
            f"are {written.learner!r}'s, and it will be graded as such."
        )
    learner = written.learner or kept or named
    if not learner:
        learner = ANONYMOUS
        notices.append(
            "You have no learner id yet, so personal numbers are those of 'anonymous': "
            "make a workspace with `labkit init DIR --learner ID`."
        )
    return Identity(learner, written.variants, tuple(notices))


_NOBODY = Identity("", {})


def workspace_learner(workspace: Path | None) -> str:
    """The id in the workspace's learner.toml; empty where there is none."""
    if workspace is None:
        return ""
    try:
        data = tomllib.loads((workspace / STATE_DIR / LEARNER_FILE).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return ""
    section = data.get("learner")
    learner = section.get("id") if isinstance(section, dict) else None
    return learner if isinstance(learner, str) and valid_learner(learner) else ""


def find_notebook(lab: str, file: str, workspace: Path | None) -> Path | None:
    """The notebook that is running, where its editor tells; else the workspace's copy of the lab.

    JupyterLab tells by the environment variable JPY_SESSION_NAME, VS Code by a name in the
    notebook. What they name counts only if it is a notebook of this lab.
    """
    candidates = [os.environ.get("JPY_SESSION_NAME"), _vscode_notebook()]
    paths = [Path(name) for name in candidates if name]
    if workspace is not None:
        paths.append(workspace / file)
    for path in paths:
        if path.suffix == ".ipynb" and path.is_file() and _is_lab(path, lab):
            return path
    return None


def _is_lab(path: Path, lab: str) -> bool:
    try:
        return notebooks.metadata(notebooks.read(path)).get("lab") == lab
    except notebooks.NotebookError:
        return False


def _vscode_notebook() -> str | None:
    name = kernel.names().get("__vsc_ipynb_file__")
    return name if isinstance(name, str) else None
