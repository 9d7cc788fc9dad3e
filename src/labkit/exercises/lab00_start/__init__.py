"""Lab 00, Start here: five ungraded questions about what the course takes for granted."""

from labkit.exercises.lab00_start.prerequisites import PREREQUISITES
from labkit.exercises.spec import Exercise

EXERCISES: tuple[Exercise, ...] = PREREQUISITES
