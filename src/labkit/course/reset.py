"""Starting again: a fresh copy of a lab, or fresh numbers for one exercise. Always with a backup.

Fresh personal numbers are a raised variant in the *notebook's* metadata (see `identity`), so what
the learner sees and what grading draws stay one and the same function of the submission.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from labkit.contract import LabkitError
from labkit.contract.events import Event
from labkit.contract.paths import BACKUPS_DIR, STATE_DIR
from labkit.course import notebooks, workspace
from labkit.course.identity import MAX_VARIANT, from_metadata
from labkit.course.journal import Journal
from labkit.course.manifest import LabPlan, exercise_id, load_manifest
from labkit.course.resources import Resources, resources
from labkit.exercises import Exercise, Tier, load

RELOAD = (
    "Is it open in JupyterLab? Then do not save it there: that would undo the reset. "
    "Choose File > Reload Notebook from Disk, then Kernel > Restart Kernel. "
    "Next time: save and close the notebook first, then reset it."
)


def reset(root: Path, what: str, *, shipped: Resources | None = None) -> list[str]:
    """Reset a lab ("01") or an exercise ("1.4", "01.4") in the workspace; the sentences to say.

    Raises UnknownNameError for neither, WorkspaceError or NotebookError when files are in the way.
    """
    shipped = shipped or resources()
    manifest = load_manifest(shipped.manifest)
    if "." in what:
        plan = manifest.home(what)
        return reset_exercise(root, plan, load(plan.number)[exercise_id(what)])
    return reset_lab(root, manifest.lab(what), manifest.version, shipped)


def reset_lab(root: Path, plan: LabPlan, version: str, shipped: Resources) -> list[str]:
    """A fresh copy of a lab; its progress starts again, its personal numbers stay."""
    state = workspace.read_state(root)
    target = root / plan.file
    said = []
    variants: dict[str, int] = {}
    if target.exists():
        said.append(f"Your notebook is kept as {_backup(root, target)}.")
        variants = _variants(target)
    raw = (shipped.labs / plan.file).read_bytes()
    ready = workspace.personal(raw, plan.file, plan.number, version, state.learner)
    if variants:
        loaded = notebooks.loads(ready, plan.file)
        ready = notebooks.dumps(notebooks.with_metadata(loaded, variants=variants))
    notebooks.write_bytes(target, ready)
    written = {**state.written, plan.file: notebooks.digest(ready)}
    sources = {**state.shipped, plan.file: notebooks.digest(raw)}
    workspace.save_state(root, workspace.State(state.learner, version, written, sources))
    Journal(root).add(Event("reset", plan.number))
    return [*said, f"{plan.file} is a fresh copy, and its progress starts again. {RELOAD}"]


def reset_exercise(root: Path, plan: LabPlan, exercise: Exercise) -> list[str]:
    """Forget one exercise's progress; a personal exercise also gets new numbers."""
    target = root / plan.file
    if not target.exists():
        raise LabkitError(f"There is no {plan.file} in {root}: `labkit reset {plan.number}`.")
    said = [f"Progress of {exercise.id} is forgotten; your answer cell is as you left it."]
    if exercise.tier is Tier.PERSONAL:
        notebook = notebooks.read(target)
        variants = _variants(target)
        variant = variants.get(exercise.id, 0) + 1
        if variant > MAX_VARIANT:
            raise LabkitError(f"{exercise.id} has had {MAX_VARIANT} sets of numbers: no more.")
        backup = _backup(root, target)
        fresh = notebooks.with_metadata(notebook, variants={**variants, exercise.id: variant})
        notebooks.write(target, fresh)
        said.append(f"It has new numbers (set {variant + 1}). The notebook before: {backup}.")
        said.append(RELOAD)
    else:
        said.append(f"Its numbers stay: {_WHY_SAME[exercise.tier]}.")
    Journal(root).add(Event("reset", plan.number, exercise.id))
    return said


_WHY_SAME = {
    Tier.CORE: "they are the same for everybody",
    Tier.TRANSFER: "your function is tried on draws of its own",
    Tier.OWN: "they come from your own measurement",
}


def _variants(target: Path) -> dict[str, int]:
    try:
        return dict(from_metadata(notebooks.metadata(notebooks.read(target))).variants)
    except notebooks.NotebookError:
        return {}  # a damaged notebook is what many a reset is for


def _backup(root: Path, target: Path) -> str:
    """Copy a notebook into a dated folder; its path inside the workspace."""
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    home = root / STATE_DIR / BACKUPS_DIR
    folder, n = home / stamp, 1
    while folder.exists():
        n += 1
        folder = home / f"{stamp}-{n}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise workspace.WorkspaceError(f"{home} cannot be written: {error.strerror}.") from None
    notebooks.write_bytes(folder / target.name, target.read_bytes())
    return (folder / target.name).relative_to(root).as_posix()
