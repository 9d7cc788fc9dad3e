"""Lab 04, exercise 4.8: the smallest format within the loss that the learner accepts."""

from __future__ import annotations

from typing import Any

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import DecisionKind, Stated
from labkit.exercises.kinds.decision import Numbers
from labkit.exercises.lab04_quantization.objectives import LOSS
from labkit.exercises.lab04_quantization.reading import (
    REFERENCE,
    label,
    losses,
    number,
    ranked,
    rise,
    rise_interval,
)
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

BUDGET, FORMAT = "budget_percent", "format"
LOW, HIGH = 0.5, 50.0
MB = 1e6


def _draw(draw: Draw) -> tuple[Given, ...]:
    """One given per format, largest first: [MB, rise, upper end of the rise]."""
    record = draw.records["quantization"]
    rows = []
    for key in ranked(record):
        pair = losses(record, REFERENCE), losses(record, key)
        value = [number(record, key, "weight_bytes") / MB, rise(*pair), rise_interval(*pair)[1]]
        rows.append(Given(key, value, "", f"{label(record, key)}: MB; rise in %; its upper end"))
    return tuple(rows)


def _within(g: Givens, budget: float, *, point: bool = False) -> list[str]:
    """Formats whose rise keeps the budget: by its upper end, or by the point alone."""
    return [key for key in g if g[key][1 if point else 2] <= budget]


def _smallest(g: Givens, keys: list[str]) -> frozenset[str]:
    """Those of the fewest bytes; more than one where two take the same."""
    least = min((g[key][0] for key in keys), default=0.0)
    return frozenset(key for key in keys if g[key][0] == least)


def _right(g: Givens, stated: Numbers) -> frozenset[str]:
    return _smallest(g, _within(g, stated[BUDGET]))


def _why(g: Givens, stated: Numbers, chosen: str) -> Code | None:
    budget = stated[BUDGET]
    if chosen not in g:
        return Code.REFUSED
    if chosen in _within(g, budget):
        return Code.NOT_SMALLEST
    return (
        Code.INTERVAL_IGNORED if chosen in _within(g, budget, point=True) else Code.OVER_THE_BUDGET
    )


def _answer(budget: float, key: str) -> dict[str, Any]:
    return {BUDGET: budget, FORMAT: key}


def _reference(g: Givens) -> dict[str, Any]:
    return _answer(5.0, min(_right(g, {BUDGET: 5.0})))


def _over(g: Givens) -> dict[str, Any] | None:
    worst = max(g, key=lambda key: float(g[key][1]))
    return _answer(LOW, worst) if g[worst][1] > LOW else None


def _by_the_point(g: Givens) -> dict[str, Any] | None:
    """A budget between a format's rise and its upper end, and that format."""
    for key in g:
        _, point, high = g[key]
        budget = (point + high) / 2
        if LOW <= budget <= HIGH and point <= budget < high:
            return _answer(budget, key)
    return None


DECIDE = Exercise(
    id="4.8",
    title="Your budget, your format",
    objective=LOSS,
    points=2,
    tier=Tier.OWN,
    kind=DecisionKind(
        stated=(Stated(BUDGET, "%", LOW, HIGH, "largest rise of perplexity that you accept"),),
        choice=FORMAT,
        options=list,
        right=_right,
        why=_why,
    ),
    statement=(
        "Say how much worse you let the model become: a rise of perplexity in percent. Any budget "
        f"from {LOW:g} to {HIGH:g} is right. For a chat you may accept another one than for a "
        "medical text.\n\n"
        "Then choose the **smallest format whose whole interval keeps it**: the upper end counts, "
        "because the true rise may lie there. The givens list each format of your record, largest "
        "first, as `[MB, rise in %, upper end in %]`. (Q4_1 is missing where 4.12 forbids to rank "
        "it.) "
        "Write the format's short name as a text: what stands after `g.`, such as "
        '`"q8_0"`.\n\n'
        "**Your budget, and the format that follows from it?**"
    ),
    answer_name="decision",
    draw=_draw,
    reference=_reference,
    mistakes=(
        Mistake(
            Code.OVER_THE_BUDGET,
            "This format's rise is above your own budget. Take a larger format, or defend a larger "
            "budget.",
            _over,
        ),
        Mistake(
            Code.NOT_SMALLEST,
            "It keeps your budget, but a smaller one does so too. Look further down the list.",
            lambda g: _answer(HIGH, REFERENCE),
        ),
        Mistake(
            Code.INTERVAL_IGNORED,
            "Its measured rise keeps your budget, but its interval reaches over it: on other pages "
            "of text it may well be too much. The upper end decides.",
            _by_the_point,
        ),
        Mistake(
            Code.REFUSED,
            "Something keeps this budget: the reference itself has no rise at all.",
            lambda g: _answer(10.0, "none"),
        ),
    ),
    hints=(
        "First the budget, before you look at the numbers. Then two conditions: it keeps the "
        "budget, and nothing smaller does.",
        "Keep the formats whose upper end is at most the budget; of these take the fewest MB.",
        "min((k for k in g if g[k][2] <= budget), key=lambda k: g[k][0])",
    ),
    solution=(
        "budget = 5\n"
        "kept = [name for name in g if g[name][2] <= budget]\n"
        'decision = {"budget_percent": budget, "format": min(kept, key=lambda name: g[name][0])}'
    ),
    praise=(
        "A decision that somebody can check: budget first, then the numbers. On your own task the "
        "budget is in your own metric, and the procedure is the same."
    ),
    claim="E146",
    needs=("quantization",),
)
