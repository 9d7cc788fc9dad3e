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
    decode = draw.records["decode"]
    streamed = given.counted(
        decode, "streamed_bytes_per_token", "bytes_per_token", "SmolLM2: streamed per token", "B"
    )
    reading = given.measured(decode, "decode.read", "read_ms", "reading them once, no more", "ms")
    rate = float(streamed.value) / (float(reading.value) / 1e3) / 1e9
    bandwidth = Given(
        "read_gbps", rate, "GB/s", "read bandwidth on these weights", f"{reading.source}, derived"
    )
    measured = given.measured(
        decode, "decode.rate", "measured_tok_s", "SmolLM2: measured decode", "tok/s"
    )
    return streamed, bandwidth, measured


def _ratio(g: Givens) -> float:
    return float(g.measured_tok_s / (g.read_gbps * 1e9 / g.bytes_per_token))


RATIO = Exercise(
    id="1.13",
    title="How much of the ceiling did you get?",
    objective=OBJECTIVE,
    points=1,
    tier=Tier.OWN,
    kind=Quantity("%", Tolerance.SPEC),
    statement=(
        "SmolLM2-135M in FP32 has written on your machine. Its embedding table is *tied*: the "
        "same table is the output head, so it is streamed after all.\n\n"
        "The bench also read the very same weights, doing nothing else. That gives the bandwidth "
        "at that moment; 1.12 may have met the machine in another mood, and two runs easily "
        "differ by 10 to 20 percent. Predict the ceiling from it, then divide: "
        "**measured ÷ predicted, in percent.**"
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
            Code.OTHER_QUANTITY,
            "This is the ceiling itself, in tokens per second. Asked: which share of it was "
            "reached.",
            lambda g: g.read_gbps * 1e9 / g.bytes_per_token,
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
    needs=("decode",),
)


# --- 1.14 why ---------------------------------------------------------------------------------


def _draw_cause(draw: Draw) -> tuple[Given, ...]:
    decode = draw.records["decode"]
    return (
        given.measured(decode, "decode.read", "read_ms", "reading the weights, no more", "ms"),
        given.measured(
            decode, "decode.products", "products_ms", "the step's matrix products alone", "ms"
        ),
        given.measured(decode, "decode.step", "step_ms", "the whole step of one token", "ms"),
    )


def shares(g: Givens) -> tuple[float, float]:
    """(reading time ÷ products' time, products' time ÷ the whole step's)."""
    return g.read_ms / g.products_ms, g.products_ms / g.step_ms


def causes(g: Givens) -> frozenset[str]:
    """The explanations that the learner's numbers bear."""
    products, rest = shares(g)
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
            Option("none", "nothing to speak of: at least 85 % of the ceiling is reached"),
        )
    ),
    statement=(
        "The bench also timed the step's matrix products alone, on the same weights. That splits "
        "the gap into two factors, and multiplied they give the share of 1.13:\n\n"
        "1. *reading ÷ products*: the time that reading the weights takes, over the time of the "
        "bare matrix products\n"
        "2. *products ÷ step*: the time of the bare products, over the time of the whole step\n\n"
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
            "Check it with 1.12: 2 FLOP per weight at your FP32 peak take less time than reading "
            "4 bytes per weight. The compute roof is not what you hit.",
            lambda g: _unless("compute", causes(g)),
        ),
        Mistake(
            Code.CLOSE,
            "Less than 85 % of the ceiling is reached on your machine. Look at 1.13 again.",
            lambda g: _unless("none", causes(g)),
        ),
    ),
    hints=(
        "Three times for one token: reading the weights, the bare products, the whole step.",
        "reading ÷ products, and products ÷ step. The smaller factor is the larger loss.",
        "read_ms / products_ms against products_ms / step_ms",
    ),
    solution=(
        "products_factor = g.read_ms / g.products_ms\n"
        "rest_factor = g.products_ms / g.step_ms\n"
        "if products_factor * rest_factor >= 0.85:\n"
        '    cause = "none"\n'
        "else:\n"
        '    cause = "kernel" if products_factor < rest_factor else "overhead"'
    ),
    praise="A roofline tells you what is possible; the gap tells you where to look.",
    claim="E010",
    needs=("decode",),
)


# --- 1.15 is batching free here? -------------------------------------------------------------


def _draw_batching(draw: Draw) -> tuple[Given, ...]:
    machine = draw.records["machine"]
    times = tuple(
        given.measured(machine, f"sweep.fp32.b{b}", f"b{b}_ms", f"FP32 product, batch {b}", "ms")
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
    below = [b for b in SWEEP if 1 < b <= knee(g) / 2]
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
                "yes: up to half the knee a larger batch takes about the same time "
                f"(at most {FREE} times)",
            ),
            Option(
                "kernel",
                "no: the time grows at half the knee or before, where neither roof explains "
                "it, so the library's routine does",
            ),
            Option(
                "compute",
                "no: the knee lies below batch 4, so every batch soon meets the compute roof",
            ),
        )
    ),
    statement=(
        "On the roofline a larger batch costs nothing until the knee. Work out where the knee of "
        "your machine lies for FP32 weights (the batch at which intensity = your ridge). Then "
        "compare the product's times up to **half the knee** with batch 1: close to the knee both "
        "limits are felt.\n\n"
        "**What does your record say?** Textbooks say that batching is free. Your machine may "
        "disagree, and then your machine is right."
    ),
    answer_name="batching",
    draw=_draw_batching,
    reference=batching,
    mistakes=(
        Mistake(
            Code.EXPECTATION_NOT_MEASUREMENT,
            "That is the model, not your record: at half your knee or before, the time grows to "
            f"more than {FREE} times that of batch 1.",
            lambda g: _unless("free", batching(g)),
        ),
        Mistake(
            Code.UNSUPPORTED_CAUSE,
            f"Up to half your knee no batch takes more than {FREE} times as long as batch 1. "
            "Where the time grows beyond it, the compute roof explains it.",
            lambda g: _unless("kernel", batching(g)),
        ),
        Mistake(
            Code.WRONG_ROOF,
            "Your knee lies at batch 4 or above: knee = peak / bandwidth · 4 bytes / 2 FLOP. "
            "At half of it the compute roof is not reached.",
            lambda g: _unless("compute", batching(g)),
        ),
    ),
    hints=(
        "First the knee, then the times at half of it and before.",
        "FP32 intensity is batch ÷ 2 FLOP/B. Set it equal to your ridge (peak ÷ bandwidth).",
        "knee = 2 · peak_gflops / read_gbps; compare bN_ms / b1_ms for N ≤ knee / 2",
    ),
    solution=(
        "knee = g.peak_gflops / g.read_gbps * 4 / 2\n"
        "below = [b for b in (2, 4, 8, 16, 32, 64) if b <= knee / 2]\n"
        'growth = max((g[f"b{b}_ms"] / g.b1_ms for b in below), default=None)\n'
        "if growth is None:\n"
        '    batching = "compute"\n'
        "else:\n"
        '    batching = "free" if growth <= 1.5 else "kernel"'
    ),
    praise=(
        "Read off your own numbers. Which routine a library takes for a small batch decides "
        "whether the second sequence is free or costs as much as the first."
    ),
    claim="E078",
    needs=("machine",),
)


EXPLAIN_EXERCISES = (RATIO, CAUSE, BATCHING)
