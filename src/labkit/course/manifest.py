"""`labs/course.toml`: the curriculum, read and validated.

It says which labs there are, in which order, with which exercises, and on which day's facts
(`snapshot`) they are pinned. Points and tiers stand in the exercises, not here.
"""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from labkit.contract import LabkitError
from labkit.contract.errors import UnknownNameError
from labkit.contract.paths import valid_exercise

_Text = Annotated[str, Field(min_length=1)]


class ManifestError(LabkitError):
    """course.toml is missing or says something that cannot be."""


@dataclass(frozen=True, slots=True)
class LabPlan:
    """One lab of the curriculum. `file` is the notebook's name, `exercises` their ids in order."""

    number: str
    file: str
    title: str
    minutes: int
    objectives: tuple[str, ...]
    exercises: tuple[str, ...]

    @property
    def source(self) -> str:
        """Name of the file in `solutions/` that this lab is built from."""
        return self.file.removesuffix(".ipynb") + ".py"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The curriculum. `snapshot` pins the catalogue, `checked_on` is the day of its last review."""

    title: str
    version: str
    snapshot: str
    checked_on: dt.date
    labs: tuple[LabPlan, ...]

    def lab(self, number: str) -> LabPlan:
        """The plan of a lab: "01", or "1". Raises UnknownNameError."""
        wanted = str(number).strip().zfill(2)
        for plan in self.labs:
            if plan.number == wanted:
                return plan
        raise UnknownNameError("lab", str(number), [plan.number for plan in self.labs])

    def home(self, exercise: str) -> LabPlan:
        """The lab that checks this exercise: "1.4", or "01.4". Raises UnknownNameError."""
        for plan in self.labs:
            if exercise_id(exercise) in plan.exercises:
                return plan
        known = [name for plan in self.labs for name in plan.exercises]
        raise UnknownNameError("exercise", exercise, known)


def exercise_id(text: str) -> str:
    """An exercise's id without the zero that a lab's number is written with.

    >>> exercise_id("01.4"), exercise_id("1.10"), exercise_id("0.4"), exercise_id("00.4")
    ('1.4', '1.10', '0.4', '0.4')
    """
    return re.sub(r"^0(?=\d)", "", text.strip())


class _Lab(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: Annotated[str, Field(pattern=r"^\d\d$")]
    file: Annotated[str, Field(pattern=r"^\d\d_[a-z0-9_]+\.ipynb$")]
    title: _Text
    minutes: Annotated[int, Field(gt=0, le=600)]
    objectives: Annotated[list[_Text], Field(min_length=1)]
    exercises: list[str]

    @model_validator(mode="after")
    def _consistent(self) -> _Lab:
        if not self.file.startswith(f"{self.number}_"):
            raise ValueError(f"lab {self.number} has the file {self.file!r} of another number")
        wrong = [name for name in self.exercises if not valid_exercise(name)]
        if wrong:
            raise ValueError(f"lab {self.number} lists {wrong[0]!r}, which is no exercise id")
        return self


class _Course(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: _Text
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z.+-]{1,32}$")]
    snapshot: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]
    checked_on: dt.date


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    course: _Course
    labs: Annotated[list[_Lab], Field(min_length=1)]

    @model_validator(mode="after")
    def _unique(self) -> _File:
        for what, names in (
            ("lab", [lab.number for lab in self.labs]),
            ("exercise", [name for lab in self.labs for name in lab.exercises]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{what} {twice[0]} is listed twice")
        return self


def load_manifest(path: Path) -> Manifest:
    """Read course.toml. Raises ManifestError with one sentence that names what is wrong."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ManifestError(f"The curriculum {path} cannot be read: {error.strerror}.") from None
    return parse_manifest(raw, str(path))


def parse_manifest(raw: bytes, path: str) -> Manifest:
    """The curriculum from the bytes of the file `path`. Raises ManifestError like load_manifest."""
    try:
        data = _File.model_validate(tomllib.loads(raw.decode("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ManifestError(f"The curriculum {path} is not TOML: {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        what = re.sub(r"^Value error, ", "", first["msg"])
        raise ManifestError(f"The curriculum {path} is wrong at {where}: {what}.") from None
    return Manifest(
        title=data.course.title,
        version=data.course.version,
        snapshot=data.course.snapshot,
        checked_on=data.course.checked_on,
        labs=tuple(
            LabPlan(
                number=lab.number,
                file=lab.file,
                title=lab.title,
                minutes=lab.minutes,
                objectives=tuple(lab.objectives),
                exercises=tuple(lab.exercises),
            )
            for lab in data.labs
        ),
    )
