"""Lab 04, exercise 4.13: by how much perplexity rises, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from labkit.contract.codes import Code
from labkit.contract.errors import LabkitError
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import IntervalKind
from labkit.exercises.kinds.intervals import (
    Interval,
    paired_bootstrap,
    paired_t,
    percentiles,
    spread,
    unpaired_bootstrap,
    welch,
)
from labkit.exercises.lab04_quantization.objectives import LOSS
from labkit.exercises.lab04_quantization.reading import (
    REFERENCE,
    as_percent,
    entries,
    label,
    losses,
)
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

DRAWN = ("q4_0", "bnb_nf4", "rtn4", "rtn3")
RESAMPLES = 4000
_PERCENT = IntervalKind("%")


def _draw(draw: Draw) -> tuple[Given, ...]:
    record = draw.records["quantization"]
    there = [key for key in DRAWN if key in entries(record)]
    if not there:
        raise LabkitError(
            "Your record has no 4-bit format to compare: run bench.quantization() again."
        )
    key = draw.rng.choice(there)
    return (
        Given("format", label(record, key), "", "your format", "drawn by your learner id"),
        Given(
            "reference_nll",
            losses(record, REFERENCE),
            "nats",
            "the reference: loss per token, one mean per window",
            "your record",
        ),
        Given("format_nll", losses(record, key), "nats", "your format, on the same windows"),
    )


def _pair(g: Givens) -> tuple[list[float], list[float]]:
    return g.reference_nll, g.format_nll


def _differences(g: Givens) -> list[float]:
    return [b - a for a, b in zip(*_pair(g), strict=True)]


@lru_cache(maxsize=16)
def _both(
    reference: tuple[float, ...], other: tuple[float, ...], level: float = 0.95
) -> tuple[Interval, ...]:
    drawn = paired_bootstrap(reference, other, level, resamples=RESAMPLES)
    return paired_t(reference, other, level), drawn


def _nats(g: Givens) -> tuple[Interval, ...]:
    """The interval of the mean difference, by both methods that are right."""
    return _both(tuple(g.reference_nll), tuple(g.format_nll))


def _rights(g: Givens) -> tuple[Interval, ...]:
    return tuple(map(as_percent, _nats(g)))


def _turned(
    g: Givens, turn: Callable[[float], float], *but: Callable[[float], float]
) -> tuple[Interval, ...] | None:
    """The ends by a wrong step 4; None where the right one, or one of `but`, ends alike."""
    found = tuple((turn(low), turn(high)) for low, high in _nats(g))
    others = [_rights(g), *(tuple((t(low), t(high)) for low, high in _nats(g)) for t in but)]
    return None if any(_PERCENT.same(found, other) for other in others) else found


def _sign(g: Givens) -> tuple[Interval, ...]:
    return tuple(as_percent((-high, -low)) for low, high in _nats(g))


def _unpaired(g: Givens) -> tuple[Interval, ...]:
    drawn = unpaired_bootstrap(*_pair(g), resamples=RESAMPLES)
    return as_percent(welch(*_pair(g))), as_percent(drawn)


def _single_windows(g: Givens) -> tuple[Interval, ...]:
    d = _differences(g)
    return as_percent(spread(d)), as_percent(percentiles(d))


def _other_levels(g: Givens) -> tuple[Interval, ...]:
    pair = tuple(g.reference_nll), tuple(g.format_nll)
    found = [each for level in (0.99, 0.9) for each in _both(*pair, level)]
    return tuple(map(as_percent, found))


# Each mistake as it ends after Student's t (or a formula like it), and after a bootstrap.
_WAYS: dict[Code, Callable[[Givens], tuple[Interval, ...] | None]] = {
    Code.UNPAIRED: _unpaired,
    Code.SPREAD_NOT_ERROR: _single_windows,
    Code.PREFIX: lambda g: _turned(g, math.expm1),
    Code.OTHER_QUANTITY: lambda g: _turned(g, lambda nats: nats, math.expm1),
    Code.MAGNITUDE: lambda g: _turned(g, lambda nats: 100 * nats),
    Code.FACTOR_NOT_RISE: lambda g: _turned(g, lambda nats: 100 * math.exp(nats)),
    Code.BASE_TWO: lambda g: _turned(g, lambda nats: 100 * (2**nats - 1)),
    Code.SIGN: _sign,
    Code.OTHER_LEVEL: _other_levels,
}


def _mistake(code: Code, says: str) -> Mistake:
    """A known mistake with its first way; the kind knows the others."""

    def value(g: Givens) -> Interval | None:
        ways = _WAYS[code](g)
        return ways[0] if ways else None

    return Mistake(code, says, value)


RISE = Exercise(
    id="4.13",
    title="How much worse, and how sure?",
    objective=LOSS,
    points=2,
    tier=Tier.OWN,
    kind=IntervalKind("%", ways=tuple(_WAYS.items())),
    statement=(
        "Your learner id has drawn a format of your record. Perplexity is `exp(mean loss)`, so it "
        "rises by the factor `exp(mean of the differences)`.\n\n"
        "**Give the 95 % interval of the rise of perplexity, in percent**, as `(low, high)`. Both "
        "lists belong to the same windows of text, in the same order. So work on the "
        "**differences**, window by window, with a bootstrap:\n\n"
        "1. `d`: format's loss minus reference's loss, in each window\n"
        "2. draw as many windows as there are, with replacement, and take the mean of their `d`; "
        "do this 2,000 times or more\n"
        "3. the 2.5th and the 97.5th percentile of those means are the interval, in nats\n"
        "4. turn each end into percent: `100 * (exp(end) − 1)`\n\n"
        "Another seed moves the ends a little; that is allowed for. Student's t passes too."
    ),
    answer_name="rise",
    draw=_draw,
    reference=_rights,
    mistakes=(
        _mistake(
            Code.UNPAIRED,
            "You treated the two lists as if they came from different texts. Some windows are hard "
            "for every format, and that is most of the scatter. Differences first: it cancels.",
        ),
        _mistake(
            Code.SPREAD_NOT_ERROR,
            "That is where single windows lie. Asked: where their mean lies. Resample all windows "
            "and take the mean of each resample.",
        ),
        _mistake(
            Code.PREFIX,
            "This is a share. Asked: percent. Multiply by 100.",
        ),
        _mistake(
            Code.OTHER_QUANTITY,
            "These are nats, the difference of losses. Asked: the rise of perplexity in percent, "
            "100 · (exp(end) − 1).",
        ),
        _mistake(
            Code.MAGNITUDE,
            "You multiplied nats by 100. That is close for small differences only: the rise is "
            "100 · (exp(end) − 1).",
        ),
        _mistake(
            Code.FACTOR_NOT_RISE,
            "You forgot to subtract 1: exp(end) is a factor, and a factor of 1 is no rise at all.",
        ),
        _mistake(
            Code.BASE_TWO,
            "You took a power of 2. The loss is in nats, with the natural logarithm: exp.",
        ),
        _mistake(
            Code.OTHER_LEVEL,
            "This is an interval of another level, such as 90 or 99 %. Asked: 95 %, from the 2.5th "
            "to the 97.5th percentile.",
        ),
        _mistake(
            Code.SIGN,
            "The wrong way round: format minus reference. A worse format has a positive rise.",
        ),
    ),
    hints=(
        "How hard a window is does not matter. What matters is how much harder this format finds "
        "it.",
        "Differences per window; resample them; percentiles of the means; then exp.",
        "d = b − a; means = d[rng.integers(0, n, (4000, n))].mean(axis=1); "
        "100 · (exp(percentile(means, [2.5, 97.5])) − 1)",
    ),
    solution=(
        "d = np.array(g.format_nll) - np.array(g.reference_nll)\n"
        "rng = np.random.default_rng(0)\n"
        "drawn = rng.integers(0, len(d), (10_000, len(d)))\n"
        "low, high = np.percentile(d[drawn].mean(axis=1), [2.5, 97.5])\n"
        "rise = (100 * (np.exp(low) - 1), 100 * (np.exp(high) - 1))"
    ),
    praise="A rise with its uncertainty. With it you can hold a format to a budget.",
    needs=("quantization",),
)
