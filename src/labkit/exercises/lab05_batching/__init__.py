"""Lab 05, Batching and engines: its exercises in the order in which the lab asks them."""

from labkit.exercises.lab05_batching.allocator import ALLOCATOR
from labkit.exercises.lab05_batching.batcher import BATCHER
from labkit.exercises.lab05_batching.blocks import BLOCK_EXERCISES
from labkit.exercises.lab05_batching.prefill import TTFT_FLOOR
from labkit.exercises.lab05_batching.speedup import SPEEDUP_EXERCISES
from labkit.exercises.lab05_batching.steps import STEP_EXERCISES
from labkit.exercises.lab05_batching.timeline import TIMELINE
from labkit.exercises.lab05_batching.variance import GAIN
from labkit.exercises.lab05_batching.waiting import WAITING_EXERCISES
from labkit.exercises.spec import Exercise

EXERCISES: tuple[Exercise, ...] = (
    *STEP_EXERCISES,
    TIMELINE,
    GAIN,
    *BLOCK_EXERCISES,
    ALLOCATOR,
    BATCHER,
    *SPEEDUP_EXERCISES,
    TTFT_FLOOR,
    *WAITING_EXERCISES,
)
