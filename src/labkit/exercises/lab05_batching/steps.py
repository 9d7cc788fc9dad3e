"""Lab 05, exercises 5.1 and 5.2: engine steps of the same queue under two schedulers."""

from __future__ import annotations

import math

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import Quantity, Tolerance
from labkit.exercises.lab05_batching.queue import (
    LENGTHS,
    SCHEDULING,
    SLOTS,
    continuous_spans,
    queue_givens,
    static_spans,
    steps,
)
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier


def _draw(_draw: Draw) -> tuple[Given, ...]:
    return queue_givens(LENGTHS, SLOTS, "assumed")


def _static(g: Givens) -> int:
    return steps(static_spans(g.lengths, g.slots))


def _continuous(g: Givens) -> int:
    return steps(continuous_spans(g.lengths, g.slots))


def _packed(g: Givens) -> int:
    return math.ceil(_divided(g))


def _divided(g: Givens) -> float:
    return sum(map(int, g.lengths)) / int(g.slots)


def _sorted(g: Givens) -> int:
    return steps(static_spans(sorted(g.lengths), g.slots))


STATIC = Exercise(
    id="5.1",
    title="A batch waits for its slowest",
    objective=SCHEDULING,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("steps", Tolerance.EXACT, whole=True),
    statement=(
        "Eight requests wait at the start. In order of arrival they will write "
        f"{', '.join(map(str, LENGTHS))} tokens. The engine has four *slots*: it can work on four "
        "requests at a time. With **static batching** it takes the first four, decodes until the "
        "**longest** of them is finished, and only then takes the next four. A request of *n* "
        "output tokens needs *n* steps; its prompt is read in the first of them.\n\n"
        "**How many steps does the engine run until the last token is written?**"
    ),
    answer_name="static_steps",
    draw=_draw,
    reference=_static,
    mistakes=(
        Mistake(
            Code.BATCH_IGNORED,
            "This is one request after the other. The sequences of a batch advance together: one "
            "step gives each of them a token.",
            lambda g: sum(g.lengths),
        ),
        Mistake(
            Code.ONE_SEQUENCE,
            "This is the longest request of all, so one batch. There are two, one after the other.",
            lambda g: max(g.lengths),
        ),
        Mistake(
            Code.IDLE_SLOT,
            "This is perfect packing, as if no slot were ever idle. A static batch keeps its slots "
            "until the longest request ends.",
            _packed,
        ),
        Mistake(
            Code.NOT_WHOLE,
            "You divided the tokens by the slots, as if no slot were ever idle. A static batch "
            "keeps its slots until the longest request ends.",
            _divided,
        ),
        Mistake(
            Code.SLOWER,
            "You sorted the queue by length. That would help, but the engine takes the requests "
            "as they came.",
            _sorted,
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "This is continuous batching: a free slot took the next request at once. That is the "
            "next exercise.",
            _continuous,
        ),
    ),
    hints=(
        "Split the queue into batches first. What decides how long one batch takes?",
        "The longest of the first four, plus the longest of the second four.",
        "max(lengths[:4]) + max(lengths[4:])",
    ),
    solution=(
        "static_steps = 0\n"
        "for first in range(0, len(g.lengths), g.slots):\n"
        "    static_steps += max(g.lengths[first : first + g.slots])"
    ),
    praise="R1 was done after 10 steps and sat in its slot for 90 more.",
    claim="E076",
)

CONTINUOUS = Exercise(
    id="5.2",
    title="The same queue, step by step",
    objective=SCHEDULING,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("steps", Tolerance.EXACT, whole=True),
    statement=(
        "The same eight requests and four slots, now with **continuous batching**, also called "
        "*iteration-level scheduling*: after every step finished requests leave, and the next in "
        "the queue takes the free slot at once. First come, first served.\n\n"
        "**How many steps until the last token is written?** Paper helps: four lines, one per slot."
    ),
    answer_name="continuous_steps",
    draw=_draw,
    reference=_continuous,
    mistakes=(
        Mistake(
            Code.IDLE_SLOT,
            "That is static batching again. A slot that becomes free takes the next request at "
            "once.",
            _static,
        ),
        Mistake(
            Code.CONDITION_IGNORED,
            "This is perfect packing: tokens divided by slots. A request cannot be split between "
            "slots, so at the end some slots run dry while the last request still writes.",
            _packed,
        ),
        Mistake(
            Code.NOT_WHOLE,
            "You divided the tokens by the slots. A request cannot be split between slots, so at "
            "the end some slots run dry while the last request still writes.",
            _divided,
        ),
        Mistake(
            Code.ONE_SEQUENCE,
            "This is the longest request alone. It is not the last to end: R8 has to wait for a "
            "slot, and then it still has its own tokens to write.",
            lambda g: max(g.lengths),
        ),
        Mistake(
            Code.BATCH_IGNORED,
            "This is one request after the other. The four slots advance together.",
            lambda g: sum(g.lengths),
        ),
    ),
    hints=(
        "Note for each slot when it becomes free. The next request goes where that is earliest.",
        "At the start four join. R5 joins when the shortest of them ends, and so on. Take the "
        "latest end.",
        "free = [0, 0, 0, 0]; each n of lengths raises the smallest entry; at the end max(free)",
    ),
    solution=(
        "free = [0] * g.slots  # the step at which each slot becomes free\n"
        "for tokens in g.lengths:\n"
        "    slot = free.index(min(free))\n"
        "    free[slot] += tokens\n"
        "continuous_steps = max(free)"
    ),
    praise="Same work, same slots, fewer steps: nobody waits for a stranger's long answer.",
    claim="E076",
)

STEP_EXERCISES = (STATIC, CONTINUOUS)
