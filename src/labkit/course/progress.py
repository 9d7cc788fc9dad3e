"""The whole course's progress, as data: what `labkit progress` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.contract.paths import find_workspace
from labkit.course import prediction
from labkit.course.advice import first_open, status_words
from labkit.course.calibration import Calibration, calibration
from labkit.course.identity import workspace_learner
from labkit.course.journal import Journal
from labkit.course.manifest import LabPlan, load_manifest
from labkit.course.material import Material, load_material
from labkit.course.resources import resources
from labkit.course.state import NEW, Standing, Standings
from labkit.course.workspace import WorkspaceError
from labkit.exercises import Exercise


@dataclass(frozen=True, slots=True)
class Row:
    """One exercise and where it stands."""

    exercise: Exercise
    standing: Standing

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "exercise": self.exercise.id,
            "title": self.exercise.title,
            "tier": self.exercise.tier.value,
            "status": self.standing.status.value,
            "ever_passed": self.standing.ever_passed,
            "points": self.standing.points,
            "max_points": self.exercise.points,
            "attempts": self.standing.attempts,
            "hints_seen": self.standing.hints,
            "solution_seen": self.standing.solution_seen,
            "prediction": self._prediction(),
        }

    def _prediction(self) -> dict[str, Any] | None:
        made = self.standing.prediction
        if made is None:
            return None
        return {
            "said": prediction.shown(self.exercise, made.answer),
            "confidence_percent": made.confidence,
            "found": made.found or None,
            "hit": made.hit,
        }


@dataclass(frozen=True, slots=True)
class LabProgress:
    """One lab: its rows in order and the first exercise that is still open."""

    plan: LabPlan
    rows: tuple[Row, ...]
    following: str | None

    @property
    def passed(self) -> int:
        """How many exercises stand passed."""
        return sum(row.standing.passed for row in self.rows)

    @property
    def begun(self) -> bool:
        """Whether anything was answered in it."""
        return any(row.standing.attempts for row in self.rows)

    @property
    def points(self) -> tuple[float, float]:
        """Points earned in the notebook, and points there are."""
        return (
            sum(row.standing.points for row in self.rows),
            sum(row.exercise.points for row in self.rows),
        )

    @property
    def predictions(self) -> list[str]:
        """Each prediction against what was found, as sentences."""
        lines = (prediction.line(row.exercise, row.standing) for row in self.rows)
        return [said for said in lines if said]

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        points, most = self.points
        return {
            "lab": self.plan.number,
            "title": self.plan.title,
            "minutes": self.plan.minutes,
            "passed": self.passed,
            "points": points,
            "max_points": most,
            "next": self.following,
            "exercises": [row.to_json() for row in self.rows],
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """Everything that `labkit progress` reports."""

    learner: str
    labs: tuple[LabProgress, ...]
    calibration: Calibration

    def next_thing(self) -> str:
        """One sentence: what to do now. A lab that was begun goes before one that was skipped."""
        for lab in sorted(self.labs, key=lambda lab: not lab.begun):
            if lab.following is None:
                continue
            row = next(r for r in lab.rows if r.exercise.id == lab.following)
            where = f"{row.exercise.id} {row.exercise.title}"
            return f"Next: {where} in {lab.plan.file} (`labkit lab {lab.plan.number}`)."
        return "All exercises passed. Hand in your notebooks to have them graded."

    def to_json(self) -> dict[str, Any]:
        """A JSON object."""
        return {
            "learner": self.learner,
            "labs": [lab.to_json() for lab in self.labs],
            "next": self.next_thing(),
            "calibration": self.calibration.to_json(),
        }


def course_progress(root: Path) -> Progress:
    """Progress in the workspace `root`, replayed from its events."""
    manifest = load_manifest(resources().manifest)
    materials = [load_material(plan.number) for plan in manifest.labs]
    standings = Journal(root).standings
    return Progress(
        workspace_learner(root),
        tuple(lab_progress(material, standings) for material in materials),
        calibration(standings.values()),
    )


def lab_progress(material: Material, standings: Standings) -> LabProgress:
    """Progress in one lab."""
    rows = tuple(
        Row(exercise, standings.get(name, NEW)) for name, exercise in material.exercises.items()
    )
    return LabProgress(material.plan, rows, first_open(material, standings))


def required_workspace(start: Path | None = None) -> Path:
    """The workspace from here upwards. Raises WorkspaceError that says how to get one."""
    root = find_workspace(start)
    if root is None:
        raise WorkspaceError(
            "There is no workspace here: go into one, or make one with "
            "`labkit init DIR --learner ID`."
        )
    return root


def words(row: Row) -> Mapping[str, str]:
    """A row's cells as text, for a terminal."""
    return {
        "id": row.exercise.id,
        "title": row.exercise.title,
        "status": status_words(row.standing),
        "points": f"{row.standing.points:g}/{row.exercise.points:g}"
        if row.exercise.points
        else "–",
        "tries": str(row.standing.attempts),
    }
