"""Lab 06, exercises 6.13 and 6.14: the formula beside the learner's own record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from labkit.bench.drafting.acceptance import expected_speedup, expected_tokens, gain
from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.contract.record import Record
from labkit.exercises.kinds import Quantity, Tolerance
from labkit.exercises.lab06_attention.objectives import SPECULATION
from labkit.exercises.lab06_attention.records import (
    COPY,
    OPEN,
    fact,
    lookup,
    number,
    of_run,
    own,
    own_mistakes,
    runs,
    unusable,
)
from labkit.exercises.spec import Draw, Exercise, Tier

# --- 6.13 what a verification costs ----------------------------------------------------------


def _complete(run: Mapping[str, Any]) -> bool:
    return all(run.get(key) for key in ("alpha", "c", "verify_over_step"))


def _draw_6_13(draw: Draw) -> tuple[Given, ...]:
    record = draw.records["speculation"]
    run = lookup(record, COPY, _complete)
    return (
        of_run(record, run, "alpha", "prompt lookup on the copy prompt: α"),
        of_run(record, run, "gamma", "drafted per round", "tokens"),
        of_run(record, run, "c", "one drafted token ÷ one step"),
        of_run(record, run, "verify_over_step", "a pass over γ + 1 tokens ÷ one step"),
        of_run(record, run, "speedup", "speed-up as measured", "x"),
    )


def corrected(g: Givens) -> float:
    """The formula with what a pass over the whole draft really costs."""
    return expected_speedup(g.alpha, g.gamma, g.c, g.verify_over_step)


REALITY = Exercise(
    id="6.13",
    title="The pass that is not free",
    objective=SPECULATION,
    points=1,
    tier=Tier.OWN,
    kind=Quantity("x", Tolerance.FORMULA),
    statement=(
        "The published formula divides by γ · c + **1**: it takes a pass over γ + 1 tokens to cost "
        "as much as a step with one. Your record has timed both. Put the real cost of the pass "
        "where the 1 stands.\n\n"
        "**Which speed-up does the formula then expect on the copy prompt?** Your α may be 1: then "
        "add up 1 + α + … + α^γ instead of dividing by 1 − α."
    ),
    answer_name="expected_speedup",
    draw=_draw_6_13,
    reference=corrected,
    mistakes=own_mistakes(
        corrected,
        (
            Code.VERIFY_IS_FREE,
            "This is the published formula, with the 1. Put verify_over_step in its place.",
            lambda g: expected_speedup(g.alpha, g.gamma, g.c),
        ),
        (
            Code.SUM_OF_ROOFS,
            "You added the pass to the 1. It takes the 1's place: γ · c + verify_over_step.",
            lambda g: expected_speedup(g.alpha, g.gamma, g.c, 1 + g.verify_over_step),
        ),
        (
            Code.EXPECTATION_NOT_MEASUREMENT,
            "This is the speed-up that was measured. Asked: what the formula expects.",
            lambda g: g.speedup,
        ),
        (
            Code.BONUS_FORGOTTEN,
            "The target's own token is missing: 1 + α + … + α^γ has γ + 1 terms.",
            lambda g: (
                expected_tokens(g.alpha, int(g.gamma) - 1) / (g.gamma * g.c + g.verify_over_step)
            ),
        ),
    ),
    hints=(
        "Only one number of the formula changes.",
        "(1 + α + … + α^γ) ÷ (γ · c + verify_over_step).",
        "sum(alpha**i for i in range(gamma + 1)) / (gamma · c + verify_over_step)",
    ),
    solution=(
        "tokens = sum(g.alpha**i for i in range(int(g.gamma) + 1))\n"
        "expected_speedup = tokens / (g.gamma * g.c + g.verify_over_step)"
    ),
    praise=(
        "The published formula takes a pass over many tokens for one step. On your machine it "
        "costs more. What distance is left to your measurement, the next cell explains."
    ),
    claim="E121",
    needs=("speculation",),
)


# --- 6.14 a full batch -----------------------------------------------------------------------


def _draw_6_14(draw: Draw) -> tuple[Given, ...]:
    record = draw.records["speculation"]
    batches, ratios = (fact(record, "batches", key) for key in ("batch", "verify_over_step"))
    gamma = number(record, "batches.gamma", fact(record, "batches", "gamma"))
    if not isinstance(batches, list) or not isinstance(ratios, list):
        raise unusable(record, "batches")
    if len(batches) != len(ratios) or len(batches) < 2:
        raise unusable(record, "batches")
    name = f"lookup{gamma:g}"
    found = {prompt: runs(record, prompt).get(name) for prompt in (COPY, OPEN)}
    if found[COPY] is None or found[OPEN] is None:
        raise unusable(record, f"run of {name!r}")
    return (
        Given("gamma", gamma, "tokens", "drafted per round", own(record)),
        Given("batch", number(record, "batch", batches[-1]), "sequences", "the largest batch"),
        Given(
            "verify_over_step",
            number(record, "verify_over_step", ratios[-1]),
            "",
            "at that batch: γ + 1 tokens each ÷ one token each",
            own(record),
        ),
        Given(
            "alone_verify_over_step",
            number(record, "verify_over_step", ratios[0]),
            "",
            f"the same at batch {batches[0]}",
            own(record),
        ),
        *(item for prompt, run in found.items() for item in _counts(record, prompt, run or {})),
    )


def _counts(record: Record, prompt: str, run: Mapping[str, Any]) -> tuple[Given, ...]:
    what = f"run on {prompt!r}"
    passes = number(record, what, run.get("target_forwards"))
    return (
        Given(
            f"{prompt}_tokens",
            number(record, what, run.get("tokens_per_forward")),
            "tokens",
            f"{prompt} prompt: tokens per pass of the target",
            own(record),
        ),
        Given(
            f"{prompt}_drafted",
            number(record, what, run.get("rounds_with_draft")) / passes,
            "",
            f"{prompt} prompt: share of the passes that had a draft to check",
            own(record),
        ),
    )


def crowded(g: Givens, verify: float | None = None) -> float:
    """Speed-up at the largest batch, drafting itself taken as free."""
    return gain(g.copy_tokens, g.copy_drafted, g.verify_over_step if verify is None else verify)


CROWDED = Exercise(
    id="6.14",
    title="The same trick in a full batch",
    objective=SPECULATION,
    points=1,
    tier=Tier.OWN,
    kind=Quantity("x", Tolerance.FORMULA),
    statement=(
        "Now many users at once, all with text like the copy prompt. Your record says what a pass "
        "over γ + 1 tokens of every sequence costs at the largest batch, in steps with one token "
        "of every sequence: `verify_over_step`.\n\n"
        "Prompt lookup does not always find something. A share `copy_drafted` of the passes has a "
        "draft to check and costs `verify_over_step`; the others cost 1, a plain step. Looking up "
        "costs next to nothing.\n\n"
        "**By which factor does speculation speed up decoding at the largest batch?** Below 1 "
        "means slower."
    ),
    answer_name="crowded_speedup",
    draw=_draw_6_14,
    reference=crowded,
    mistakes=own_mistakes(
        crowded,
        (
            Code.BATCH_IGNORED,
            "This is the speed-up at the smallest batch. Take the cost of a pass at the largest "
            "one.",
            lambda g: crowded(g, g.alone_verify_over_step),
        ),
        (
            Code.CONDITION_IGNORED,
            "You let every pass check a draft. A pass without one costs a plain step: "
            "copy_drafted · verify_over_step + (1 − copy_drafted).",
            lambda g: g.copy_tokens / g.verify_over_step,
        ),
        (
            Code.VERIFY_FORGOTTEN,
            "The passes without a draft are missing in the cost: each of them is a plain step, "
            "(1 − copy_drafted) · 1.",
            lambda g: g.copy_tokens / (g.copy_drafted * g.verify_over_step),
        ),
        (
            Code.SUM_OF_ROOFS,
            "You gave every pass a plain step on top. Only those without a draft cost one: "
            "1 − copy_drafted.",
            lambda g: g.copy_tokens / (g.copy_drafted * g.verify_over_step + 1),
        ),
        (
            Code.VERIFY_IS_FREE,
            "These are the tokens per pass. The pass costs more than one step: divide by that.",
            lambda g: g.copy_tokens,
        ),
        (
            Code.ALL_ACCEPTED,
            "You counted γ + 1 tokens per pass, as if no draft were ever refused. Take what your "
            "record counted.",
            lambda g: gain(g.gamma + 1, g.copy_drafted, g.verify_over_step),
        ),
        (
            Code.OTHER_QUANTITY,
            "This is the open prompt. Asked: text like the copy prompt.",
            lambda g: gain(g.open_tokens, g.open_drafted, g.verify_over_step),
        ),
        (
            Code.INVERTED,
            "Upside down: this is how much longer it takes.",
            lambda g: 1 / crowded(g),
        ),
    ),
    hints=(
        "What a pass gives on average, divided by what a pass costs on average.",
        "Tokens per pass, divided by: share with a draft times verify_over_step, plus share "
        "without a draft times 1.",
        "copy_tokens / (copy_drafted · verify_over_step + 1 − copy_drafted)",
    ),
    solution=(
        "cost = g.copy_drafted * g.verify_over_step + (1 - g.copy_drafted) * 1\n"
        "crowded_speedup = g.copy_tokens / cost"
    ),
    praise=(
        "A batch and a draft compete for the same thing: the compute that idles while weights are "
        "read. When the batch has used it up, a draft must pay for its tokens."
    ),
    claim="E121",
    needs=("speculation",),
)

REALITY_EXERCISES = (REALITY, CROWDED)
