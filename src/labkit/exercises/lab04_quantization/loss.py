"""Lab 04, exercise 4.13: by how much perplexity rises, and how sure that is."""

from __future__ import annotations

from labkit.contract.codes import Code
from labkit.contract.errors import LabkitError
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import IntervalKind
from labkit.exercises.kinds.intervals import (
    Interval,
    paired_bootstrap,
    paired_t,
    spread,
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
_KIND = IntervalKind("%")


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


def _rights(g: Givens) -> tuple[Interval, ...]:
    pair = (g.reference_nll, g.format_nll)
    return (
        as_percent(paired_bootstrap(*pair, resamples=RESAMPLES)),
        as_percent(paired_t(*pair)),
    )


def _differences(g: Givens) -> list[float]:
    return [b - a for a, b in zip(g.reference_nll, g.format_nll, strict=True)]


def _nats(g: Givens) -> Interval | None:
    """The interval of the difference itself, where it is not also the share."""
    found, share = paired_t(g.reference_nll, g.format_nll), _share(g)
    return None if _KIND.same(found, share) else found


def _share(g: Givens) -> Interval:
    low, high = as_percent(paired_t(g.reference_nll, g.format_nll))
    return low / 100, high / 100


def _hundred_nats(g: Givens) -> Interval | None:
    low, high = paired_t(g.reference_nll, g.format_nll)
    found = 100 * low, 100 * high
    return None if _KIND.same(found, _rights(g)) else found


RISE = Exercise(
    id="4.13",
    title="How much worse, and how sure?",
    objective=LOSS,
    points=2,
    tier=Tier.OWN,
    kind=_KIND,
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
        Mistake(
            Code.UNPAIRED,
            "You treated the two lists as if they came from different texts. Some windows are hard "
            "for every format, and that is most of the scatter. Differences first: it cancels.",
            lambda g: as_percent(welch(g.reference_nll, g.format_nll)),
        ),
        Mistake(
            Code.SPREAD_NOT_ERROR,
            "That is where single windows lie. Asked: where their mean lies. Resample all windows "
            "and take the mean of each resample.",
            lambda g: as_percent(spread(_differences(g))),
        ),
        Mistake(
            Code.PREFIX,
            "This is a share. Asked: percent. Multiply by 100.",
            _share,
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "These are nats, the difference of losses. Asked: the rise of perplexity in percent, "
            "100 · (exp(end) − 1).",
            _nats,
        ),
        Mistake(
            Code.MAGNITUDE,
            "You multiplied nats by 100. That is close for small differences only: the rise is "
            "100 · (exp(end) − 1).",
            _hundred_nats,
        ),
        Mistake(
            Code.OTHER_LEVEL,
            "This is a 99 % interval. Asked: 95 %, from the 2.5th to the 97.5th percentile.",
            lambda g: as_percent(paired_t(g.reference_nll, g.format_nll, 0.99)),
        ),
        Mistake(
            Code.SIGN,
            "The wrong way round: format minus reference. A worse format has a positive rise.",
            lambda g: as_percent(paired_t(g.format_nll, g.reference_nll)),
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
