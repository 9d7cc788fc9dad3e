"""Lab 06, Attention and speculative decoding: its exercises in the order in which it asks them."""

from labkit.exercises.lab06_attention.blocks import BLOCKS
from labkit.exercises.lab06_attention.decode import DECODE
from labkit.exercises.lab06_attention.expected import EXPECTED, GAMMA
from labkit.exercises.lab06_attention.figure import FIGURE
from labkit.exercises.lab06_attention.profile import PROFILE
from labkit.exercises.lab06_attention.reality import REALITY_EXERCISES
from labkit.exercises.lab06_attention.scores import SCORE_EXERCISES
from labkit.exercises.lab06_attention.slow_drafter import SLOW_DRAFTER_EXERCISES
from labkit.exercises.spec import Exercise

EXERCISES: tuple[Exercise, ...] = (
    *SCORE_EXERCISES,
    BLOCKS,
    PROFILE,
    EXPECTED,
    DECODE,
    GAMMA,
    *SLOW_DRAFTER_EXERCISES,
    *REALITY_EXERCISES,
    FIGURE,
)
