"""A learner's workspace: a copy of the labs with `.labkit/` beside them.

learner.toml remembers, for each delivered notebook, the hash of the bytes that were written
(`written`) and of the shipped lab they came from (`shipped`). So an update can tell a notebook
that nobody touched (it is replaced) from one that holds work (it is left alone, and the new
version is put beside it).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.contract import LabkitError
from labkit.contract.paths import (
    LEARNER_FILE,
    METADATA_SCHEMA,
    RECORDS_DIR,
    STATE_DIR,
    valid_learner,
)
from labkit.course import notebooks, workload
from labkit.course.manifest import Manifest, load_manifest
from labkit.course.resources import Resources, resources

NEW_SUFFIX = ".new"


class WorkspaceError(LabkitError):
    """A workspace that cannot be made, found or written."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of one file: `done` is added, replaced, kept, beside, current or theirs."""

    file: str
    done: str

    def sentence(self) -> str:
        """One sentence for the terminal."""
        return f"{self.file}: {_SENTENCES[self.done]}"


_SENTENCES = {
    "added": "added.",
    "replaced": "updated; you had not changed it.",
    "current": "up to date.",
    "kept": "up to date; your changes are untouched.",
    "theirs": "yours; left as it is.",
    "beside": f"holds your work, so the new version lies beside it as *{NEW_SUFFIX}.ipynb.",
}


@dataclass(frozen=True, slots=True)
class State:
    """learner.toml: whose workspace it is and what was delivered."""

    learner: str
    version: str
    written: Mapping[str, str]
    shipped: Mapping[str, str]


def init(
    folder: Path, learner: str, *, update: bool = False, shipped: Resources | None = None
) -> list[Delivery]:
    """Make a workspace, or with `update` bring its labs up to date; says what became of each lab.

    An empty `learner` is allowed only for the update of an existing workspace. Raises
    WorkspaceError with one sentence for a bad id, a folder in use, or one that cannot be written.
    """
    shipped = shipped or resources()
    manifest = load_manifest(shipped.manifest)
    state = _admit(folder, learner, update)
    try:
        (folder / STATE_DIR / RECORDS_DIR).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkspaceError(f"{folder} cannot be written: {error.strerror}.") from None
    written, sources = dict(state.written), dict(state.shipped)
    deliveries = []
    for plan in manifest.labs:
        raw = _shipped_bytes(shipped, plan.file)
        ready = personal(raw, plan.file, plan.number, manifest.version, state.learner)
        source = notebooks.digest(raw)
        done = _deliver(folder / plan.file, ready, written.get(plan.file), sources, source)
        if done in ("added", "replaced"):
            written[plan.file] = notebooks.digest(ready)
        sources[plan.file] = source
        deliveries.append(Delivery(plan.file, done))
    deliveries.append(_deliver_workload(folder))
    save_state(folder, State(state.learner, manifest.version, written, sources))
    return deliveries


def _deliver_workload(folder: Path) -> Delivery:
    """The template of the learner's use case, where there is none: it is theirs from then on."""
    target = folder / workload.FILE
    if target.exists():
        return Delivery(workload.FILE, "theirs")
    notebooks.write_bytes(target, workload.template())
    return Delivery(workload.FILE, "added")


def _admit(folder: Path, learner: str, update: bool) -> State:
    """The state to start from, or the sentence that says why not."""
    if learner and not valid_learner(learner):
        raise WorkspaceError(
            f"{learner!r} cannot be a learner id: use up to 64 letters, digits or . _ @ + -, "
            "beginning with a letter or digit, without '..'."
        )
    if folder.exists() and not folder.is_dir():
        raise WorkspaceError(f"{folder} is a file: name a folder for the workspace.")
    if (folder / STATE_DIR / LEARNER_FILE).exists():
        state = read_state(folder)
        if learner and learner != state.learner:
            raise WorkspaceError(
                f"{folder} is the workspace of {state.learner!r}, not of {learner!r}: "
                "choose another folder."
            )
        if not update:
            raise WorkspaceError(
                f"{folder} is already a workspace of {state.learner!r}: "
                "add --update to bring its labs up to date."
            )
        return state
    if not learner:
        raise WorkspaceError(f"{folder} is no workspace yet: say whose it is with --learner ID.")
    try:
        used = folder.is_dir() and any(entry.name != STATE_DIR for entry in folder.iterdir())
    except OSError as error:
        raise WorkspaceError(f"{folder} cannot be read: {error.strerror}.") from None
    if used:
        raise WorkspaceError(f"{folder} is not empty and no workspace: choose a new folder.")
    return State(learner, "", {}, {})


def _shipped_bytes(shipped: Resources, file: str) -> bytes:
    try:
        return (shipped.labs / file).read_bytes()
    except OSError as error:
        remedy = "run `labkit dev build` first" if shipped.clone else "install the wheel again"
        raise WorkspaceError(f"The lab {file} is missing ({error.strerror}): {remedy}.") from None


def personal(raw: bytes, file: str, number: str, version: str, learner: str) -> bytes:
    """A shipped lab as this learner gets it: with their id in its metadata."""
    notebook = notebooks.loads(raw, file)
    fields: dict[str, Any] = {"schema": METADATA_SCHEMA, "lab": number, "course_version": version}
    return notebooks.dumps(notebooks.with_metadata(notebook, **fields, learner=learner))


def _deliver(
    target: Path, ready: bytes, written: str | None, sources: Mapping[str, str], source: str
) -> str:
    if not target.exists():
        notebooks.write_bytes(target, ready)
        return "added"
    present = target.read_bytes()
    if present == ready:
        return "current"
    if written is not None and notebooks.digest(present) == written:
        notebooks.write_bytes(target, ready)
        return "replaced"
    if sources.get(target.name) == source:
        return "kept"
    _put_beside(target, ready)
    return "beside"


def _put_beside(target: Path, ready: bytes) -> None:
    """Write the new version under the first name that would overwrite nothing."""
    n = 1
    while True:
        suffix = NEW_SUFFIX if n == 1 else f"{NEW_SUFFIX}-{n}"
        beside = target.with_name(f"{target.stem}{suffix}.ipynb")
        if not beside.exists() or beside.read_bytes() == ready:
            notebooks.write_bytes(beside, ready)
            return
        n += 1


def read_state(folder: Path) -> State:
    """The workspace's learner.toml. Raises WorkspaceError where it is missing or broken."""
    path = folder / STATE_DIR / LEARNER_FILE
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        learner = data["learner"]["id"]
        if not isinstance(learner, str) or not valid_learner(learner):
            raise WorkspaceError(f"{path} names {learner!r}, which cannot be a learner id.")
        return State(
            learner,
            str(data.get("course", {}).get("version", "")),
            {str(k): str(v) for k, v in data.get("written", {}).items()},
            {str(k): str(v) for k, v in data.get("shipped", {}).items()},
        )
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError):
        raise WorkspaceError(
            f'{path} is damaged: it should begin with [learner] and a line id = "…".'
        ) from None


def save_state(folder: Path, state: State) -> None:
    """Write learner.toml in one step. Raises NotebookError where the folder is read-only."""
    lines = ["[learner]", f'id = "{state.learner}"', "", "[course]", f'version = "{state.version}"']
    for name, table in (("written", state.written), ("shipped", state.shipped)):
        lines += ["", f"[{name}]  # SHA-256 of each notebook as it was {name}"]
        lines += [f'"{file}" = "{digest}"' for file, digest in sorted(table.items())]
    raw = "\n".join([*lines, ""]).encode("utf-8")
    notebooks.write_bytes(folder / STATE_DIR / LEARNER_FILE, raw)


def shipped_manifest() -> Manifest:
    """The curriculum of this installation."""
    return load_manifest(resources().manifest)
