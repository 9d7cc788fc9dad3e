"""Kinds of exercise: how each kind's blank looks and how its answers are judged."""

from labkit.exercises.kinds.choice import Choice, Option
from labkit.exercises.kinds.decision import DecisionKind, Stated
from labkit.exercises.kinds.figure import FigureKind
from labkit.exercises.kinds.function import FunctionKind
from labkit.exercises.kinds.interval import IntervalKind
from labkit.exercises.kinds.machine import MachineKind
from labkit.exercises.kinds.measurement import MeasurementKind
from labkit.exercises.kinds.quantity import Quantity, Tolerance
from labkit.exercises.kinds.trace import Breach, Watcher, expect

__all__ = [
    "Breach",
    "Choice",
    "DecisionKind",
    "FigureKind",
    "FunctionKind",
    "IntervalKind",
    "MachineKind",
    "MeasurementKind",
    "Option",
    "Quantity",
    "Stated",
    "Tolerance",
    "Watcher",
    "expect",
]
