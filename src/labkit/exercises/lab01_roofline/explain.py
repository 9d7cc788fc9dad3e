"""Lab 01, exercises 1.13 to 1.15: the gap between predicted and measured, explained.

The reference answers are functions of the learner's own records: what is graded is whether the
explanation follows from the numbers, not whether the numbers are the expected ones.
"""

from __future__ import annotations

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises import given
from labkit.exercises.kinds import Choice, Option, Quantity, Tolerance
from labkit.exercises.lab01_roofline.figure import OBJECTIVE
from labkit.exercises.lab01_roofline.measure import FP32_BYTES, SWEEP
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

# Above this share of the read bandwidth a product counts as reaching it; samples vary by a few %.
REACHED = 0.85
SIMILAR = 1.15  # factors closer than this cost about the same: either explanation holds
FREE = 1.5  # a batch is called free while the step takes less than this many times batch 1's


# --- 1.13 measured over predicted ------------------------------------------------------------


def _draw_gap(draw: Draw) -> tuple[Given, ...]:
    machine, decode = draw.records["machine"], draw.records["decode"]
    return (
        given.measured(machine, "bandwidth.read", "read_gbps", "read bandwidth", "GB/s"),
        given.measured(machine, "bandwidth.copy", "copy_gbps", "copy bandwidth", "GB/s"),
        given.counted(
            decode,
            "streamed_bytes_per_token",
            "bytes_per_token",
            "SmolLM2: streamed per token",
            "B",
        ),
        given.measured(
            decode, "decode.rate", "measured_tok_s", "SmolLM2: measured decode", "tok/s"
        ),
    )


def _ratio(g: Givens) -> float:
    return float(g.measured_tok_s / (g.read_gbps * 1e9 / g.bytes_per_token))


RATIO = Exercise(
    id="1.13",
    title="How much of the ceiling did you get?",
    objective=OBJECTIVE,
    points=1,
    tier=Tier.OWN,
    kind=Quantity("%", Tolerance.FORMULA),
    statement=(
        "SmolLM2-135M in FP32 has written on your machine. Its embedding table is *tied*: the "
        "same table is the output head, so it is streamed after all.\n\n"
        "Predict the ceiling from your own read bandwidth, then divide: **measured ÷ predicted, "
        "in percent.**"
    ),
    answer_name="share",
    draw=_draw_gap,
    reference=lambda g: 100 * _ratio(g),
    mistakes=(
        Mistake(
            Code.INVERTED,
            "This is predicted ÷ measured. Asked: which share of the ceiling was reached.",
            lambda g: 100 / _ratio(g),
        ),
        Mistake(
            Code.BYTES_PER_WEIGHT,
            "You counted two bytes per weight. This model runs in FP32: four bytes.",
            lambda g: 50 * _ratio(g),
        ),
        Mistake(
            Code.GB_AS_GIB,
            "You took GB for GiB. The record prints decimal gigabytes.",
            lambda g: 100 * _ratio(g) / (2**30 / 1e9),
        ),
        Mistake(
            Code.PREFIX,
            "This is a fraction. Asked: percent. Multiply by 100, or hand in Q(value, 'x').",
            _ratio,
        ),
        Mistake(
            Code.WRONG_ROOF,
            "You used the copy bandwidth. Decode reads the weights; it writes next to nothing.",
            lambda g: 100 * g.measured_tok_s / (g.copy_gbps * 1e9 / g.bytes_per_token),
        ),
    ),
    hints=(
        "Two rates of the same thing: tokens per second as memory allows, and as measured.",
        "Ceiling = read bandwidth ÷ bytes per token. Then measured ÷ ceiling.",
        "share = 100 · measured_tok_s / (read_gbps · 1e9 / bytes_per_token)",
    ),
    solution=(
        "ceiling = g.read_gbps * 1e9 / g.bytes_per_token\nshare = 100 * g.measured_tok_s / ceiling"
    ),
    praise="This share is called MBU, memory bandwidth utilisation. Next: where the rest went.",
    claim="E010",
    needs=("machine", "decode"),
)


# --- 1.14 why ---------------------------------------------------------------------------------


def _draw_cause(draw: Draw) -> tuple[Given, ...]:
    machine, decode = draw.records["machine"], draw.records["decode"]
    return (
        given.measured(machine, "bandwidth.read", "read_gbps", "read bandwidth", "GB/s"),
        given.measured(machine, "gemm.fp32", "peak_gflops", "FP32 peak", "GFLOP/s"),
        given.counted(
            decode,
            "streamed_bytes_per_token",
            "bytes_per_token",
            "SmolLM2: streamed per token",
            "B",
        ),
        given.measured(
            decode, "decode.products", "products_ms", "the step's matrix products alone", "ms"
        ),
        given.measured(decode, "decode.step", "step_ms", "the whole step of one token", "ms"),
    )


def shares(g: Givens) -> tuple[float, float]:
    """(ideal reading time ÷ products' time, products' time ÷ the whole step's)."""
    ideal_ms = 1e3 * g.bytes_per_token / (g.read_gbps * 1e9)
    return ideal_ms / g.products_ms, g.products_ms / g.step_ms


def causes(g: Givens) -> frozenset[str]:
    """The explanations that the learner's numbers bear."""
    products, rest = shares(g)
    if products * rest > 1 / REACHED:
        return frozenset({"cache"})
    if products * rest >= REACHED:
        return frozenset({"none"})
    if products > SIMILAR * rest:
        return frozenset({"overhead"})
    if rest > SIMILAR * products:
        return frozenset({"kernel"})
    return frozenset({"kernel", "overhead"})


def _unless(key: str, right: frozenset[str]) -> str | None:
    """The option as a mistake, where these numbers do not make it right."""
    return None if key in right else key


CAUSE = Exercise(
    id="1.14",
    title="Where did the rest go?",
    objective=OBJECTIVE,
    points=1,
    tier=Tier.OWN,
    kind=Choice(
        (
            Option("kernel", "mostly the matrix products: they do not reach the read bandwidth"),
            Option("overhead", "mostly what stands around them: Python, norms, attention, cache"),
            Option("compute", "the arithmetic units: decode at batch 1 is compute-bound here"),
            Option("cache", "nothing is lost: weights stay in the cache, so it beats memory"),
            Option("none", "nothing is lost: measured and predicted agree within 15 %"),
        )
    ),
    statement=(
        "The bench also timed the step's matrix products alone, on the same weights. That splits "
        "the gap into two factors, and their product is the share of 1.13:\n\n"
        "1. *ideal ÷ products*: the time in which memory could deliver the weights, over the time "
        "that the bare matrix products take\n"
        "2. *products ÷ step*: the time of the bare products over the time of the whole step\n\n"
        "The smaller factor costs more. **Which explanation do your numbers bear?** "
        "Your record decides, so your neighbour's answer may differ."
    ),
    answer_name="cause",
    draw=_draw_cause,
    reference=causes,
    mistakes=(
        Mistake(
            Code.EXPECTATION_NOT_MEASUREMENT,
            "On your machine the matrix products are not the larger loss. Work out both factors "
            "from the givens: the smaller one costs more.",
            lambda g: _unless("kernel", causes(g)),
        ),
        Mistake(
            Code.UNSUPPORTED_CAUSE,
            "What stands around the products is not the larger loss on your machine. Work out "
            "both factors from the givens: the smaller one costs more.",
            lambda g: _unless("overhead", causes(g)),
        ),
        Mistake(
            Code.WRONG_ROOF,
            "Check it: 2 FLOP per weight at your FP32 peak take less time than 4 bytes per weight "
            "at your bandwidth. The compute roof is not what you hit.",
            lambda g: _unless("compute", causes(g)),
        ),
        Mistake(
            Code.OVER_THE_ROOF,
            "Your decode is not faster than your memory: compare measured with predicted in 1.13.",
            lambda g: _unless("cache", causes(g)),
        ),
        Mistake(
            Code.CLOSE,
            "Measured and predicted differ by more than 15 % on your machine. Look at 1.13 again.",
            lambda g: _unless("none", causes(g)),
        ),
    ),
    hints=(
        "Three times for one token: as memory allows, the bare products, the whole step.",
        "ideal ÷ products, and products ÷ step. The smaller factor is the larger loss.",
        "ideal_ms = 1000 · bytes_per_token / (read_gbps · 1e9)",
    ),
    solution=(
        "ideal_ms = 1000 * g.bytes_per_token / (g.read_gbps * 1e9)\n"
        "products_factor = ideal_ms / g.products_ms\n"
        "rest_factor = g.products_ms / g.step_ms\n"
        "share = products_factor * rest_factor\n"
        "if share > 1 / 0.85:\n"
        '    cause = "cache"\n'
        "elif share >= 0.85:\n"
        '    cause = "none"\n'
        "else:\n"
        '    cause = "kernel" if products_factor < rest_factor else "overhead"'
    ),
    praise="A roofline tells you what is possible; the gap tells you where to look.",
    claim="E010",
    needs=("machine", "decode"),
)


# --- 1.15 is batching free here? -------------------------------------------------------------


def _draw_batching(draw: Draw) -> tuple[Given, ...]:
    machine = draw.records["machine"]
    times = tuple(
        given.measured(machine, f"sweep.fp32.b{b}", f"b{b}_ms", f"product at batch {b}", "ms")
        for b in SWEEP
    )
    return (
        given.measured(machine, "bandwidth.read", "read_gbps", "read bandwidth", "GB/s"),
        given.measured(machine, "gemm.fp32", "peak_gflops", "FP32 peak", "GFLOP/s"),
        *times,
    )


def knee(g: Givens) -> float:
    """Batch at which the FP32 product reaches the compute roof: ridge × 4 bytes ÷ 2 FLOP."""
    return float(g.peak_gflops / g.read_gbps * FP32_BYTES / 2)


def batching(g: Givens) -> frozenset[str]:
    """What the learner's sweep says about batching below the knee."""
    below = [b for b in SWEEP if 1 < b <= knee(g)]
    if not below:
        return frozenset({"compute"})
    slowest = max(float(g[f"b{b}_ms"]) for b in below) / float(g.b1_ms)
    return frozenset({"free"} if slowest <= FREE else {"kernel"})


BATCHING = Exercise(
    id="1.15",
    title="Is batching free on your machine?",
    objective=OBJECTIVE,
    points=1,
    tier=Tier.OWN,
    kind=Choice(
        (
            Option(
                "free",
                "yes: up to the knee a larger batch takes about the same time "
                f"(at most {FREE} times)",
            ),
            Option(
                "kernel",
                "no: the time grows well below the knee, where neither roof explains "
                "it, so the library's routine does",
            ),
            Option(
                "compute",
                "no: the knee lies below batch 2, so every batch runs into the compute roof",
            ),
        )
    ),
    statement=(
        "On the roofline a larger batch costs nothing until the knee. Work out where the knee of "
        "your machine lies for FP32 weights (the batch at which intensity = your ridge), and "
        "compare the product's times *below* it with batch 1.\n\n"
        "**What does your record say?** Textbooks say that batching is free. Your machine may "
        "disagree, and then your machine is right."
    ),
    answer_name="batching",
    draw=_draw_batching,
    reference=batching,
    mistakes=(
        Mistake(
            Code.EXPECTATION_NOT_MEASUREMENT,
            "That is the model, not your record: below your knee the time grows to more than "
            f"{FREE} times that of batch 1.",
            lambda g: _unless("free", batching(g)),
        ),
        Mistake(
            Code.UNSUPPORTED_CAUSE,
            f"Below your knee no batch takes more than {FREE} times as long as batch 1. "
            "Where the time grows beyond it, the compute roof explains it.",
            lambda g: _unless("kernel", batching(g)),
        ),
        Mistake(
            Code.WRONG_ROOF,
            "Your knee lies above batch 2: knee = peak / bandwidth · 4 bytes / 2 FLOP. "
            "Below it the compute roof is not reached.",
            lambda g: _unless("compute", batching(g)),
        ),
    ),
    hints=(
        "First the knee, then the times left of it.",
        "FP32 intensity is batch ÷ 2 FLOP/B. Set it equal to your ridge (peak ÷ bandwidth).",
        "knee = 2 · peak_gflops / read_gbps; compare bN_ms / b1_ms for N ≤ knee",
    ),
    solution=(
        "knee = g.peak_gflops / g.read_gbps * 4 / 2\n"
        "below = [b for b in (2, 4, 8, 16, 32, 64) if b <= knee]\n"
        'growth = max((g[f"b{b}_ms"] / g.b1_ms for b in below), default=None)\n'
        "if growth is None:\n"
        '    batching = "compute"\n'
        "else:\n"
        '    batching = "free" if growth <= 1.5 else "kernel"'
    ),
    praise=(
        "Read off your own numbers. Where a library switches from a matrix-vector to a "
        "matrix-matrix routine, the second sequence can cost as much as the first."
    ),
    claim="E078",
    needs=("machine",),
)


EXPLAIN_EXERCISES = (RATIO, CAUSE, BATCHING)
