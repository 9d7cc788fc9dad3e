"""What is said to a learner: welcome, predictions, hints, solutions, what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from labkit.contract import Code, LabkitError, Outcome, Status
from labkit.contract.errors import UnknownNameError
from labkit.contract.outcome import MARKS, of_points
from labkit.course.cards import Card, Table
from labkit.course.material import Material
from labkit.course.state import NEW, Standing, Standings
from labkit.exercises import Exercise, Tier


def unknown(exercise: object, material: Material) -> LabkitError:
    """The sentence for an exercise that this lab does not have."""
    known = list(material.exercises)
    return UnknownNameError(f"exercise of Lab {material.plan.number}", str(exercise), known)


def first_open(material: Material, standings: Standings, after: str = "") -> str | None:
    """The next exercise, in the lab's order, whose last answer is not right.

    It is searched behind the exercise `after` first, then from the start.
    """
    names = list(material.exercises)
    start = names.index(after) + 1 if after in names else 0
    for name in names[start:] + names[:start]:
        if not standings.get(name, NEW).passed:
            return name
    return None


def passed_count(material: Material, standings: Standings) -> int:
    """How many exercises of the lab stand passed."""
    return sum(standings.get(name, NEW).passed for name in material.exercises)


def welcome(
    material: Material,
    standings: Standings,
    learner: str,
    notices: Sequence[str],
    *,
    restarted: bool = False,
) -> Card:
    """The first thing a lab shows: who, how far, what next, and what must be said aloud.

    `restarted`: this kernel knows nothing of what was done so far.
    """
    plan = material.plan
    total, done = len(material.exercises), passed_count(material, standings)
    begun = any(standings.get(name, NEW).attempts for name in material.exercises)
    following = first_open(material, standings)
    if following is None:
        line = f"All {total} exercises passed. `labkit progress` shows the whole course."
    elif begun:
        line = f"Welcome back: {done} of {total} passed, next {following}."
        if restarted:
            notices = (
                f"Python has forgotten your variables: select the cell of {following} and choose "
                "Run ▸ Run All Above Selected Cell.",
                *notices,
            )
    else:
        line = f"{total} exercises, about {plan.minutes} minutes. The first is {following}."
    head = f"Lab {plan.number} · {plan.title}"
    return Card(head, (line, *notices), tail=f"learner {learner}")


def hint(exercise: Exercise, level: int) -> Card:
    """One of the three hints."""
    total = len(exercise.hints)
    more = (
        f'The next one: lab.hint("{exercise.id}").'
        if level < total
        else f'That was the last hint. After a try: lab.solution("{exercise.id}").'
    )
    head = f"Hint {level} of {total} · {exercise.id} {exercise.title}"
    return Card(head, (exercise.hints[level - 1], more), tail="free")


def try_first(exercise: Exercise, hints_seen: int) -> Card:
    """Instead of a solution, before anything was tried."""
    left = "" if hints_seen >= len(exercise.hints) else f' or lab.hint("{exercise.id}")'
    line = (
        f"Try it first: check any answer{left}. "
        f'To see the solution all the same: lab.solution("{exercise.id}", anyway=True).'
    )
    return Card(f"Solution of {exercise.id}", (line,))


def solution(exercise: Exercise) -> Card:
    """The solution as code, with one sentence."""
    line = "One way to answer it; other names and another order of steps are as good."
    if exercise.tier is Tier.PERSONAL:
        line += f" To try it on fresh numbers: `labkit reset {exercise.id}`."
    head = f"Solution of {exercise.id} {exercise.title}"
    return Card(head, (line,), code=exercise.solution)


def forbidden(outcome: Outcome, exercise: Exercise, module: str) -> Outcome:
    """A right function that calls the engine it was to be written without."""
    return replace(
        outcome,
        status=Status.FAILED,
        code=Code.FORBIDDEN_MODULE,
        points=0.0,
        message=(
            f"The result is right, but it comes from {module}. Write `{exercise.answer_name}` "
            "yourself: that is the exercise."
        ),
    )


def what_next(
    material: Material, standings: Standings, exercise: Exercise, outcome: Outcome
) -> str:
    """The one thing to do after a check."""
    if outcome.passed:
        following = first_open(material, standings, exercise.id)
        if following is None:
            total = len(material.exercises)
            return f"Lab {material.plan.number} is complete: {total} of {total} passed."
        return next_up(material, following)
    if outcome.status is Status.FAILED:
        seen = standings.get(exercise.id, NEW).hints
        if seen < len(exercise.hints):
            return (
                f'Stuck? lab.hint("{exercise.id}") gives hint {seen + 1} of {len(exercise.hints)}.'
            )
        return f'All hints seen. lab.solution("{exercise.id}") shows one way.'
    return ""


def next_up(material: Material, following: str) -> str:
    """The exercise to turn to. A title that is a question ends the sentence itself."""
    says = f"Next: {following} {material.exercises[following].title}"
    return says if says.endswith((".", "?", "!")) else f"{says}."


def status_words(standing: Standing) -> str:
    """The status as a sign and words: "✗ Not yet (passed before)"."""
    words = MARKS[standing.status]
    return f"{words} (passed before)" if standing.ever_passed and not standing.passed else words


def progress(material: Material, standings: Standings) -> Table:
    """One lab's exercises as a table."""
    rows = []
    for exercise in material.exercises.values():
        standing = standings.get(exercise.id, NEW)
        rows.append(
            (
                exercise.id,
                exercise.title,
                status_words(standing),
                of_points(standing.points, exercise.points).removesuffix(" points"),
                str(standing.attempts),
                f"{standing.hints} of {len(exercise.hints)}",
            )
        )
    following = first_open(material, standings)
    note = "All passed." if following is None else next_up(material, following)
    done = f"{passed_count(material, standings)} of {len(material.exercises)} passed"
    return Table(
        ("Exercise", "Title", "Status", "Points", "Tries", "Hints seen"),
        tuple(rows),
        f"Lab {material.plan.number} · {material.plan.title}: {done}",
        (note,),
    )
