"""`Lab`: what a learner's notebook talks to.

    lab = Lab("01")
    g = lab.given("1.1")
    lab.check("1.1", ridge)

Its methods return things to look at. A slip (an unknown id, a measurement not yet made) returns a
`Notice` with one sentence, so that "Run all" reaches the end; the sentence is raised, without a
traceback, when the next line computes with the notice. Programs that prefer exceptions ask for
`Lab("01", strict=True)`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from labkit.catalog import Catalog
from labkit.contract import Givens, LabkitError, Outcome, Record, Status
from labkit.contract.answer import Wire, is_blank
from labkit.contract.events import Event
from labkit.contract.paths import find_workspace
from labkit.course import advice, kernel, prediction, records, reprice
from labkit.course.calibration import calibration, compare
from labkit.course.cards import Card, Notice, Sheet, Table, show
from labkit.course.carry import Carried, bring
from labkit.course.forbidden import forbidden_use
from labkit.course.identity import identify
from labkit.course.journal import Journal, keepable
from labkit.course.judging import judge_answer
from labkit.course.material import Material, load_material
from labkit.course.preflight import preflight
from labkit.course.workload import UseCase, WorkloadError, read_use_case
from labkit.exercises import Exercise, Tier, givens_for

_P = ParamSpec("_P")
_R = TypeVar("_R")
_UNGIVEN = object()


def _kindly(
    method: Callable[Concatenate[Lab, _P], _R],
) -> Callable[Concatenate[Lab, _P], _R | Notice]:
    """Turn a LabkitError into a Notice, unless the lab is strict."""

    @functools.wraps(method)
    def wrapped(self: Lab, /, *args: _P.args, **kwargs: _P.kwargs) -> _R | Notice:
        try:
            return method(self, *args, **kwargs)
        except LabkitError as error:
            if self.strict:
                raise
            return Notice(error)

    return wrapped


class Lab:
    """One lab in a notebook.

    `number` is "01" or "1". `strict` raises LabkitErrors instead of returning notices. The
    remaining arguments are for programs: a workspace other than the one found from here, another
    lab's material, another way to show the welcome.

    Raises UnknownNameError for a lab that does not exist.
    """

    def __init__(
        self,
        number: str,
        *,
        strict: bool = False,
        workspace: Path | None = None,
        material: Material | None = None,
        show: Callable[[Any], None] = show,
    ) -> None:
        self.strict = strict
        self._material = material if material is not None else load_material(number)
        plan = self._material.plan
        self._workspace = workspace if workspace is not None else find_workspace()
        self._identity = identify(plan.number, plan.file, self._workspace)
        self._journal = Journal(self._workspace)
        self._handed: dict[str, Record] = {}
        self._sightings = kernel.Sightings()
        self._show = show
        there = kernel.names()
        restarted = bool(there) and not any(type(thing) is Lab for thing in there.values())
        show(self._welcome(restarted=restarted))

    @_kindly
    def given(self, exercise: str) -> Givens:
        """The numbers of an exercise: ``g = lab.given("1.1")``, then ``g.bandwidth_gbps``."""
        spec = self._exercise(exercise)
        needed = self._needed(spec)
        given = givens_for(
            spec, self._material.facts, learner=self._identity.draw(exercise), records=needed
        )
        for name, record in needed.items():
            if record.live and self._sightings.newest(name) is None:
                self._show(Carried.record(record))  # measured in another notebook
        return given

    @_kindly
    def predict(self, exercise: str, value: Any = ..., confidence: Any = ...) -> Card:
        """Say a number before it is known, and how sure you are (5–100 percent). Ungraded."""
        spec = self._exercise(exercise)
        if value is ... or confidence is ...:
            return prediction.unpredicted(spec)
        wire = prediction.read(spec, value)
        percent = prediction.percent(confidence)
        doubtful = prediction.fraction(spec, wire)
        if doubtful is not None:
            return prediction.doubted(spec, doubtful)
        late = self._journal.of(exercise).attempts > 0
        self._add("predict", exercise, confidence=percent, answer=wire)
        return prediction.noted(spec, wire, percent, late)

    @_kindly
    def check(self, exercise: str, answer: Any = _UNGIVEN) -> Outcome:
        """Judge an answer: ``lab.check("1.1", ridge)``. A blank ``...`` is *not attempted*."""
        spec = self._exercise(exercise)
        if answer is _UNGIVEN:
            raise LabkitError(
                "check takes the exercise and your answer: "
                f'lab.check("{exercise}", {spec.answer_name}).'
            )
        if type(answer) is Record:  # isinstance would ask the object itself
            self._measured(answer, exercise)
        wire, outcome = judge_answer(
            spec,
            self._material.facts,
            answer,
            draw=self._identity.draw(exercise),
            records=self._needed(spec),
        )
        used = forbidden_use(answer, spec.forbids) if outcome.passed else None
        if used:
            outcome = advice.forbidden(outcome, spec, used)
        detail = self._reconcile(spec, wire, outcome)
        self._add(
            "check",
            exercise,
            status=outcome.status.value,
            code=outcome.code.value,
            points=outcome.points,
            answer=None if is_blank(wire) else keepable(wire),
            detail=detail,
        )
        return replace(outcome, next=self._next(spec, outcome, detail))

    @_kindly
    def hint(self, exercise: str, n: int | None = None) -> Card:
        """The next hint you have not seen, or hint `n` (1 to 3). Hints are free."""
        spec = self._exercise(exercise)
        seen = self._journal.of(exercise).hints
        level = min(seen + 1, len(spec.hints)) if n is None else n
        if isinstance(level, bool) or level not in range(1, len(spec.hints) + 1):
            raise LabkitError(f"There is no hint {n!r}: there are hints 1 to {len(spec.hints)}.")
        self._add("hint", exercise, detail={"hint": level})
        return advice.hint(spec, level)

    @_kindly
    def solution(self, exercise: str, anyway: bool = False) -> Card:
        """One way to solve it, once you have tried; `anyway=True` shows it at once."""
        spec = self._exercise(exercise)
        if not anyway and not self._journal.of(exercise).attempts:
            return advice.try_first(spec, self._journal.of(exercise).hints)
        self._add("solution", exercise)
        return advice.solution(spec)

    @_kindly
    def carry(self, exercise: str) -> Any:
        """The record or last answer of an earlier exercise, of this lab or another."""
        self._journal.refresh()  # the earlier lab may be open in another tab
        value, travels = bring(exercise, self._journal.of(exercise), self._record)
        if exercise not in self._material.exercises:
            self._show(travels)
        return value

    @_kindly
    def preflight(self) -> Table | Card:
        """What this machine can run, what is missing and how to get it: `labkit doctor` here."""
        return preflight()

    @_kindly
    def workload(self) -> UseCase | Notice:
        """Your own use case, read from `my_workload.toml`; its `traffic` is a `Workload`."""
        if self._workspace is None:
            return Notice(WorkloadError(reprice.NO_WORKSPACE), head="○ No use case here")
        return read_use_case(self._workspace)

    @_kindly
    def reprice(self) -> Table | Card:
        """Your own use case, priced by the engine on today's facts."""
        if self._workspace is None:
            return reprice.without_workspace()
        today = datetime.now(UTC).date()
        return reprice.table(read_use_case(self._workspace), Catalog.load(), today)

    def progress(self) -> Sheet:
        """Where each exercise of this lab stands, what comes next, and how predictions fared."""
        self._journal.refresh()
        standings = self._journal.standings
        return Sheet(
            (
                advice.progress(self._material, standings),
                *prediction.report(
                    self._material.exercises, standings, calibration(standings.values())
                ),
            )
        )

    def __repr__(self) -> str:
        return str(self._welcome())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return self._welcome()._repr_mimebundle_()

    def _welcome(self, *, restarted: bool = False) -> Card:
        notices = list(self._identity.notices)
        if self._workspace is None:
            notices.append(
                "There is no workspace here, so progress is kept in memory and ends with this "
                "kernel: make one with `labkit init DIR --learner ID`."
            )
        return advice.welcome(
            self._material,
            self._journal.standings,
            self._identity.learner,
            notices,
            restarted=restarted,
        )

    def _exercise(self, exercise: str) -> Exercise:
        self._sightings.look()
        if not isinstance(exercise, str):
            raise LabkitError(f'An exercise is named by text, such as "1.1", not by {exercise!r}.')
        if exercise not in self._material.exercises:
            raise advice.unknown(exercise, self._material)
        return self._material.exercises[exercise]

    def _record(self, record_id: str) -> Record | None:
        """The record that a check was handed, else the saved one, else the notebook's own."""
        return (
            self._handed.get(record_id)
            or records.kept(record_id, self._workspace)
            or self._sightings.newest(record_id)
        )

    def _needed(self, spec: Exercise) -> dict[str, Record]:
        """The records an exercise works on: what stands in the notebook, live or replayed, first.

        So a learner who chose a replay works on what she sees, whatever was saved before.
        """
        found = {name: self._sightings.newest(name) or self._record(name) for name in spec.needs}
        return {name: record for name, record in found.items() if record is not None}

    def _measured(self, record: Record, exercise: str) -> None:
        if self._handed.get(record.id) == record:
            return
        self._handed[record.id] = record
        if records.kept(record.id, self._workspace) != record:
            records.keep(record, self._workspace)
        detail = {"record": record.id, "live": record.live, "made_on": record.made_on}
        self._add("measure", exercise, detail=detail)

    def _reconcile(self, spec: Exercise, wire: Wire, outcome: Outcome) -> dict[str, Any]:
        """What a passed answer says about the prediction that went before it."""
        made = self._journal.of(spec.id).prediction
        if made is None or made.hit is not None or not outcome.passed:
            return {}
        verdict = compare(made.answer, wire, prediction.unit_of(spec))
        if verdict is None:
            return {}
        return {"hit": verdict.hit, "predicted": verdict.predicted, "found": verdict.found}

    def _next(self, spec: Exercise, outcome: Outcome, detail: dict[str, Any]) -> str:
        lines = [outcome.next] if outcome.next else []
        if "hit" in detail:
            lines.append(prediction.verdict(spec, detail))
        hidden = spec.tier is Tier.TRANSFER and outcome.status is Status.PASSED
        if hidden:
            lines.append("Visible practice draws passed; hidden draws run at grading.")
        lines.append(advice.what_next(self._material, self._journal.standings, spec, outcome))
        return " ".join(lines)

    def _add(self, what: str, exercise: str, **fields: Any) -> None:
        self._journal.add(Event(what, self._material.plan.number, exercise, **fields))
