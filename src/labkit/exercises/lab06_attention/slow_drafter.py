"""Lab 06, exercises 6.4 and 6.5: a published drafter that is slower than its target."""

from __future__ import annotations

import math

from labkit.bench.drafting.acceptance import expected_speedup, expected_tokens
from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises import given
from labkit.exercises.kinds import Quantity, Tolerance
from labkit.exercises.lab06_attention.expected import gains
from labkit.exercises.lab06_attention.objectives import SPECULATION
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier
from labkit.sizing import streamed_weight_bytes

DRAFTER, TARGET, CARD = "llama-2-7b", "llama-2-70b", "A10G"
TARGET_GPUS = 4


def _design(draw: Draw) -> tuple[Given, ...]:
    """What each of the two reads per token, and how fast."""
    facts = draw.facts
    small, large = facts.model(DRAFTER), facts.model(TARGET)
    return (
        Given(
            "drafter_gb",
            round(streamed_weight_bytes(small, facts.format("fp16")) / 1e9, 4),
            "GB",
            f"{small.name} in FP16: read per token",
            "streamed: without the input embedding",
        ),
        Given(
            "target_gb",
            round(streamed_weight_bytes(large, facts.format("int4")) / 1e9, 4),
            "GB",
            f"{large.name} in INT4: read per token",
            "streamed: scales and the 16-bit head included",
        ),
        Given("drafter_gpus", 1, "", "GPUs that hold the drafter", "the chapter"),
        Given("target_gpus", TARGET_GPUS, "", "GPUs that share the target", "the chapter"),
        given.bandwidth(facts.accelerator(CARD)),
        Given("drafter_params", small.params.total, "parameters", f"{small.name}, stored"),
        Given("target_params", large.params.total, "parameters", f"{large.name}, stored"),
    )


def cost(g: Givens) -> float:
    """Draft step over target step; a sharded model reads on all its GPUs at once."""
    drafter_ms = g.drafter_gb / (g.drafter_gpus * g.bandwidth_gbps)
    return float(drafter_ms / (g.target_gb / (g.target_gpus * g.bandwidth_gbps)))


def _by_size(g: Givens) -> float:
    return float(g.drafter_params / g.target_params)


def _by_name(g: Givens) -> float:
    """Between the ratio of the sizes and 7 / 70, so that either is recognised."""
    return math.sqrt(_by_size(g) * 7 / 70)


COST = Exercise(
    id="6.4",
    title="What does this drafter cost?",
    objective=SPECULATION,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("", Tolerance.SPEC),
    statement=(
        "A published chapter puts a Llama-2-7B as the drafter on GPU 0 and a 70B model as the "
        "target on GPUs 1 to 4 of a `g5`. In FP16 the 70B does not fit onto four A10G (the cell "
        "above), so give it INT4 weights. The drafter stays in FP16. Four GPUs read their quarters "
        "at the same time. Take reading the weights as the whole step; forget the cache and the "
        "links between the GPUs.\n\n"
        "**What is c: the time of one drafter step, divided by that of one target step?**"
    ),
    answer_name="c_design",
    draw=_design,
    reference=cost,
    mistakes=(
        Mistake(
            Code.SIZE_NOT_TIME,
            "This is the ratio of the sizes. c is a ratio of times: the target has four times the "
            "bandwidth, and a quarter of the bytes per weight.",
            _by_name,
        ),
        Mistake(
            Code.ONE_DEVICE,
            "You let one GPU read the whole target. Four of them share it, each reads a quarter, "
            "all at once.",
            lambda g: cost(g) / g.target_gpus,
        ),
        Mistake(
            Code.BYTES_PER_WEIGHT,
            "Both have the same bytes per weight here. The drafter is in FP16, the target in INT4.",
            lambda g: g.target_gpus * _by_size(g),
        ),
        Mistake(
            Code.SCALES_FORGOTTEN,
            "You gave every parameter of the target half a byte, and read the drafter's input "
            "embedding as well. Use the bytes that are given: they are what a step reads.",
            lambda g: g.target_gpus * (2 * g.drafter_params) / (0.5 * g.target_params),
        ),
        Mistake(
            Code.INVERTED,
            "Upside down: c is the drafter's step divided by the target's.",
            lambda g: 1 / cost(g),
        ),
    ),
    hints=(
        "Two times in milliseconds: bytes ÷ bandwidth. Which bandwidth does each of them have?",
        "Drafter: its bytes over one GPU's bandwidth. Target: its bytes over four GPUs' bandwidth.",
        "c = (drafter_gb / bw) / (target_gb / (4 · bw))",
    ),
    solution=(
        "drafter_ms = 1e3 * g.drafter_gb / (g.drafter_gpus * g.bandwidth_gbps)\n"
        "target_ms = 1e3 * g.target_gb / (g.target_gpus * g.bandwidth_gbps)\n"
        "c_design = drafter_ms / target_ms"
    ),
    praise="Ten times smaller, and slower all the same. Compare times, never sizes.",
    claim="E082",
)


def _draw_6_5(draw: Draw) -> tuple[Given, ...]:
    return (*gains(0.8, 5), *_design(draw))


def _speedup(g: Givens, c: float) -> float:
    return expected_speedup(g.alpha, g.gamma, c)


SLOWDOWN = Exercise(
    id="6.5",
    title="Prove or refute: an excellent use of a multi-GPU machine",
    objective=SPECULATION,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("x", Tolerance.SPEC),
    statement=(
        "The chapter calls that set-up *an excellent use* of a multi-GPU `g5`. Take it at its "
        "best: five drafts per round, and a drafter that is right four times out of five.\n\n"
        "**By which factor does the design speed up the 70B model?** Below 1 means slower. Use the "
        "c of 6.4."
    ),
    answer_name="speedup_design",
    draw=_draw_6_5,
    reference=lambda g: _speedup(g, cost(g)),
    mistakes=(
        Mistake(
            Code.SIZE_NOT_TIME,
            "This takes c from the sizes of the models. Take the ratio of their times, as in 6.4.",
            lambda g: _speedup(g, _by_size(g)),
        ),
        Mistake(
            Code.FREE_DRAFT,
            "These are the tokens per pass, as if drafting were free. Divide by γ · c + 1.",
            lambda g: expected_tokens(g.alpha, g.gamma),
        ),
        Mistake(
            Code.COST_ONCE,
            "You paid for one draft. Each round has five of them, one after the other: γ · c + 1.",
            lambda g: expected_tokens(g.alpha, g.gamma) / (cost(g) + 1),
        ),
        Mistake(
            Code.BONUS_FORGOTTEN,
            "The target's own token is missing: 1 + α + … + α^γ has γ + 1 terms.",
            lambda g: expected_tokens(g.alpha, g.gamma - 1) / (g.gamma * cost(g) + 1),
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "These are the drafts that are kept. Each round gives the target's own token as well.",
            lambda g: (expected_tokens(g.alpha, g.gamma) - 1) / (g.gamma * cost(g) + 1),
        ),
        Mistake(
            Code.PAST_REFUSAL,
            "1 + α · γ tokens keeps good ones behind a refused one. Add up 1 + α + … + α^γ.",
            lambda g: (1 + g.alpha * g.gamma) / (g.gamma * cost(g) + 1),
        ),
        Mistake(
            Code.ONE_DEVICE,
            "Your c lets one GPU read the whole target. Take the c of 6.4, with four.",
            lambda g: _speedup(g, cost(g) / g.target_gpus),
        ),
        Mistake(
            Code.VERIFY_FORGOTTEN,
            "You divided by the drafts alone. The target's own pass takes time too: γ · c + 1.",
            lambda g: expected_tokens(g.alpha, g.gamma) / (g.gamma * cost(g)),
        ),
        Mistake(
            Code.INVERTED,
            "Upside down: this is how much longer it takes. Asked: the speed-up.",
            lambda g: 1 / _speedup(g, cost(g)),
        ),
    ),
    hints=(
        "Tokens per round, divided by the time of a round in steps of the target.",
        "(1 + α + … + α^γ) ÷ (γ · c + 1), with the c of 6.4.",
        "(1 − α^(γ+1)) / ((1 − α) · (γ·c + 1))",
    ),
    solution=(
        "tokens = sum(g.alpha**i for i in range(g.gamma + 1))\n"
        "speedup_design = tokens / (g.gamma * c_design + 1)"
    ),
    praise=(
        "Refuted: with this drafter the answers take more than twice as long, and a fifth GPU is "
        "paid for it."
    ),
    claim="E082",
)

SLOW_DRAFTER_EXERCISES = (COST, SLOWDOWN)
