"""The source of a lab, `solutions/NN_name.py`: a jupytext percent script with markers.

Prose and code cells stand as they are. What belongs to an exercise is never written here: a
*marker* names the exercise, and statement, stub, solution, answer name and points come from its
declaration.

    # %% [markdown]
    # # Own the roofline
    # %% setup                       import labkit, make `lab`  (a body of its own replaces this)
    # %% exercise 1.1                statement, given, answer and check: four cells
    # %% exercise 1.12 given=false   the same without the given cell
    # %% statement 1.7               the four one by one, where prose stands between them
    # %% given 1.7                   g = lab.given("1.7")
    # %% answer 1.7                  labs: the stub; solutions: the solution
    # %% check 1.7                   lab.check("1.7", roofline)
    # %% predict 1.13 value=12.0 confidence=70       labs: dots; solutions: the value

Rules. A marker's body is empty. Only an answer may have one, with one region
`### BEGIN SOLUTION` … `### END SOLUTION`: the lines around it stay in both notebooks, the region
becomes the stub in `labs/`. Of a cell's options only `tags` reaches the notebook; `id="…"` fixes
a cell's id. Every exercise of the lab has one statement, one answer and one check, in this order
and in the order of course.toml; a given, where there is one, stands before the answer.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from labkit.contract import LabkitError
from labkit.contract.errors import nearest
from labkit.exercises import Exercise

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
PARTS = ("statement", "given", "answer", "check")
ROLES = (*PARTS, "predict")
_WORDS = ("setup", "exercise", *ROLES)


class SourceError(LabkitError):
    """A lab's source breaks a rule; the message names the file and the cell."""


@dataclass(frozen=True, slots=True)
class SourceCell:
    """One cell of the source. `role` is "" for prose and code that stand as they are."""

    markdown: bool
    body: str
    role: str = ""
    exercise: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """How messages name this cell."""
        first = self.body.strip().splitlines()[:1]
        return f"{self.role} {self.exercise}".strip() or (first[0][:60] if first else "empty cell")


def parse(text: str, name: str) -> list[SourceCell]:
    """The cells of a source, markers expanded to single roles. Raises SourceError."""
    jupytext: Any = importlib.import_module("jupytext")  # an author's tool, without types
    cells: list[SourceCell] = []
    for cell in jupytext.reads(text, fmt="py:percent").cells:
        if cell.cell_type == "raw":
            continue  # jupytext's own header
        options = dict(cell.metadata)
        title = str(options.pop("title", ""))
        options.pop("lines_to_next_cell", None)
        found = SourceCell(cell.cell_type == "markdown", cell.source, options=options)
        cells += _marked(found, title, name) if title else _plain(found, name)
    if not cells:
        raise SourceError(f"{name} has no cells: they begin with `# %%`.")
    return cells


def _plain(cell: SourceCell, name: str) -> list[SourceCell]:
    if BEGIN in cell.body or END in cell.body:
        raise SourceError(f"{name}: {BEGIN} belongs into an answer cell, not into {cell.where!r}.")
    return [cell] if cell.body.strip() else []


def _marked(cell: SourceCell, title: str, name: str) -> list[SourceCell]:
    word, _, exercise = title.partition(" ")
    if word not in _WORDS or cell.markdown:
        near = nearest(word, _WORDS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(_WORDS)}."
        raise SourceError(f"{name}: unknown marker `# %% {title}`: {hint}")
    if (word == "setup") == bool(exercise):
        raise SourceError(f"{name}: `# %% {title}` {'takes no' if exercise else 'needs an'} id.")
    if cell.body.strip() and word not in ("setup", "answer"):
        raise SourceError(f"{name}: `# %% {title}` must be empty; its text is the exercise's.")
    if word == "answer" and cell.body.strip():
        _region(cell.body, f"{name}: `# %% {title}`")
    if word != "exercise":
        return [replace(cell, role=word, exercise=exercise)]
    given = cell.options.get("given", True)
    options = {key: value for key, value in cell.options.items() if key != "given"}
    parts = [part for part in PARTS if part != "given" or given]
    return [replace(cell, role=part, exercise=exercise, options=options) for part in parts]


def _region(body: str, where: str) -> tuple[list[str], list[str], list[str]]:
    """Lines before, inside and after the one solution region."""
    lines = body.splitlines()
    begins = [i for i, line in enumerate(lines) if line.strip() == BEGIN]
    ends = [i for i, line in enumerate(lines) if line.strip() == END]
    if len(begins) != 1 or len(ends) != 1 or begins[0] > ends[0]:
        raise SourceError(f"{where} needs exactly one {BEGIN} … {END}.")
    begin, end = begins[0], ends[0]
    return lines[:begin], lines[begin + 1 : end], lines[end + 1 :]


def order_problems(cells: list[SourceCell], exercises: Mapping[str, Exercise]) -> Iterator[str]:
    """Sentences about missing, doubled, foreign or misplaced cells of exercises."""
    for cell in cells:
        if cell.role in ROLES and cell.exercise not in exercises:
            yield f"`{cell.where}` names an exercise that this lab does not have."
    for part in ("statement", "answer", "check"):
        order = [cell.exercise for cell in cells if cell.role == part]
        for name in exercises:
            if order.count(name) != 1:
                yield f"{name} has {order.count(name)} {part} cells; it needs one."
        known = [name for name in order if name in exercises]
        if len(set(known)) == len(known) and known != [n for n in exercises if n in known]:
            found = ", ".join(known)
            yield f"The {part} cells stand in another order than in course.toml: {found}."
    for name in exercises:
        parts = [cell.role for cell in cells if cell.exercise == name and cell.role in PARTS]
        if parts != [part for part in PARTS if part in parts] and len(set(parts)) == len(parts):
            yield f"The cells of {name} must come as {', '.join(PARTS)}; found {', '.join(parts)}."


def text_of(
    cell: SourceCell, exercises: Mapping[str, Exercise], *, number: str, solved: bool
) -> str:
    """What stands in the notebook: in `solutions/` where `solved`, else in `labs/`."""
    if not cell.role or (cell.role == "setup" and cell.body.strip()):
        return cell.body
    if cell.role == "setup":
        return f'from labkit import Lab, Q, bench\n\nlab = Lab("{number}")'
    exercise = exercises[cell.exercise]
    return _TEXTS[cell.role](cell, exercise, solved)


def _statement(cell: SourceCell, exercise: Exercise, solved: bool) -> str:
    points = f"{exercise.points:g} point{'' if exercise.points == 1 else 's'}"
    worth = points if exercise.points else "ungraded"
    return (
        f"### Exercise {exercise.id} · {exercise.title}\n\n"
        f"*{worth} · {exercise.tier.value} · {exercise.objective}*\n\n{exercise.statement.strip()}"
    )


def _given(cell: SourceCell, exercise: Exercise, solved: bool) -> str:
    return f'g = lab.given("{exercise.id}")\ng'


def _answer(cell: SourceCell, exercise: Exercise, solved: bool) -> str:
    solution = f"{BEGIN}\n{exercise.solution.strip()}\n{END}"
    if not cell.body.strip():
        return solution if solved else exercise.stub
    if solved:
        return cell.body
    before, _, after = _region(cell.body, cell.where)
    return "\n".join([*before, exercise.stub, *after])


def _check(cell: SourceCell, exercise: Exercise, solved: bool) -> str:
    return f'lab.check("{exercise.id}", {exercise.answer_name})'


def _predict(cell: SourceCell, exercise: Exercise, solved: bool) -> str:
    if not solved:
        return f'lab.predict("{exercise.id}", ..., confidence=...)'
    value, confidence = cell.options.get("value", ...), cell.options.get("confidence", ...)
    if value is ... or confidence is ...:
        raise SourceError(f"`# %% predict {exercise.id}` needs value=… and confidence=….")
    shown = f'"{value}"' if isinstance(value, str) else repr(value)
    return f'lab.predict("{exercise.id}", {shown}, confidence={confidence})'


_TEXTS = {
    "statement": _statement,
    "given": _given,
    "answer": _answer,
    "check": _check,
    "predict": _predict,
}
