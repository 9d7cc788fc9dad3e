"""What is asked: exercises as declarations, their draws, and the judging of answers."""

from labkit.exercises.draws import givens_for, practice_seeds, probe_for
from labkit.exercises.facts import Facts
from labkit.exercises.judge import judge
from labkit.exercises.registry import LabExercises, load
from labkit.exercises.spec import Exercise, Mistake, Tier

__all__ = [
    "Exercise",
    "Facts",
    "LabExercises",
    "Mistake",
    "Tier",
    "givens_for",
    "judge",
    "load",
    "practice_seeds",
    "probe_for",
]
