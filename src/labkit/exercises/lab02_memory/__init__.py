"""Lab 02, Memory budget: twelve exercises in the order in which the lab asks them."""

from labkit.exercises.lab02_memory.budget import TOKENS_7B
from labkit.exercises.lab02_memory.cache import CACHE_EXERCISES, WEIGHTS_IN_SEQUENCES
from labkit.exercises.lab02_memory.cache_function import KV_FUNCTION
from labkit.exercises.lab02_memory.figure import FIGURE
from labkit.exercises.lab02_memory.measure import MEASURE
from labkit.exercises.lab02_memory.parameters import COUNT_PARAMETERS
from labkit.exercises.lab02_memory.sequences import SEQUENCE_EXERCISES
from labkit.exercises.lab02_memory.step import STEP_EXERCISES
from labkit.exercises.spec import Exercise

EXERCISES: tuple[Exercise, ...] = (
    COUNT_PARAMETERS,
    *CACHE_EXERCISES,
    KV_FUNCTION,
    MEASURE,
    WEIGHTS_IN_SEQUENCES,
    *STEP_EXERCISES,
    TOKENS_7B,
    *SEQUENCE_EXERCISES,
    FIGURE,
)
