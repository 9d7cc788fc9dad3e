"""Lab 06, exercises 6.2 and 6.8: tokens per verification, and how far to draft."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from labkit.bench.drafting.acceptance import expected_speedup, expected_tokens
from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import FunctionKind, Quantity, Tolerance
from labkit.exercises.lab06_attention.objectives import ENGINE, SPECULATION
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

LONGEST = 16
Choice = tuple[int, float]

ALPHA_IS = "chance that a drafted token is kept, if all before it were"


def gains(alpha: float, gamma: int, source: str = "assumed") -> tuple[Given, ...]:
    """Acceptance and draft length as givens."""
    return (
        Given("alpha", alpha, "", ALPHA_IS, source),
        Given("gamma", gamma, "tokens", "drafted per round", source),
    )


# --- 6.2 tokens per verification ---------------------------------------------------------------

EXPECTED = Exercise(
    id="6.2",
    title="Tokens per pass",
    objective=SPECULATION,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("tokens", Tolerance.FORMULA),
    statement=(
        "Each drafted token is kept with a chance of 0.8, provided that all before it were kept. "
        "The drafter proposes 5.\n\n"
        "**How many tokens does one pass of the target give on average?** The target's own token "
        "counts too."
    ),
    answer_name="tokens_per_pass",
    draw=lambda _draw: gains(0.8, 5),
    reference=lambda g: expected_tokens(g.alpha, g.gamma),
    mistakes=(
        Mistake(
            Code.LINEAR,
            "α · γ treats every draft by itself. What stands behind a refused token is lost, "
            "however good it was.",
            lambda g: g.alpha * g.gamma,
        ),
        Mistake(
            Code.PAST_REFUSAL,
            "5 is 1 + α · γ: that keeps good tokens behind a refused one, but acceptance stops at "
            "the first refusal. It is 1 ÷ (1 − α) as well: that never stops drafting.",
            lambda g: 1 + g.alpha * g.gamma,
        ),
        Mistake(
            Code.BONUS_FORGOTTEN,
            "The target's own token is missing: the exponent is γ + 1, or the sum goes up to α^γ.",
            lambda g: expected_tokens(g.alpha, g.gamma - 1),
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "These are the drafted tokens that are kept. The target adds one of its own to them.",
            lambda g: expected_tokens(g.alpha, g.gamma) - 1,
        ),
        Mistake(
            Code.ALL_ACCEPTED,
            "This is the best case: all five kept, and one more. On average it is less.",
            lambda g: float(g.gamma + 1),
        ),
    ),
    hints=(
        "One token is certain. The second comes if the first draft was right, the third if the "
        "first two were, and so on.",
        "1 + α + α² + … + α^γ: the chances that at least so many drafts were right, added up.",
        "(1 − α^(γ+1)) / (1 − α)",
    ),
    solution="tokens_per_pass = sum(g.alpha**i for i in range(g.gamma + 1))",
    praise="3.7 instead of 6: one refusal costs all drafts behind it.",
    claim="E121",
)


# --- 6.8 how far to draft ------------------------------------------------------------------------


def best_gamma(alpha: float, c: float) -> Choice:
    """The γ of 0 … 16 with the largest speed-up, and that speed-up."""
    return _best(lambda gamma: expected_speedup(alpha, gamma, c))


def _best(speedup: Callable[[int], float], first: int = 0) -> Choice:
    found = max(range(first, LONGEST + 1), key=lambda gamma: (round(speedup(gamma), 12), -gamma))
    return found, float(speedup(found))


def _draw_gamma(draw: Draw) -> tuple[Given, ...]:
    while True:
        alpha, c = draw.rng.randint(30, 95) / 100, draw.rng.randint(1, 60) / 100
        ranked = sorted((expected_speedup(alpha, n, c) for n in range(LONGEST + 1)), reverse=True)
        if ranked[0] > 1.002 * ranked[1]:
            return (
                Given("alpha", alpha, "", ALPHA_IS),
                Given("c", c, "", "one drafted token ÷ one step of the target"),
            )


def _edges(_g: Givens) -> tuple[tuple[float, float], ...]:
    """A free drafter, one too dear, one always wrong, one always right; one where all is one."""
    return ((0.9, 0.0), (0.8, 0.05), (0.7, 0.2), (0.3, 0.5), (0.0, 0.1), (1.0, 0.1), (1.0, 1.0))


def _describe(args: tuple[float, float]) -> str:
    alpha, c = args
    if alpha in (0.0, 1.0):
        return "α = 1" if alpha else "α = 0"
    if c == 0.0:
        return "a drafter that costs nothing"
    return "a drafter that never pays" if best_gamma(alpha, c)[0] == 0 else "a drafter that pays"


def _breach(args: tuple[float, float], result: Any) -> tuple[Code, str] | None:
    """What a result is that no known mistake makes."""
    gamma, speedup = (float(part) for part in result)
    if not (gamma.is_integer() and 0 <= gamma <= LONGEST):
        return Code.OTHER, "gamma must be a whole number from 0 to 16, and come first."
    right = expected_speedup(args[0], int(gamma), args[1])
    if math.isclose(speedup, right, rel_tol=0.003) and gamma != best_gamma(*args)[0]:
        return Code.NOT_BEST, (
            "The speed-up belongs to this γ, but another γ of 0 … 16 gains more, or as much with "
            "fewer drafts. Try them all."
        )
    return None


GAMMA = Exercise(
    id="6.8",
    title="How far to draft?",
    objective=SPECULATION,
    points=2,
    tier=Tier.TRANSFER,
    kind=FunctionKind(
        signature="best_gamma(alpha, c)",
        doc="→ (gamma, speedup): the best draft length of 0 … 16, and what it gains.",
        arguments=("alpha", "c"),
        edges=_edges,
        describe=_describe,
        special=lambda args: args[0] == 1.0,
        plain="α below 1",
        rel_tol=0.003,
        properties=(_breach,),
    ),
    statement=(
        "Write `best_gamma(alpha, c)`. It tries all draft lengths from **0 to 16** and returns the "
        "best one and its speed-up, as `(gamma, speedup)`.\n\n"
        "- `alpha`: the chance that a drafted token is kept, if all before it were\n"
        "- `c`: what one drafted token costs, in steps of the target\n"
        "- the speed-up of γ drafts is (1 + α + … + α^γ) ÷ (γ · c + 1)\n"
        "- γ = 0 means: do not speculate. It gains nothing and loses nothing, so its speed-up is "
        "1.\n\n"
        "`alpha` may be 1, and `c` may be 0. Where two lengths gain the same, take the shorter."
    ),
    answer_name="best_gamma",
    draw=_draw_gamma,
    reference=lambda _g: best_gamma,
    mistakes=(
        Mistake(
            Code.LIMIT_LEFT_OUT,
            "It never says 0. A drafter that is too dear makes things slower, and then the right "
            "answer is not to speculate.",
            lambda _g: lambda alpha, c: _best(lambda n: expected_speedup(alpha, n, c), first=1),
        ),
        Mistake(
            Code.FREE_DRAFT,
            "Your drafts cost nothing, so more always look better. Divide by γ · c + 1.",
            lambda _g: lambda alpha, _c: _best(lambda n: expected_tokens(alpha, n)),
        ),
        Mistake(
            Code.COST_ONCE,
            "You pay for one draft per round. There are γ of them: γ · c + 1.",
            lambda _g: (
                lambda alpha, c: _best(lambda n: expected_tokens(alpha, n) / (c * (n > 0) + 1))
            ),
        ),
        Mistake(
            Code.BONUS_FORGOTTEN,
            "The target's own token is missing: the sum goes up to α^γ, so it has γ + 1 terms.",
            lambda _g: (
                lambda alpha, c: _best(
                    lambda n: (expected_tokens(alpha, n - 1) if n else 0.0) / (n * c + 1)
                )
            ),
        ),
        Mistake(
            Code.PAST_REFUSAL,
            "You count α · γ + 1 tokens. Acceptance stops at the first refusal: "
            "1 + α + α² + … + α^γ.",
            lambda _g: lambda alpha, c: _best(lambda n: (1 + alpha * n) / (n * c + 1)),
        ),
    ),
    hints=(
        "A loop over 17 lengths, and the largest of 17 numbers.",
        "speed-up(γ) = (1 + α + … + α^γ) ÷ (γ · c + 1). For γ = 0 this is 1.",
        "max(range(17), key=lambda n: sum(alpha**i for i in range(n + 1)) / (n * c + 1))",
    ),
    solution='''\
def best_gamma(alpha, c):
    """→ (gamma, speedup): the best draft length of 0 … 16, and what it gains."""
    speedups = [sum(alpha**i for i in range(n + 1)) / (n * c + 1) for n in range(17)]
    gamma = speedups.index(max(speedups))
    return gamma, speedups[gamma]''',
    praise=(
        "A good drafter may draft far, a dear one hardly at all. Engines let you set this length: "
        "`num_speculative_tokens` in vLLM."
    ),
    claim="E121",
    forbids=ENGINE,
)
