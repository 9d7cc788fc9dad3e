"""One lab as a class hands it in: blank, solved, typed in, copied, and wrong in every known way.

All of it is graded in one go, so that no notebook runs twice.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.contract import Code
from labkit.contract.answer import Wire
from labkit.contract.probe import run_probe
from labkit.exercises import Exercise, Facts, Tier, load, practice_seeds, probe_for
from labkit.exercises.registry import LabExercises
from labkit.grading.grade import grade
from labkit.grading.sandbox import Sandbox
from tests.notebooks.notebooks import (
    fill,
    givens,
    hand_in,
    learners_copy,
    outcomes,
    recordings,
    rows,
    run,
    solutions,
)

LEARNERS = ("ada", "grace", "katherine")
RUN_FIRST = ("blank-ada", "solved-ada")  # under papermill, as a learner does before handing in
Told = dict[str, tuple[Code, str]]


def typed_mistakes(number: str) -> dict[tuple[str, Code], str]:
    """Source of the mistakes that are functions, classes or figures: `TYPED` of mistakes….py."""
    found: dict[tuple[str, Code], str] = {}
    for stem in ("mistakes", f"mistakes_lab{number}"):
        if (Path(__file__).parent / f"{stem}.py").is_file():
            found |= importlib.import_module(f"tests.notebooks.{stem}").TYPED
    return found


@dataclass(slots=True)
class Class:
    """What was handed in for one lab, by learner, and what came of it."""

    lab: LabExercises
    out: Path
    told: dict[str, Told] = field(default_factory=dict)  # mistakes by learner and exercise
    constants: dict[str, str] = field(default_factory=dict)  # of functions and classes
    typed: list[str] = field(default_factory=list)  # exercises whose own answer was typed in
    copied: list[str] = field(default_factory=list)  # exercises answered with another's numbers
    untyped: list[tuple[str, Code]] = field(default_factory=list)  # not to be written as text

    def outcomes(self, learner: str) -> dict[str, dict[str, Any]]:
        """The learner's outcomes by exercise."""
        return outcomes(self.out, learner, self.lab.lab)

    def row(self, learner: str) -> dict[str, str]:
        """The learner's row of the gradebook."""
        return rows(self.out)[learner]

    def page(self, learner: str) -> str:
        """The learner's feedback page."""
        path = self.out / "feedback" / learner / f"{self.lab.lab}.html"
        return path.read_text(encoding="utf-8")


def hand_in_a_class(folder: Path, number: str, sandbox: Sandbox, key: Path) -> Class:
    """Build all submissions of a lab, run the two that are run, grade them all."""
    made = Class(load(number), folder / "out")
    right = solutions(number)
    books: dict[str, Mapping[str, str]] = {f"blank-{who}": {} for who in LEARNERS}
    books |= {f"solved-{who}": right for who in LEARNERS}
    books["typed"] = _typed_in(made, right)
    books["copied"] = _copied(made)
    books |= _mistaken(made, right)
    paths = {}
    for name, answers in books.items():
        paths[name] = learners_copy(folder / name, name, number)
        fill(paths[name], answers)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda name: run(paths[name], name), RUN_FIRST))
    for name, path in paths.items():
        hand_in(folder / "in", path, name)
    grade(folder / "in", made.out, key_file=key, sandbox=sandbox, jobs=2)
    return made


def _typed_in(made: Class, right: Mapping[str, str]) -> dict[str, str]:
    """Every answer as a constant: one's own numbers, and functions that return one result."""
    answers = dict(right)
    for number, exercise in made.lab.items():
        if exercise.tier is Tier.TRANSFER:
            made.constants[number] = answers[number] = constant(exercise)
        elif exercise.tier is not Tier.OWN:
            source = literal(exercise, exercise.reference(givens(exercise, "typed")))
            if source is not None:
                answers[number] = source
                made.typed.append(number)
    return answers


def _copied(made: Class) -> dict[str, str]:
    """The right numbers of somebody else."""
    answers = {}
    for number, exercise in made.lab.items():
        if exercise.tier is not Tier.PERSONAL:
            continue
        other, own = (exercise.reference(givens(exercise, who)) for who in ("ada", "copied"))
        source = literal(exercise, other)
        if (
            source is not None
            and literal(exercise, own) != source
            and not _same(exercise, other, own)
        ):
            answers[number] = source
            made.copied.append(number)
    return answers


def _same(exercise: Exercise, one: Any, other: Any) -> bool:
    same = getattr(exercise.kind, "same", None)
    return same is not None and bool(same(one, other))


def _mistaken(made: Class, right: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """One mistake of each exercise per submission; as many submissions as it takes."""
    typed = typed_mistakes(made.lab.lab)
    books: dict[str, dict[str, str]] = {}
    for i in range(max((len(e.mistakes) for e in made.lab.values()), default=0)):
        learner = f"mistaken-{i}"
        answers, told = dict(right), {}
        for number, exercise in made.lab.items():
            numbers = givens(exercise, learner)
            possible = [(m, m.value(numbers)) for m in exercise.mistakes]
            possible = [(m, value) for m, value in possible if value is not None]
            if i >= len(possible):
                continue
            mistake, value = possible[i]
            source = typed.get((number, mistake.code)) or literal(exercise, value)
            if source is None:
                made.untyped.append((number, mistake.code))
                continue
            told[number], answers[number] = (mistake.code, mistake.says), source
        books[learner], made.told[learner] = _kept_apart(made, told, answers, right), told
    return books


def _kept_apart(
    made: Class, told: Told, answers: Mapping[str, str], right: Mapping[str, str]
) -> dict[str, str]:
    """A wrong function must not spoil another mistake that calls it: there the right one stands."""
    kept = dict(answers)
    for number in told:
        for other in told:
            exercise = made.lab[other]
            called = re.search(rf"\b{exercise.answer_name}\(", answers[number])
            if other != number and called and exercise.kind.name in ("function", "machine"):
                kept[number] = f"{right[other]}\n{kept[number]}"
    return kept


def literal(exercise: Exercise, value: Any) -> str | None:
    """The answer as a learner types it; None where it is no number, text, tuple or dict."""
    if isinstance(value, (set, frozenset)):
        value = sorted(value)[0]
    if exercise.kind.name == "interval" and not isinstance(value[0], (int, float)):
        value = value[0]
    try:
        same = ast.literal_eval(repr(value)) == value
    except (ValueError, SyntaxError):
        return None
    return f"{exercise.answer_name} = {value!r}" if same else None


def constant(exercise: Exercise) -> str:
    """A function that returns one right result whatever it is asked; a class that does nothing."""
    name = exercise.answer_name
    if exercise.kind.name == "machine":
        return (
            f"class {name}:\n    def __init__(self, *args):\n        pass\n\n"
            "    def __getattr__(self, name):\n        return lambda *args: 0"
        )
    records = recordings(*exercise.needs)
    facts = Facts.load()
    probe = probe_for(exercise, facts, practice_seeds(exercise, "typed"), records=records)
    assert probe is not None, f"{exercise.id} has nothing to call"
    first = run_probe(exercise.reference(givens(exercise, "typed")), probe)[0]
    return f"import numpy as np\n\n\ndef {name}(*args, **named):\n    return {_python(first)}"


def _python(wire: Wire) -> str:
    """A result as Python text."""
    from labkit.contract.answer import decode_array

    if wire["kind"] == "array":
        array = decode_array(wire)
        return f"np.array({array.tolist()!r}, dtype={array.dtype.name!r})"
    if wire["kind"] == "list":
        return "(" + "".join(f"{_python(item)}, " for item in wire["items"]) + ")"
    return repr(wire.get("number", wire.get("text", wire.get("value"))))
