"""Lab 01, Own the roofline: twelve exercises in the order in which the lab asks them."""

from labkit.exercises.lab01_roofline.ceiling import CEILING_EXERCISES
from labkit.exercises.lab01_roofline.explain import EXPLAIN_EXERCISES
from labkit.exercises.lab01_roofline.figure import FIGURE
from labkit.exercises.lab01_roofline.measure import MEASURE
from labkit.exercises.lab01_roofline.ridge import RIDGE_EXERCISES
from labkit.exercises.spec import Exercise

EXERCISES: tuple[Exercise, ...] = (
    *RIDGE_EXERCISES,
    *CEILING_EXERCISES,
    MEASURE,
    *EXPLAIN_EXERCISES,
    FIGURE,
)
