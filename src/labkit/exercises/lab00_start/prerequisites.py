"""The prerequisite check: reading a function, GB and GiB, pace and rate, FLOP/s, a log axis.

Ungraded (0 points). A wrong answer is told what to read again; nobody is kept out.
"""

from __future__ import annotations

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises import given
from labkit.exercises.kinds import Choice, Option, Quantity, Tolerance
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

OBJECTIVE = "what this course takes for granted"
GIB, GB = 2**30, 1e9
LENGTHS, LIMIT = (120, 700, 512, 90), 512


# --- 0.1 reading a function ----------------------------------------------------------------------


def _draw_code(_draw: Draw) -> tuple[Given, ...]:
    given_lengths = (
        Given(f"length_{n}", length, "tokens", f"lengths[{n - 1}]", "the call below")
        for n, length in enumerate(LENGTHS, start=1)
    )
    return (*given_lengths, Given("limit", LIMIT, "tokens", "limit", "the call below"))


def _lengths(g: Givens) -> list[int]:
    return [int(g[f"length_{n}"]) for n in range(1, len(LENGTHS) + 1)]


READ_A_FUNCTION = Exercise(
    id="0.1",
    title="What does this function return?",
    objective=OBJECTIVE,
    points=0,
    tier=Tier.CORE,
    kind=Quantity("tokens", Tolerance.EXACT),
    statement=(
        "```python\n"
        "def admitted(lengths, limit):\n"
        "    kept = [n for n in lengths if n <= limit]\n"
        "    return sum(kept)\n"
        "\n"
        f"admitted({list(LENGTHS)}, {LIMIT})\n"
        "```\n\n"
        "**Which number does the last line give?** Work it out without running it. "
        "If you can read this function, you can read all the code of this course."
    ),
    answer_name="admitted_tokens",
    draw=_draw_code,
    reference=lambda g: sum(n for n in _lengths(g) if n <= g.limit),
    mistakes=(
        Mistake(
            Code.LIMIT_LEFT_OUT,
            "You left out 512, which is exactly the limit. `<=` lets it in.",
            lambda g: sum(n for n in _lengths(g) if n < g.limit),
        ),
        Mistake(
            Code.CONDITION_IGNORED,
            "You added all of them. The `if` keeps only those up to the limit.",
            lambda g: sum(_lengths(g)),
        ),
        Mistake(
            Code.COUNT_NOT_SUM,
            "You counted them. `sum` adds the numbers themselves up.",
            lambda g: sum(1 for n in _lengths(g) if n <= g.limit),
        ),
    ),
    hints=(
        "Go through the list from left to right: which numbers pass the `if`?",
        "A list comprehension keeps an item where its condition is true. Then they are added up.",
        "kept is the list of all n with n ≤ limit; the answer is kept[0] + kept[1] + …",
    ),
    solution=f"admitted_tokens = sum(n for n in {list(LENGTHS)} if n <= {LIMIT})",
    praise="Functions and lists are all the Python you need.",
)


# --- 0.2 GB and GiB ------------------------------------------------------------------------------


def _draw_card(draw: Draw) -> tuple[Given, ...]:
    card = draw.facts.accelerator("L4")
    return (
        Given(
            "memory_gib",
            card.memory_bytes / GIB,
            "GiB",
            f"{card.name}: memory, 1 GiB = 2^30 bytes",
            f"catalogue, {card.provenance.as_of}",
        ),
    )


GIGABYTES = Exercise(
    id="0.2",
    title="The same memory in GB",
    objective=OBJECTIVE,
    points=0,
    tier=Tier.CORE,
    kind=Quantity("GB", Tolerance.COUNTED),
    statement=(
        "The next cell gives the memory of an L4, the GPU of AWS's `g6` machines. A GPU sits on a "
        "card with memory of its own, and *the card* means both. Tools that look at a card count "
        "in GiB: 1 GiB = 2^30 bytes = 1,073,741,824 bytes. Sizes of models are told in GB: 1 GB = "
        "10^9 bytes. If you mix them you are wrong by 7 percent, and 7 percent can decide whether "
        "a model fits.\n\n"
        "**How many GB is the memory of this card?**"
    ),
    answer_name="memory_gb",
    draw=_draw_card,
    reference=lambda g: g.memory_gib * GIB / GB,
    mistakes=(
        Mistake(
            Code.GB_AS_GIB,
            "You left the number as it is. A GiB is larger than a GB, so there are more GB.",
            lambda g: g.memory_gib,
        ),
        Mistake(
            Code.INVERTED,
            "You converted the other way round: from GB to GiB. A GiB is the larger one.",
            lambda g: g.memory_gib * GB / GIB,
        ),
        Mistake(
            Code.PREFIX,
            "You multiplied by 1.024 once. That is the step from kB to KiB; up to giga it is taken "
            "three times.",
            lambda g: g.memory_gib * 1.024,
        ),
    ),
    hints=(
        "How many bytes is `g.memory_gib`? Go through bytes: into them first, then out again.",
        "GiB times 2^30 gives bytes. Bytes divided by 10^9 gives GB.",
        "memory_gb = memory_gib · 2^30 / 10^9",
    ),
    solution="memory_gb = g.memory_gib * 2**30 / 1e9",
    praise="So that is the number on its label. This course always says which unit it means.",
)


# --- 0.3 pace and rate ---------------------------------------------------------------------------


def _draw_pace(_draw: Draw) -> tuple[Given, ...]:
    return (
        Given("tpot_ms", 40, "ms", "time from one token to the next, for each user", "an example"),
        Given("users", 8, "", "users who are served at the same time", "an example"),
    )


PACE = Exercise(
    id="0.3",
    title="From seconds per token to tokens per second",
    objective=OBJECTIVE,
    points=0,
    tier=Tier.CORE,
    kind=Quantity("tok/s", Tolerance.FORMULA),
    statement=(
        "A server writes for several users at once. The next cell says after how many milliseconds "
        "each of them gets a new token. You know this pace: TPOT, *time per output token*.\n\n"
        "**How many tokens per second does the server write in all?**"
    ),
    answer_name="server_rate",
    draw=_draw_pace,
    reference=lambda g: g.users / (g.tpot_ms / 1e3),
    mistakes=(
        Mistake(
            Code.ONE_SEQUENCE,
            "This is the rate of one user. All of them are served at the same time.",
            lambda g: 1e3 / g.tpot_ms,
        ),
        Mistake(
            Code.TIME_NOT_RATE,
            "This is the time per token of the whole server, in seconds. Asked: tokens per second.",
            lambda g: g.tpot_ms / 1e3 / g.users,
        ),
        Mistake(
            Code.PREFIX,
            "You divided by milliseconds. 1 s is 1,000 ms.",
            lambda g: g.users / g.tpot_ms,
        ),
        Mistake(
            Code.INVERTED,
            "You multiplied by the time. A shorter time must give a higher rate, so divide by it.",
            lambda g: g.users * g.tpot_ms,
        ),
    ),
    hints=(
        "How many tokens does one user get in a second?",
        "One second divided by the time per token, then times the users.",
        "server_rate = users · 1000 / tpot_ms",
    ),
    solution="server_rate = g.users * 1000 / g.tpot_ms",
    praise="A pace is time per token, and each user feels it. A rate is tokens per time, and the "
    "bill follows the rate of the server.",
)


# --- 0.4 FLOP/s ----------------------------------------------------------------------------------


def _draw_peak(draw: Draw) -> tuple[Given, ...]:
    return (given.peak(draw.facts.accelerator("L4"), "bf16"),)


FLOPS = Exercise(
    id="0.4",
    title="What does TFLOP/s mean?",
    objective=OBJECTIVE,
    points=0,
    tier=Tier.CORE,
    kind=Choice(
        (
            Option(
                "speed", "so many trillion additions or multiplications in every second, at most"
            ),
            Option("amount", "so many trillion additions or multiplications, to write one token"),
            Option("bytes", "so many trillion bytes read from memory in every second"),
            Option("clock", "so many trillion clock cycles in every second"),
        )
    ),
    statement=(
        "The L4's datasheet gives this peak, for numbers of 16 bits (BF16). FLOP stands for "
        "*floating-point operation*, T for a trillion, 10^12.\n\n"
        "**What does the number say?** Answer with one of the four words, in quotes."
    ),
    answer_name="tflops_means",
    draw=_draw_peak,
    reference=lambda _g: "speed",
    mistakes=(
        Mistake(
            Code.AMOUNT_NOT_RATE,
            "That would be an amount of work, FLOP. The `/s` makes it work per second, a speed. "
            "How much work a token is depends on the model, not on the chip.",
            lambda _g: "amount",
        ),
        Mistake(
            Code.BYTES_NOT_FLOP,
            "That is memory bandwidth, in GB/s or TB/s. A chip has both speeds, and the course is "
            "about which of them holds you back.",
            lambda _g: "bytes",
        ),
        Mistake(
            Code.CLOCK_NOT_WORK,
            "Clocks tick a few billion times per second. A GPU does many thousand operations in "
            "each tick, and those are counted.",
            lambda _g: "clock",
        ),
    ),
    hints=(
        "Take the unit apart: T, FLOP, /s.",
        "Work per time is a speed.",
        "TFLOP/s = 10^12 floating-point operations / second",
    ),
    solution='tflops_means = "speed"',
    praise="FLOP is work, FLOP/s is speed, and a peak is a promise that real work rarely reaches.",
)


# --- 0.5 a logarithmic axis ----------------------------------------------------------------------


def _draw_axis(_draw: Draw) -> tuple[Given, ...]:
    return (
        Given("left", 100, "GB/s", "the grid line left of the dot", "the figure"),
        Given("right", 1000, "GB/s", "the grid line right of the dot", "the figure"),
    )


LOG_AXIS = Exercise(
    id="0.5",
    title="Half way on a logarithmic axis",
    objective=OBJECTIVE,
    points=0,
    tier=Tier.CORE,
    kind=Choice(
        (
            Option("200", "about 200 GB/s"),
            Option("316", "about 316 GB/s"),
            Option("550", "550 GB/s"),
        )
    ),
    statement=(
        "On the axis above, each grid line stands for ten times the one before. The dot lies half "
        "way between two of them.\n\n"
        "**Which value does it show?** Answer with one of the three, in quotes."
    ),
    answer_name="dot_value",
    draw=_draw_axis,
    reference=lambda _g: "316",
    mistakes=(
        Mistake(
            Code.LINEAR_READING,
            "That is half way on a linear axis. On a logarithmic one equal steps multiply: half of "
            "a factor of 10 is a factor of √10 ≈ 3.2.",
            lambda _g: "550",
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "200 is twice the left line. Twice is less than a third of the way: two such steps "
            "make 4, three make 8, and the next line is at 10.",
            lambda _g: "200",
        ),
    ),
    hints=(
        "Two equal steps lead from the left line to the right one. Each multiplies by the same.",
        "A factor whose square is 10.",
        "dot = left · √(right / left)",
    ),
    solution='dot_value = "316"',
    praise="The same factor twice: 100 times 3.16 is 316, and 316 times 3.16 is 1,000.",
)

PREREQUISITES = (READ_A_FUNCTION, GIGABYTES, PACE, FLOPS, LOG_AXIS)
