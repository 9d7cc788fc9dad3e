"""Lab 05, exercises 5.8 and 5.12: what an engine gains, with its interval, and for whom."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable

from labkit.contract.codes import Code
from labkit.contract.errors import LabkitError
from labkit.contract.givens import Given, Givens
from labkit.contract.record import Record
from labkit.exercises.kinds import Choice, IntervalKind, Option
from labkit.exercises.kinds.intervals import Interval, mean_normal, mean_t, paired_t
from labkit.exercises.lab05_batching.queue import SCHEDULING
from labkit.exercises.lab05_batching.records import (
    PAIRS,
    fact,
    first_with,
    label,
    median,
    numbers,
    of_record,
)
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

# --- 5.8 a speed-up and its interval ---------------------------------------------------------

KIND = IntervalKind("x")


def rates(record: Record, mode: str) -> list[float]:
    """Useful tokens per CPU-second, one a round. Raises LabkitError for fewer than five."""
    found = numbers(record, "modes", mode, "cpu_rate")
    if len(found) < PAIRS:
        raise LabkitError(
            f"Your record has {len(found)} rounds; an interval needs {PAIRS}. Run bench.engines() "
            "without quick=True, or take bench.engines(replay=True)."
        )
    return found


def _draw_speedup(draw: Draw) -> tuple[Given, ...]:
    record = draw.records["engines"]
    one, many = rates(record, "sequential"), rates(record, "continuous")
    if len(one) != len(many):
        raise LabkitError("Your record has rounds without a partner: run bench.engines() again.")
    unit = "tok/s" if fact(record, "seconds") == "wall" else "tok/CPU-s"
    return (
        of_record(record, ("modes", "sequential"), "sequential", one, unit, "one at a time"),
        of_record(record, ("modes", "continuous"), "continuous", many, unit, "continuous batching"),
    )


def _ratios(g: Givens) -> list[float]:
    return [many / one for one, many in zip(g.sequential, g.continuous, strict=True)]


def _interval(g: Givens) -> Interval:
    return mean_t(_ratios(g))


def _ends_divided(g: Givens) -> Interval:
    one, many = mean_t(g.sequential), mean_t(g.continuous)
    return many[0] / one[1], many[1] / one[0]


def _root_forgotten(ratios: list[float]) -> Interval:
    """Mean ± t · s."""
    middle, low = statistics.fmean(ratios), mean_t(ratios)[0]
    half = (middle - low) * math.sqrt(len(ratios))
    return middle - half, middle + half


def _inverted(g: Givens) -> Interval:
    return mean_t([1 / ratio for ratio in _ratios(g)])


_WRONG: dict[Code, Callable[[Givens], Interval]] = {
    Code.NORMAL_NOT_T: lambda g: mean_normal(_ratios(g)),
    Code.SPREAD_NOT_ERROR: lambda g: _root_forgotten(_ratios(g)),
    Code.RAW_MEANS: _ends_divided,
    Code.INVERTED: _inverted,
    Code.OTHER_QUANTITY: lambda g: paired_t(g.sequential, g.continuous),
    Code.OTHER_LEVEL: lambda g: mean_t(_ratios(g), 0.99),
}


def wrong_interval(code: Code, g: Givens) -> Interval | None:
    """A known mistake's interval; None where it cannot be told from a right or an earlier one."""
    seen = [_interval(g)]
    for name, make in _WRONG.items():
        value = make(g)
        near = any(KIND.same(value, other) for other in seen)
        if name is code:
            return None if near else value
        seen.append(value)
    return None


def _mistake(code: Code, says: str) -> Mistake:
    return Mistake(code, says, lambda g: wrong_interval(code, g))


SPEEDUP = Exercise(
    id="5.8",
    title="How much faster, and how sure?",
    objective=SCHEDULING,
    points=2,
    tier=Tier.OWN,
    kind=KIND,
    statement=(
        "One speed-up from one run is an anecdote. Your record has several rounds. In each, some "
        "requests were served one at a time and all of them with continuous batching, right after "
        "one another. The two rates of a round are a *pair*: what slowed the machine down in that "
        "round slowed both.\n\n"
        "Take the speed-up of each round, continuous ÷ sequential. Then give the **95 % confidence "
        "interval of their mean**:\n\n"
        "> mean ± t · s / √n\n\n"
        "with *n* rounds, *s* the standard deviation of the speed-ups (`statistics.stdev`) and *t* "
        "from Student's distribution with *n* − 1 degrees of freedom: 2.776 for five rounds, "
        "2.571 for six, 2.447 for seven. **Hand in the pair (low, high).**"
    ),
    answer_name="speedup",
    draw=_draw_speedup,
    reference=_interval,
    mistakes=(
        _mistake(
            Code.NORMAL_NOT_T,
            "You used 1.96. That is for many runs; with five the standard deviation itself is "
            "uncertain, and t is 2.776.",
        ),
        _mistake(
            Code.SPREAD_NOT_ERROR,
            "This is where single rounds lie. Asked: where their mean lies. Divide the standard "
            "deviation by √n.",
        ),
        _mistake(
            Code.RAW_MEANS,
            "You divided the ends of two separate intervals. The rounds are pairs: divide within "
            "each round first, and what disturbed both sides cancels.",
        ),
        _mistake(
            Code.INVERTED,
            "This is sequential ÷ continuous. Asked: how many times faster continuous batching is.",
        ),
        _mistake(
            Code.OTHER_QUANTITY,
            "This is the difference in tokens per CPU-second. Asked: the ratio, a speed-up.",
        ),
        _mistake(
            Code.OTHER_LEVEL,
            "This is the 99 % interval. Asked: 95 %.",
        ),
    ),
    hints=(
        "One number per round first. From then on it is an interval of a mean.",
        "Ratios of the rounds; their mean; their standard deviation divided by the root of their "
        "number; times t.",
        "m ± 2.776 · s / √5 with m = fmean(ratios), s = stdev(ratios)",
    ),
    solution=(
        "from statistics import fmean, stdev\n\n"
        "ratios = [many / one for one, many in zip(g.sequential, g.continuous)]\n"
        "n = len(ratios)\n"
        "t = {5: 2.776, 6: 2.571, 7: 2.447}[n]\n"
        "half = t * stdev(ratios) / n**0.5\n"
        "speedup = (fmean(ratios) - half, fmean(ratios) + half)"
    ),
    praise=(
        "If the interval does not reach down to 1, the gain is real on your machine. How large it "
        "is elsewhere the interval does not say."
    ),
    claim="E107",
    needs=("engines",),
)


# --- 5.12 nobody to batch with ---------------------------------------------------------------

SAME = (0.75, 1.5)  # at one user, × the plain loop: what is little or nothing beside the crowd
_ENGINES = ("vllm", "continuous")


def _draw_alone(draw: Draw) -> tuple[Given, ...]:
    record = draw.records["engines"]
    mode = first_with(record, "modes", "alone", _ENGINES)
    name = label(record, "modes", mode)
    return (
        of_record(
            record,
            ("modes", mode),
            "alone",
            median(record, "modes", mode, "alone"),
            "x",
            f"{name}, one request at a time: rate ÷ plain generate's",
        ),
        of_record(
            record,
            ("modes", mode),
            "together",
            median(record, "modes", mode, "speedup"),
            "x",
            f"{name}, all requests at once: rate ÷ plain generate's",
        ),
    )


def alone(g: Givens) -> str:
    """What the record says about one user."""
    low, high = SAME
    if g.alone > high:
        return "always"
    return "crowd" if g.alone >= low else "cost"


def _unless(key: str, g: Givens) -> str | None:
    return None if key == alone(g) else key


ALONE = Exercise(
    id="5.12",
    title="Prove or refute: vLLM always wins",
    objective=SCHEDULING,
    points=1,
    tier=Tier.OWN,
    kind=Choice(
        (
            Option("always", f"it wins alone too: more than {SAME[1]} times plain generate"),
            Option(
                "crowd",
                f"alone it gains little or nothing ({SAME[0]} to {SAME[1]} times plain generate): "
                "its gain comes with the crowd",
            ),
            Option("cost", f"alone it is slower, less than {SAME[0]} times: it costs to run"),
        )
    ),
    statement=(
        "You will read that a serving engine makes a model so many times faster. Your record has "
        "the same engine twice: with all requests at once, and with **one request at a time**, "
        "nobody to share a step with. Both are compared with plain `generate`.\n\n"
        "**What does it say about the engine with a single user?**"
    ),
    answer_name="single_user",
    draw=_draw_alone,
    reference=alone,
    mistakes=(
        Mistake(
            Code.EXPECTATION_NOT_MEASUREMENT,
            "Look at the number for one request at a time, not at that of the crowd: alone it is "
            f"not more than {SAME[1]} times as fast.",
            lambda g: _unless("always", g),
        ),
        Mistake(
            Code.UNSUPPORTED_CAUSE,
            f"Your record puts the single user outside of {SAME[0]} to {SAME[1]} times. Look at "
            "g.alone again.",
            lambda g: _unless("crowd", g),
        ),
        Mistake(
            Code.INVERTED,
            f"Your record does not show that: alone the engine reaches at least {SAME[0]} times "
            "the rate of plain generate.",
            lambda g: _unless("cost", g),
        ),
    ),
    hints=(
        "Two numbers are given. Which of them is about a single user?",
        f"Compare g.alone with {SAME[0]} and {SAME[1]}.",
        f'"always" if alone > {SAME[1]}, "cost" if alone < {SAME[0]}, else "crowd"',
    ),
    solution=(
        f"if g.alone > {SAME[1]}:\n"
        '    single_user = "always"\n'
        "else:\n"
        f'    single_user = "crowd" if g.alone >= {SAME[0]} else "cost"'
    ),
    praise=(
        "With one user every step reads all weights for one token, whoever schedules it (Lab 01). "
        "An engine shares steps. What it gains alone comes from better kernels and less Python: "
        "little where reading the weights takes most of the step, more where a fast GPU waits for "
        "a slow loop."
    ),
    claim="E115",
    needs=("engines",),
)

SPEEDUP_EXERCISES = (SPEEDUP, ALONE)
