"""What is written for each learner and lab, whole or not at all, and read again when resuming."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from labkit.contract.outcome import Outcome
from labkit.grading.names import csv_text, file_name

SCHEMA = 1
COLUMNS = (
    "learner", "lab", "points", "max_points", "percent", "pending_points", "status", "isolation",
    "warnings",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Origin:
    """What a grade is a function of, and how it was made. The same origin, the same grade."""

    submission_sha256: str
    numbers_of: str
    course_version: str
    key_fingerprint: str
    isolation: str
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True)
class Result:
    """One row of the gradebook with what stands behind it.

    `warnings` come from the submission itself, `remarks` from what lay beside it; `private` ones
    name other learners and are for the instructor's eyes. `stem` names the files.
    """

    learner: str
    lab: str
    status: str
    origin: Origin
    stem: str
    title: str = ""
    outcomes: tuple[dict[str, Any], ...] = ()
    errors: tuple[dict[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    message: str = ""  # for the learner, where there is no grade

    @property
    def points(self) -> float:
        """Points earned."""
        return self._sum("points")

    @property
    def max_points(self) -> float:
        """Points of the machine-graded exercises."""
        return self._sum("max_points")

    def _sum(self, name: str) -> float:
        return round(float(sum(outcome[name] for outcome in self.outcomes)), 6)

    @property
    def percent(self) -> float:
        """Points as a share of the machine-graded part; 0 where nothing could be graded."""
        return round(100 * self.points / self.max_points, 2) if self.max_points else 0.0

    @property
    def graded(self) -> bool:
        """Whether the notebook was run at all."""
        return bool(self.outcomes)

    def row(self) -> dict[str, str | float]:
        """The row of grades.csv."""
        return {
            "learner": csv_text(self.learner),
            "lab": self.lab,
            "points": self.points,
            "max_points": self.max_points,
            "percent": self.percent,
            "pending_points": 0.0,
            "status": self.status,
            "isolation": self.origin.isolation,
            "warnings": csv_text(" | ".join((*self.private, *self.remarks, *self.warnings))),
        }

    def to_json(self) -> dict[str, Any]:
        """The content of results/<learner>/<lab>.json."""
        data = asdict(self)
        summary = {name: value for name, value in self.row().items() if name != "warnings"}
        return data | summary | {"learner": self.learner}


def read_result(path: Path, origin: Origin) -> Result | None:
    """The result in `path`, if it is whole and has this origin."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["origin"] != asdict(origin):
            return None
        return Result(
            learner=data["learner"],
            lab=data["lab"],
            status=data["status"],
            origin=origin,
            stem=data["stem"],
            title=data["title"],
            outcomes=tuple(data["outcomes"]),
            errors=tuple(data["errors"]),
            warnings=tuple(data["warnings"]),
            message=data["message"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class Folder:
    """The output folder and the names in it."""

    root: Path

    def result(self, learner: str, stem: str) -> Path:
        """results/<learner>/<stem>.json."""
        return self.root / "results" / file_name(learner) / f"{file_name(stem)}.json"

    def feedback(self, learner: str, stem: str) -> Path:
        """feedback/<learner>/<stem>.html."""
        return self.root / "feedback" / file_name(learner) / f"{file_name(stem)}.html"

    def forget(self, learner: str, stem: str) -> None:
        """Remove what an earlier run wrote under another name."""
        self.result(learner, stem).unlink(missing_ok=True)
        self.feedback(learner, stem).unlink(missing_ok=True)

    def write_result(self, result: Result) -> None:
        """Write the JSON; the same result gives the same bytes."""
        text = json.dumps(result.to_json(), indent=1, ensure_ascii=False, sort_keys=True)
        write(self.result(result.learner, result.stem), text + "\n")

    def write_grades(self, results: Iterable[Result]) -> Path:
        """Write grades.csv and return its path."""
        path = self.root / "grades.csv"
        write(path, grades_csv(results))
        return path


def grades_csv(results: Iterable[Result]) -> str:
    """The gradebook as CSV text."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for result in results:
        writer.writerow({name: _plain(value) for name, value in result.row().items()})
    return text.getvalue()


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def write(path: Path, text: str) -> None:
    """Write a file so that a crash leaves the old one or the new one; unchanged stays untouched."""
    raw = text.encode("utf-8")
    if path.is_file() and path.read_bytes() == raw:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    with os.fdopen(descriptor, "wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    Path(part).chmod(0o644)
    Path(part).replace(path)


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """An outcome with plain text in place of enumerations."""
    data: Mapping[str, Any] = outcome.to_json()
    return {name: str(value) if isinstance(value, str) else value for name, value in data.items()}
