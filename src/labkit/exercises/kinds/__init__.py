"""Kinds of exercise: how each kind's blank looks and how its answers are judged."""

from labkit.exercises.kinds.choice import Choice, Option
from labkit.exercises.kinds.figure import FigureKind
from labkit.exercises.kinds.function import FunctionKind
from labkit.exercises.kinds.measurement import MeasurementKind
from labkit.exercises.kinds.quantity import Quantity, Tolerance

__all__ = [
    "Choice",
    "FigureKind",
    "FunctionKind",
    "MeasurementKind",
    "Option",
    "Quantity",
    "Tolerance",
]
