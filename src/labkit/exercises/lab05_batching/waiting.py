"""Lab 05, exercises 5.13 and 5.14: what waiting users see, from the learner's own load record."""

from __future__ import annotations

import math

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import Choice, Option, Quantity, Tolerance
from labkit.exercises.lab05_batching.queue import SCHEDULING
from labkit.exercises.lab05_batching.records import first_with, label, median, of_record
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

USERS = 8


# --- 5.13 the staircase ----------------------------------------------------------------------


def _draw_stairs(draw: Draw) -> tuple[Given, ...]:
    record, place = draw.records["load"], ("staircase", "plain")
    level = ("staircase", "plain", "levels", "1")
    return (
        of_record(
            record, place, "ttft_ms", median(record, *level, "ttft_ms"), "ms", "alone: first token"
        ),
        of_record(
            record, place, "e2e_ms", median(record, *level, "e2e_ms"), "ms", "alone: whole answer"
        ),
        Given("users", USERS, "", "requests sent at once", "assumed"),
    )


def _last(g: Givens) -> float:
    """The last one waits for all other answers, and then for its own first token."""
    return float((g.users - 1) * g.e2e_ms + g.ttft_ms)


def _unlike(value: float, g: Givens, *others: float) -> float | None:
    """A wrong value, where these numbers tell it from the right one and from `others`."""
    room = 3 * Tolerance.COUNTED.value
    near = any(math.isclose(value, other, rel_tol=room) for other in (_last(g), *others))
    return None if near else value


STAIRS = Exercise(
    id="5.13",
    title="The last in the queue",
    objective=SCHEDULING,
    points=1,
    tier=Tier.OWN,
    kind=Quantity("ms", Tolerance.COUNTED),
    statement=(
        "The plain server works on one request at a time, in order of arrival. Alone, one request "
        "has its first token after `ttft_ms` and its whole answer after `e2e_ms`: your record has "
        "both. Now **eight** such requests arrive at the same moment.\n\n"
        "**When does the last of the eight see its first token?** In milliseconds after they were "
        "sent. Predict it from the two numbers; the figure after this one has what was measured."
    ),
    answer_name="last_ttft_ms",
    draw=_draw_stairs,
    reference=_last,
    mistakes=(
        Mistake(
            Code.OTHER_QUANTITY,
            "This is when the last answer is complete. Asked: its first token.",
            lambda g: _unlike(g.users * g.e2e_ms, g),
        ),
        Mistake(
            Code.LIMIT_LEFT_OUT,
            "That is when its turn comes. Then its own prompt still has to be read.",
            lambda g: _unlike((g.users - 1) * g.e2e_ms, g, g.users * g.e2e_ms),
        ),
        Mistake(
            Code.BATCH_IGNORED,
            "This is the first token of a request that is alone. Seven others stand before it.",
            lambda g: _unlike(g.ttft_ms, g),
        ),
        Mistake(
            Code.PER_LAYER,
            "You added up first tokens. The server does not turn to the next request before it has "
            "written the whole answer.",
            lambda g: _unlike(g.users * g.ttft_ms, g, g.e2e_ms * (g.users - 1)),
        ),
        Mistake(
            Code.SUM_OF_ROOFS,
            "You let eight answers go before it. There are seven others.",
            lambda g: _unlike(g.users * g.e2e_ms + g.ttft_ms, g, g.users * g.e2e_ms),
        ),
    ),
    hints=(
        "What has to be over before the server turns to the eighth request?",
        "Seven whole answers, then its own time to the first token.",
        "(users − 1) · e2e_ms + ttft_ms",
    ),
    solution="last_ttft_ms = (g.users - 1) * g.e2e_ms + g.ttft_ms",
    praise=(
        "A staircase, and each step is as high as a whole answer. Long answers of others hurt "
        "here, not long prompts."
    ),
    needs=("load",),
)


# --- 5.14 a long prompt among running answers ------------------------------------------------

FLATTER, LATER = 0.8, 1.05
_SERVERS = ("vllm", "continuous")


def _draw_chunked(draw: Draw) -> tuple[Given, ...]:
    record = draw.records["load"]
    server = first_with(record, "chunked", "chunked", _SERVERS)
    place, name = ("chunked", server), label(record, "chunked", server)

    def ms(key: str, series: str, words: str) -> Given:
        value = median(record, "chunked", server, key, series)
        return of_record(
            record, place, f"{key}_{series.removesuffix('_ms')}_ms", value, "ms", words
        )

    return (
        ms("whole", "worst_ms", f"{name}, prompt in one step: longest gap of the others"),
        ms("chunked", "worst_ms", f"{name}, prompt in chunks: longest gap of the others"),
        ms("whole", "long_ttft_ms", "prompt in one step: its own first token"),
        ms("chunked", "long_ttft_ms", "prompt in chunks: its own first token"),
    )


def chunking(g: Givens) -> str:
    """What chunks did, by the record."""
    if g.chunked_worst_ms > FLATTER * g.whole_worst_ms:
        return "nothing"
    return "trade" if g.chunked_long_ttft_ms > LATER * g.whole_long_ttft_ms else "gift"


def _unless(key: str, g: Givens) -> str | None:
    return None if key == chunking(g) else key


CHUNKED = Exercise(
    id="5.14",
    title="What do chunks cost, and whom?",
    objective=SCHEDULING,
    points=1,
    tier=Tier.OWN,
    kind=Choice(
        (
            Option(
                "trade",
                "the others' longest gap shrinks by a fifth or more, and the long prompt pays: its "
                "own first token comes more than 5 % later",
            ),
            Option(
                "gift",
                "the others' longest gap shrinks by a fifth or more, and the long prompt loses "
                "5 % at most",
            ),
            Option("nothing", "the others' longest gap does not shrink by a fifth"),
        )
    ),
    statement=(
        "In the right half of the figure above somebody sends a long prompt while others are "
        "reading their answers. Read in one step, it holds everybody up; read in chunks, between "
        "the others' tokens, it does not. Does the newcomer pay for that? Look at both sides.\n\n"
        "**What do chunks do on your machine?** Your record decides."
    ),
    answer_name="chunks",
    draw=_draw_chunked,
    reference=chunking,
    mistakes=(
        Mistake(
            Code.UNSUPPORTED_CAUSE,
            "Your record does not show that trade. Divide each number with chunks by the one "
            "without: the others' gap, and the long prompt's first token.",
            lambda g: _unless("trade", g),
        ),
        Mistake(
            Code.EXPECTATION_NOT_MEASUREMENT,
            "Not a gift on your machine. Divide each number with chunks by the one without, the "
            "long prompt's own first token included.",
            lambda g: _unless("gift", g),
        ),
        Mistake(
            Code.CONDITION_IGNORED,
            "The others' longest gap does shrink by a fifth or more: compare g.chunked_worst_ms "
            "with g.whole_worst_ms.",
            lambda g: _unless("nothing", g),
        ),
    ),
    hints=(
        "Two ratios: one for those who are reading, one for the newcomer.",
        "gap with chunks ÷ gap without; first token with chunks ÷ first token without.",
        '"nothing" if gap ratio > 0.8, else "trade" if first-token ratio > 1.05, else "gift"',
    ),
    solution=(
        "gap = g.chunked_worst_ms / g.whole_worst_ms\n"
        "first_token = g.chunked_long_ttft_ms / g.whole_long_ttft_ms\n"
        "if gap > 0.8:\n"
        '    chunks = "nothing"\n'
        "else:\n"
        '    chunks = "trade" if first_token > 1.05 else "gift"'
    ),
    praise=(
        "The size of a chunk (`max_num_batched_tokens`) is the dial between the newcomer's TTFT "
        "and everybody else's rhythm."
    ),
    claim="E002",
    needs=("load",),
)

WAITING_EXERCISES = (STAIRS, CHUNKED)
