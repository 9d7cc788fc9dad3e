"""`labkit dev check`: the proof that a lab can be solved, failed and left blank as declared.

Each rule is a function that yields sentences about what is wrong; an empty list is the proof.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit.contract import LabkitError, Outcome, Status
from labkit.contract.answer import decode_plain
from labkit.contract.probe import run_probe
from labkit.course.build import Built, build, read_source, stale
from labkit.course.judging import judge_answer
from labkit.course.material import Material
from labkit.course.rehearsal import Names, Stage, names_for, rehearse, replaying, run
from labkit.course.source import text_of
from labkit.exercises import Exercise, Tier, givens_for, practice_seeds, probe_for
from labkit.exercises.draws import collisions

MAX_GRADED = 12
MAX_POINTS = 5.0
SEEDS = 20


@dataclass(slots=True)
class Report:
    """What was proven of one lab: `findings` are (where, sentence); `checks` counts judgements."""

    lab: str
    seeds: int
    exercises: int = 0
    checks: int = 0
    findings: list[tuple[str, str]] = field(default_factory=list)

    @property
    def proven(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "lab": self.lab,
            "proven": self.proven,
            "exercises": self.exercises,
            "seeds": self.seeds,
            "checks": self.checks,
            "findings": [{"where": where, "says": says} for where, says in self.findings],
        }


@dataclass(frozen=True, slots=True)
class Case:
    """One exercise on one learner's numbers, in the notebook as it stands before the answer."""

    material: Material
    stage: Stage
    built: Built
    exercise: Exercise
    learner: str
    report: Report

    def judged(self, answer: Any) -> Outcome:
        """The outcome of an answer; counts it."""
        self.report.checks += 1
        _, outcome = judge_answer(
            self.exercise,
            self.material.facts,
            answer,
            draw=self.learner,
            records=self.stage.records,
        )
        return outcome

    def answer_of(self, *, solved: bool) -> Any:
        """What stands under the answer's name once the answer cell has run."""
        cell = next(
            c for c in self.built.cells if c.role == "answer" and c.exercise == self.exercise.id
        )
        names: Names = names_for(self.stage, self.material, self.exercise, self.learner)
        number = self.material.plan.number
        run(text_of(cell, self.material.exercises, number=number, solved=solved), names, cell.where)
        if self.exercise.answer_name not in names:
            raise LabkitError(f"Its cell never assigns {self.exercise.answer_name!r}.")
        return names[self.exercise.answer_name]

    def givens(self) -> Any:
        """This learner's givens."""
        return givens_for(
            self.exercise, self.material.facts, learner=self.learner, records=self.stage.records
        )


Rule = Callable[[Case], Iterator[str]]


def solution_passes(case: Case) -> Iterator[str]:
    """The solution earns full points."""
    outcome = case.judged(case.answer_of(solved=True))
    if not outcome.passed or outcome.points != case.exercise.points:
        yield f"its solution does not pass: {outcome.status}, {outcome.message}"


def reference_passes(case: Case) -> Iterator[str]:
    """The reference itself passes, where it is an answer that can be handed in."""
    reference = case.exercise.reference(case.givens())
    if isinstance(reference, (set, frozenset)):
        answers: list[Any] = sorted(reference)
    elif case.exercise.kind.name == "interval" and not isinstance(reference[0], (int, float)):
        answers = list(reference)
    elif isinstance(reference, (int, float, str, tuple, dict)) or callable(reference):
        answers = [reference]
    else:
        return  # a figure or a record: the solution speaks for it
    for answer in answers:
        outcome = case.judged(answer)
        if not outcome.passed:
            yield f"its reference does not pass: {outcome.message}"


def blank_is_not_attempted(case: Case) -> Iterator[str]:
    """The stub runs without raising, and counts as not attempted."""
    outcome = case.judged(case.answer_of(solved=False))
    if outcome.status is not Status.NOT_ATTEMPTED or outcome.points:
        yield f"its blank counts as {outcome.status}, not as {Status.NOT_ATTEMPTED}."


def mistakes_are_diagnosed(case: Case) -> Iterator[str]:
    """Every known mistake fails with its own code and its own sentence."""
    givens = case.givens()
    for mistake in case.exercise.mistakes:
        value = mistake.value(givens)
        if value is None:
            continue  # on these numbers this is no mistake
        outcome = case.judged(value)
        if outcome.passed:
            yield f"the mistake {mistake.code} passes."
        elif outcome.status is not Status.FAILED or outcome.code is not mistake.code:
            yield f"the mistake {mistake.code} is told as {outcome.code or outcome.status}."
        elif mistake.says not in outcome.message:
            yield f"the mistake {mistake.code} is not told its own sentence."


def answers_differ(case: Case) -> Iterator[str]:
    """No two of reference and mistakes are too close to be told apart."""
    for one, other in collisions(case.exercise, case.givens()):
        yield f"{one} and {other} cannot be told apart."


def constant_fails(case: Case) -> Iterator[str]:
    """A function that returns one typed-in number does not pass a transfer exercise."""
    exercise = case.exercise
    if exercise.tier is not Tier.TRANSFER or exercise.kind.name != "function":
        return
    seeds = practice_seeds(exercise, case.learner)
    probe = probe_for(exercise, case.material.facts, seeds, records=case.stage.records)
    if probe is None:
        yield "its answer is a function, but nothing would be called."
        return
    first = decode_plain(run_probe(exercise.reference(case.givens()), probe)[0])
    if case.judged(lambda *_args, **_kwargs: first).passed:
        yield "a typed constant passes."


RULES: tuple[Rule, ...] = (
    solution_passes,
    reference_passes,
    blank_is_not_attempted,
    mistakes_are_diagnosed,
    answers_differ,
    constant_fails,
)


def declared_well(exercise: Exercise) -> Iterator[str]:
    """What can be seen without an answer: hints, points, texts, the claim's form."""
    if len(exercise.hints) != 3 or len({hint.strip() for hint in exercise.hints} - {""}) != 3:
        yield "it needs three different hints."
    if not 0 <= exercise.points <= MAX_POINTS:
        yield f"it has {exercise.points:g} points; the limit is {MAX_POINTS:g}."
    for name in ("title", "objective", "statement", "solution", "answer_name"):
        if not getattr(exercise, name).strip():
            yield f"its {name} is empty."
    if exercise.claim and not re.fullmatch(r"E\d{3}", exercise.claim):
        yield f"its claim {exercise.claim!r} is no id of the errata (E001)."
    if any(not mistake.says.strip() or not mistake.code for mistake in exercise.mistakes):
        yield "a mistake lacks its code or its sentence."


def draws_differ(material: Material, exercise: Exercise, learners: Sequence[str]) -> Iterator[str]:
    """A personal exercise really gives different learners different numbers."""
    if exercise.tier is not Tier.PERSONAL or len(learners) < 5:
        return
    drawn = {repr(givens_for(exercise, material.facts, learner=name)) for name in learners}
    if len(drawn) == 1:
        yield f"it is personal, but {len(learners)} learners have the same numbers."


def lab_declared_well(material: Material) -> Iterator[str]:
    """The lab as a whole: its list agrees with its exercises, and is not too long."""
    plan = material.plan
    listed, declared = ", ".join(plan.exercises), ", ".join(material.declared)
    if listed != declared:
        yield f"course.toml lists {listed}; declared are {declared}."
    graded = [e for e in material.exercises.values() if e.points]
    if len(graded) > MAX_GRADED:
        yield f"it has {len(graded)} graded answers; the limit is {MAX_GRADED}."
    names = [e.answer_name for e in material.exercises.values()]
    for twice in sorted({name for name in names if names.count(name) > 1}):
        yield f"two exercises ask for a variable {twice!r}; one hides the other."


def no_solution_leaks(built: Built, material: Material) -> Iterator[str]:
    """No blank cell holds all the lines of a solution."""
    for cell in built.blank["cells"]:
        lines = {line.strip() for line in "".join(cell["source"]).splitlines()}
        for exercise in material.exercises.values():
            stub = {line.strip() for line in exercise.stub.splitlines()}
            told = {line.strip() for line in exercise.solution.splitlines()} - stub - {""}
            if told and told <= lines:
                yield f"the blank cell {cell['id']!r} holds the solution of {exercise.id}."


def prove(material: Material, labs: Path, solutions: Path, *, seeds: int = SEEDS) -> Report:
    """Prove one lab on `seeds` learners' numbers. Raises nothing: what fails is a finding."""
    report = Report(material.plan.number, seeds, exercises=len(material.exercises))
    where = f"Lab {material.plan.number}"
    report.findings += [(where, says) for says in lab_declared_well(material)]
    for exercise in material.exercises.values():
        report.findings += [(exercise.id, says) for says in declared_well(exercise)]
    try:
        built = build(material, read_source(solutions, material.plan))
        report.findings += [(where, says) for says in stale(built, labs, solutions)]
        report.findings += [(where, says) for says in no_solution_leaks(built, material)]
        with replaying():
            stage = rehearse(material, built.cells)
            for exercise in material.exercises.values():
                report.findings += _prove_exercise(material, stage, built, exercise, report)
    except LabkitError as error:
        report.findings.append((where, str(error)))
    return report


def _share(exercise: Exercise) -> float:
    """The share of learners that is worth the time: a drawn figure or a long trace takes more."""
    if getattr(exercise.kind, "memory", None):
        return 0.1  # a size at which the wrong way needs much memory takes a second the right way
    return {"figure": 0.3, "machine": 0.25}.get(exercise.kind.name, 1.0)


def _prove_exercise(
    material: Material, stage: Stage, built: Built, exercise: Exercise, report: Report
) -> list[tuple[str, str]]:
    learners = [f"learner-{i}" for i in range(report.seeds)]
    found = [(exercise.id, says) for says in draws_differ(material, exercise, learners)]
    if exercise.tier in (Tier.CORE, Tier.OWN):
        learners = learners[:1]  # the numbers are the same for every learner
    learners = learners[: max(2, round(len(learners) * _share(exercise)))]
    for rule in RULES:
        said: dict[str, str] = {}
        for learner in learners:
            case = Case(material, stage, built, exercise, learner, report)
            for says in _kept_going(rule, case):
                said.setdefault(says, learner)
        found += [(exercise.id, f"{says} (first for {who})") for says, who in said.items()]
    return found


def _kept_going(rule: Rule, case: Case) -> Iterator[str]:
    try:
        yield from rule(case)
    except Exception as error:  # noqa: BLE001  # a declaration's lambdas may raise anything
        yield f"{rule.__name__} cannot be tried: {type(error).__name__}: {error}"
