"""Which module holds which lab's exercises."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from labkit.contract.errors import UnknownNameError
from labkit.exercises.spec import Exercise

LABS = {
    "00": "labkit.exercises.lab00_start",
    "01": "labkit.exercises.lab01_roofline",
    "02": "labkit.exercises.lab02_memory",
    "04": "labkit.exercises.lab04_quantization",
    "05": "labkit.exercises.lab05_batching",
    "06": "labkit.exercises.lab06_attention",
}


class LabExercises(Mapping[str, Exercise]):
    """The exercises checked in one lab, in the order in which the lab asks them."""

    def __init__(self, lab: str, exercises: tuple[Exercise, ...]) -> None:
        self.lab = lab
        self._by_id = {exercise.id: exercise for exercise in exercises}
        if len(self._by_id) != len(exercises):
            raise ValueError(f"Lab {lab} uses an exercise id twice.")

    def __getitem__(self, exercise: str) -> Exercise:
        if exercise not in self._by_id:
            raise UnknownNameError(f"exercise of Lab {self.lab}", exercise, self._by_id)
        return self._by_id[exercise]

    def __contains__(self, exercise: object) -> bool:
        return exercise in self._by_id

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def max_points(self) -> float:
        """Points of all exercises together."""
        return sum(exercise.points for exercise in self._by_id.values())


def bench_of(exercise: str) -> str | None:
    """The measurement that this exercise, of whatever lab, asks for; None where it asks for none.

    Looks at the lab of the exercise's number first, then at the others: an exercise may have
    moved.
    """
    own = exercise.split(".", maxsplit=1)[0].zfill(2)
    for lab in sorted(LABS, key=lambda number: number != own):
        exercises = load(lab)
        if exercise in exercises:
            bench = getattr(exercises[exercise].kind, "bench", None)
            return bench if isinstance(bench, str) else None
    return None


def load(lab: str) -> LabExercises:
    """The exercises of a lab, given as "01" or "1". Raises UnknownNameError for another."""
    number = lab.zfill(2)
    if number not in LABS:
        raise UnknownNameError("lab", lab, LABS)
    module = importlib.import_module(LABS[number])
    return LabExercises(number, module.EXERCISES)
