"""Lab 04, Quantization: twelve exercises in the order in which the lab asks them."""

from labkit.exercises.lab04_quantization.bound_function import BOUND
from labkit.exercises.lab04_quantization.bounds import BITS, BOUND_7B, KNEE_INT4
from labkit.exercises.lab04_quantization.channels import CHANNELS
from labkit.exercises.lab04_quantization.decide import DECIDE
from labkit.exercises.lab04_quantization.figure import FIGURE
from labkit.exercises.lab04_quantization.grid import TRAP_EXERCISE
from labkit.exercises.lab04_quantization.groups import GROUPWISE
from labkit.exercises.lab04_quantization.loss import RISE
from labkit.exercises.lab04_quantization.measure import MEASURE
from labkit.exercises.lab04_quantization.speed import CENTRE
from labkit.exercises.spec import Exercise

EXERCISES: tuple[Exercise, ...] = (
    CHANNELS,
    GROUPWISE,
    BITS,
    BOUND_7B,
    BOUND,
    KNEE_INT4,
    MEASURE,
    TRAP_EXERCISE,
    RISE,
    DECIDE,
    CENTRE,
    FIGURE,
)
