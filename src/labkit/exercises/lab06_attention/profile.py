"""Lab 06, exercise 6.11: profile before optimising; what faster attention could gain at most."""

from __future__ import annotations

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import Quantity, Tolerance
from labkit.exercises.lab06_attention.objectives import ATTENTION
from labkit.exercises.lab06_attention.records import (
    entries,
    fact,
    number,
    own,
    own_mistakes,
    unusable,
)
from labkit.exercises.spec import Draw, Exercise, Tier

_ATTENTION = ("attention", "sdpa", "flash", "fmha")


def is_attention(name: str) -> bool:
    """Whether an operator's name is that of an attention kernel."""
    return any(word in name.lower() for word in _ATTENTION)


def _draw(draw: Draw) -> tuple[Given, ...]:
    record = draw.records["attention"]
    operators = [
        *entries(record, "profile", "operators"),
        *(
            entries(record, "profile", "gpu_kernels")
            if fact(record, "profile", "gpu_kernels")
            else ()
        ),
    ]
    spent = [(str(o.get("name")), number(record, "self_ms", o.get("self_ms"))) for o in operators]
    found = sum(ms for name, ms in spent if is_attention(name))
    # The list has the ten largest: what is not among them takes no more than the last of them.
    label = "in attention's own operators"
    if not found:
        found, label = min(ms for _, ms in spent), "attention: at most (not among the ten largest)"
    whole = number(record, "profiled_ms", fact(record, "profile", "profiled_ms"))
    largest, largest_ms = max(spent, key=lambda pair: pair[1])
    if found > whole or largest_ms > whole:
        raise unusable(record, "profile: an operator takes longer than the step")
    computing = fact(record, "profile", "kernel_ms")
    kernel = number(record, "kernel_ms", computing) if computing is not None else whole
    return (
        Given("step_ms", whole, "ms", "one decode step, under the profiler", own(record)),
        Given("kernel_ms", kernel, "ms", "of that, in operators that compute", own(record)),
        Given("attention_ms", found, "ms", label, own(record)),
        Given("largest_ms", largest_ms, "ms", f"the largest operator, {largest}", own(record)),
    )


def _percent(g: Givens) -> float:
    return float(100 * g.attention_ms / g.step_ms)


PROFILE = Exercise(
    id="6.11",
    title="Profile before you optimise",
    objective=ATTENTION,
    points=1,
    tier=Tier.OWN,
    kind=Quantity("%", Tolerance.FORMULA),
    statement=(
        "Suppose somebody sells you an attention kernel for **decode** that takes no time at all. "
        "Your profile says what that would be worth.\n\n"
        "**By how many percent would one decode step get shorter, at most?**"
    ),
    answer_name="at_most_percent",
    draw=_draw,
    reference=_percent,
    mistakes=own_mistakes(
        _percent,
        (
            Code.CONDITION_IGNORED,
            "You divided by the time in kernels. The step is longer: it also contains what Python "
            "and PyTorch do around them.",
            lambda g: 100 * g.attention_ms / g.kernel_ms,
        ),
        (
            Code.OTHER_QUANTITY,
            "This is the share of the largest operator. Asked: attention's.",
            lambda g: 100 * g.largest_ms / g.step_ms,
        ),
        (
            Code.INVERTED,
            "This is what would be left of the step. Asked: what goes away.",
            lambda g: 100 - _percent(g),
        ),
        (
            Code.PREFIX,
            "This is a share between 0 and 1. Asked: percent.",
            lambda g: _percent(g) / 100,
        ),
    ),
    hints=(
        "What goes away, divided by what there was.",
        "Attention's milliseconds over the whole step's, times 100.",
        "100 · attention_ms / step_ms",
    ),
    solution="at_most_percent = 100 * g.attention_ms / g.step_ms",
    praise=(
        "That is the most that any attention kernel can give this step. Look for your time where "
        "the profile says it is. With a long prompt, or a long context, the same profile looks "
        "different."
    ),
    claim="E117",
    needs=("attention",),
)
