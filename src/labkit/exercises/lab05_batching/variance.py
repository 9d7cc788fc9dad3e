"""Lab 05, exercise 5.10: what continuous batching is worth, from the spread of answer lengths.

With a queue that never runs dry a static batch of B lasts as long as its longest answer, and a
continuous one needs as many steps per slot as an average answer has tokens. So the gain is
E[longest of B] / E[length], whatever the engine's speed.
"""

from __future__ import annotations

import math

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import Quantity, Tolerance
from labkit.exercises.lab05_batching.queue import SCHEDULING
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier
from labkit.sizing.lengths import Lengths, parse_lengths

# Answer lengths as the simulator reads them, beside what a person calls them.
LAWS = {
    "uniform:1-128": "1 to 128 tokens, all as likely",
    "uniform:1-512": "1 to 512 tokens, all as likely",
    "geometric:mean=128,max=1536": "many short, few long: mean 128, at most 1,536",
    "geometric:mean=200,max=1024": "many short, few long: mean 200, at most 1,024",
    "lognormal:mean=200,p95=600,max=2048": "like chats: mean 200, one in twenty above 600",
    "lognormal:mean=300,p95=1000,max=4096": "like chats: mean 300, one in twenty above 1,000",
}
SLOTS = (3, 4, 5, 6)
SHOWN = 8  # slots of the simulation that the lab runs before the exercise


def expected_longest(lengths: Lengths, of: int) -> float:
    """Mean of the longest of `of` independent lengths: the sum over k of P(longest > k)."""
    return math.fsum(1.0 - lengths.cdf(k) ** of for k in range(lengths.largest))


def gain(lengths: Lengths, slots: int) -> float:
    """Steps of static over steps of continuous batching, for a queue that never runs dry."""
    return expected_longest(lengths, slots) / lengths.mean


def _draw(draw: Draw) -> tuple[Given, ...]:
    law = draw.rng.choice(tuple(LAWS))
    return (
        Given("outputs", law, "", LAWS[law], "drawn by your learner id"),
        Given("slots", draw.rng.choice(SLOTS), "", "slots", "drawn by your learner id"),
    )


def _gain(g: Givens, slots: int | None = None) -> float:
    return gain(parse_lengths(str(g.outputs)), g.slots if slots is None else slots)


def _with_shown_slots(g: Givens) -> float | None:
    """The gain with the lab's own slots; None where it is that of the drawn ones, or of twice."""
    shown = _gain(g, SHOWN)
    near = any(math.isclose(shown, _gain(g, n), rel_tol=0.05) for n in (g.slots, 2 * g.slots))
    return None if near else shown


def _longest_possible(g: Givens) -> float:
    law = parse_lengths(str(g.outputs))
    return law.largest / law.mean


GAIN = Exercise(
    id="5.10",
    title="Prove or refute: too small a GPU for continuous batching",
    objective=SCHEDULING,
    points=1,
    tier=Tier.PERSONAL,
    kind=Quantity("x", Tolerance.SPEC),
    statement=(
        "A published chapter says that on a `g4dn` (whose GPU is a T4) the overhead of managing "
        "the memory often eats up what continuous batching gains. A small card has few slots, "
        "that much is true. Let "
        "the simulator say what few slots are worth. Your learner id has drawn the slots, and how "
        "long the answers get.\n\n"
        "**By which factor does continuous batching raise the output tokens per second over "
        "static batching?** Serve the same requests both ways, as in the first cell of this "
        "section, with at least 3,000 requests per slot; fewer make the number jump from seed to "
        "seed."
    ),
    answer_name="gain",
    draw=_draw,
    reference=_gain,
    mistakes=(
        Mistake(
            Code.INVERTED,
            "This is static over continuous. Asked: what continuous batching gains.",
            lambda g: 1 / _gain(g),
        ),
        Mistake(
            Code.CONDITION_IGNORED,
            "No gain at all: that is what answers of equal length give. Take g.outputs for the "
            "lengths of the answers.",
            lambda _g: 1.0,
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "You compared with one request at a time, so this is the number of slots. Static "
            "batching fills its slots too.",
            lambda g: float(g.slots),
        ),
        Mistake(
            Code.LIMIT_LEFT_OUT,
            "You divided the longest answer that can ever come by the mean. A batch waits for the "
            "longest of its own requests, and that is seldom the longest of all.",
            _longest_possible,
        ),
        Mistake(
            Code.SLOTS_EXCEEDED,
            "This is the gain with twice the slots. A larger batch waits longer for its slowest.",
            lambda g: _gain(g, 2 * g.slots),
        ),
        Mistake(
            Code.AS_PRINTED,
            f"This is the gain with the {SHOWN} slots of the first cell of this section. Yours are "
            "in g.slots.",
            _with_shown_slots,
        ),
        Mistake(
            Code.OFF_BY_ONE,
            "This is what comes on top, the factor less one. Asked: the factor itself.",
            lambda g: _gain(g) - 1.0,
        ),
    ),
    hints=(
        "Two runs of simulate() that differ in the scheduler and in nothing else.",
        "Output tokens per second with ContinuousBatching(slots), divided by the same with "
        "StaticBatching(slots).",
        "gain = E[longest of `slots` answers] / E[answer]; or by simulation with "
        "Traffic(…, parse_lengths(g.outputs), Burst(), requests=3000 * g.slots)",
    ),
    solution=(
        'queue = Traffic(parse_lengths("1"), parse_lengths(g.outputs), Burst(), 3_000 * g.slots)\n'
        "rates = [\n"
        "    simulate(queue, scheduler, one_tick).output_tokens_per_second\n"
        "    for scheduler in (StaticBatching(g.slots), ContinuousBatching(g.slots))\n"
        "]\n"
        "gain = rates[1] / rates[0]"
    ),
    praise=(
        "Refuted, for a queue that never runs dry: even a few slots gain a lot when lengths "
        "differ. No step pays for the scheduler here; how long its bookkeeping takes on your "
        "machine is in the record that you make below."
    ),
    claim="E078",
)
