"""Lab 01, first part: arithmetic intensity, the ridge point, and the roofline as a function."""

from __future__ import annotations

from typing import Any

from labkit.contract.answer import encode
from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises import given
from labkit.exercises.kinds import FunctionKind, Quantity, Tolerance
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

OBJECTIVE = "arithmetic intensity and the ridge point"
CHIPS = ("T4", "L4", "L40S", "A100-40GB", "H100", "Inferentia2")
GIB_PER_GB = 2**30 / 1e9
ENGINE = ("labkit.sizing",)


# --- 1.2 arithmetic intensity of decode ------------------------------------------------------


def _draw_1_2(draw: Draw) -> tuple[Given, ...]:
    return (
        Given("batch", 1, "sequence", "batch size"),
        given.width(draw.facts.format("bf16")),
        Given("flop_per_weight", 2, "FLOP", "one multiply and one add, per weight and sequence"),
    )


INTENSITY = Exercise(
    id="1.2",
    title="FLOPs per byte of one decode step",
    objective=OBJECTIVE,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("FLOP/B", Tolerance.SPEC),
    statement=(
        "One decode step at batch 1 multiplies every weight of the model with one number and "
        "adds the result to a sum. The weights are BF16 and each is read from memory once. "
        "Leave the KV cache out.\n\n"
        "**How many FLOPs does the step do per byte that it reads?** "
        "This is its *arithmetic intensity*."
    ),
    answer_name="intensity",
    draw=_draw_1_2,
    reference=lambda g: g.flop_per_weight * g.batch / g.bytes_per_weight,
    mistakes=(
        Mistake(
            Code.BYTES_PER_WEIGHT,
            "You counted one byte per weight. A BF16 weight has 16 bits, that is 2 bytes.",
            lambda g: g.flop_per_weight * g.batch,
        ),
        Mistake(
            Code.MAC_ONE_FLOP,
            "You counted one FLOP per weight. A multiply and an add are two.",
            lambda g: g.batch / g.bytes_per_weight,
        ),
        Mistake(
            Code.INVERTED,
            "You multiplied FLOPs and bytes. Intensity is FLOPs divided by bytes.",
            lambda g: g.flop_per_weight * g.batch * g.bytes_per_weight,
        ),
    ),
    hints=(
        "Look at a single weight: how much work is done with it, and how large is it?",
        "FLOPs per weight, divided by bytes per weight.",
        "intensity = 2 · batch / bytes_per_weight",
    ),
    solution="intensity = g.flop_per_weight * g.batch / g.bytes_per_weight",
    praise="Keep this 1 in mind. Next: how many FLOPs a chip could do while it reads a byte.",
    claim="E005",
)


# --- 1.1 and 1.9 ridge point -----------------------------------------------------------------


def _draw_1_1(draw: Draw) -> tuple[Given, ...]:
    a10g, a10 = draw.facts.accelerator("A10G"), draw.facts.accelerator("A10")
    return (
        given.bandwidth(a10g),
        given.peak(a10g, "fp16"),
        given.sparse_peak(a10g, "fp16"),
        given.peak(a10, "fp16", name="a10_tflops"),
    )


def _ridge(g: Givens) -> float:
    return float(g.peak_tflops * 1e12 / (g.bandwidth_gbps * 1e9))


_RIDGE_MISTAKES = (
    Mistake(
        Code.SPARSE_PEAK,
        "You used the peak with 2:4 sparsity. LLM weights are dense: the dense peak is half of it.",
        lambda g: 2 * _ridge(g),
    ),
    Mistake(
        Code.INVERTED,
        "This is bytes per FLOP. The ridge point is FLOP/s divided by bytes/s.",
        lambda g: 1 / _ridge(g),
    ),
    Mistake(
        Code.GB_AS_GIB,
        "You took GB/s for GiB/s. Datasheets print decimal gigabytes: 1 GB = 1e9 bytes.",
        lambda g: _ridge(g) / GIB_PER_GB,
    ),
)

RIDGE_A10G = Exercise(
    id="1.1",
    title="The ridge point of the A10G",
    objective=OBJECTIVE,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("FLOP/B", Tolerance.SPEC),
    statement=(
        "`g5` instances carry NVIDIA's A10G. In a second it can read so many bytes, and do "
        "so many FLOPs. The *ridge point* is the arithmetic intensity at which both limits are "
        "reached at once. Below it the chip waits for memory, above it for its own arithmetic.\n\n"
        "**What is the A10G's ridge point, for dense FP16?** "
        "A datasheet prints more numbers than you need."
    ),
    answer_name="ridge_a10g",
    draw=_draw_1_1,
    reference=_ridge,
    mistakes=(
        _RIDGE_MISTAKES[0],
        Mistake(
            Code.WRONG_CHIP,
            "That peak is the A10's. AWS's g5 carries the A10G, another card with a lower peak.",
            lambda g: g.a10_tflops * 1e12 / (g.bandwidth_gbps * 1e9),
        ),
        *_RIDGE_MISTAKES[1:],
    ),
    hints=(
        "How many FLOPs could the chip do in the time in which it reads one byte?",
        "Dense peak FLOP/s divided by bytes/s.",
        "ridge = peak_tflops · 1e12 / (bandwidth_gbps · 1e9)",
    ),
    solution="ridge_a10g = (g.peak_tflops * 1e12) / (g.bandwidth_gbps * 1e9)",
    praise="Decode at batch 1 brings 1 FLOP/B. The A10G needs about 117 to be busy.",
    claim="E005",
)


def _draw_1_9(draw: Draw) -> tuple[Given, ...]:
    chip = draw.facts.accelerator(draw.rng.choice(CHIPS))
    return (
        Given("chip", chip.name, "", "your accelerator", f"on {', '.join(chip.aws_families)}"),
        given.bandwidth(chip),
        given.peak(chip, "fp16"),
    )


RIDGE_OWN_CHIP = Exercise(
    id="1.9",
    title="The ridge point of your chip",
    objective=OBJECTIVE,
    points=1,
    tier=Tier.PERSONAL,
    kind=Quantity("FLOP/B", Tolerance.SPEC),
    statement=(
        "Your learner id has drawn an accelerator for you.\n\n"
        "**What is its ridge point, for dense FP16?**"
    ),
    answer_name="ridge_mine",
    draw=_draw_1_9,
    reference=_ridge,
    mistakes=_RIDGE_MISTAKES,
    hints=(
        "The same quantity as in 1.1, for another chip.",
        "Dense peak FLOP/s divided by bytes/s.",
        "ridge = peak_tflops · 1e12 / (bandwidth_gbps · 1e9)",
    ),
    solution="ridge_mine = (g.peak_tflops * 1e12) / (g.bandwidth_gbps * 1e9)",
    praise="A high ridge is no merit: it says how hard the chip is to keep busy.",
    claim="E005",
)


# --- 1.7 roofline(ai, peak, bw) --------------------------------------------------------------


def _draw_chip(draw: Draw) -> tuple[Given, ...]:
    chip = draw.facts.accelerator(draw.rng.choice((*CHIPS, "A10G")))
    peak = chip.peak_flops("fp16") * draw.rng.uniform(0.4, 1.0)
    bandwidth = chip.bandwidth_bytes_per_s * draw.rng.uniform(0.5, 1.0)
    intensity = peak / bandwidth * 10 ** draw.rng.uniform(-2.0, 1.0)
    return (
        Given("ai", intensity, "FLOP/B", "arithmetic intensity"),
        Given("peak", peak, "FLOP/s", "peak"),
        Given("bw", bandwidth, "B/s", "bandwidth"),
    )


def _roofline(ai: Any, peak: float, bw: float) -> Any:
    import numpy as np

    roof = np.minimum(peak, np.asarray(ai) * bw)
    return float(roof) if roof.ndim == 0 else roof


def _roofline_edges(g: Givens) -> tuple[tuple[Any, ...], ...]:
    import numpy as np

    ridge = g.peak / g.bw
    ladder = encode(np.array([0.0, ridge / 100, ridge / 2, ridge, 3 * ridge, 50 * ridge]))
    return (
        (0.0, g.peak, g.bw),
        (ridge, g.peak, g.bw),
        (ridge / 8, g.peak, g.bw),
        (8 * ridge, g.peak, g.bw),
        (ladder, g.peak, g.bw),
    )


def _describe_roofline(args: tuple[Any, ...]) -> str:
    ai, peak, bw = args
    if isinstance(ai, dict):
        return "an array of intensities"
    if ai == 0:
        return "intensity 0"
    if abs(ai * bw / peak - 1) < 1e-9:
        return "an intensity exactly at the ridge"
    return "an intensity below the ridge" if ai * bw < peak else "an intensity above the ridge"


ROOFLINE = Exercise(
    id="1.7",
    title="Write the roofline",
    objective=OBJECTIVE,
    points=2,
    tier=Tier.TRANSFER,
    kind=FunctionKind(
        signature="roofline(ai, peak, bw)",
        doc="FLOP/s that a chip can reach at intensity `ai` (FLOP/B), `peak` FLOP/s, `bw` B/s.",
        arguments=("ai", "peak", "bw"),
        edges=_roofline_edges,
        describe=_describe_roofline,
        special=lambda args: isinstance(args[0], dict) or args[0] == 0,
    ),
    statement=(
        "Write `roofline(ai, peak, bw)`: the FLOP/s that a chip can reach at arithmetic intensity "
        "`ai`. It takes FLOP/B, FLOP/s and B/s. `ai` may be a number or a NumPy array; "
        "NumPy is imported as `np`.\n\n"
        "You will draw with it at the end of this lab. It is tried here on practice numbers; when "
        "the lab is graded it runs on numbers that nobody has seen."
    ),
    answer_name="roofline",
    draw=_draw_chip,
    reference=lambda _g: _roofline,
    mistakes=(
        Mistake(
            Code.SUM_OF_ROOFS,
            "You added the two limits. A chip cannot exceed either: the lower one counts.",
            lambda _g: lambda ai, peak, bw: peak + _array(ai) * bw,
        ),
        Mistake(
            Code.WRONG_ROOF,
            "You took the higher of the two limits. The lower one holds the chip back.",
            lambda _g: _max_roof,
        ),
        Mistake(
            Code.PEAK_FORGOTTEN,
            "Right below the ridge, but nothing stops the line there: memory alone limits it. "
            "The peak is missing.",
            lambda _g: lambda ai, peak, bw: _array(ai) * bw,
        ),
        Mistake(
            Code.INVERTED,
            "You divided the bandwidth by the intensity. FLOP/B times B/s gives FLOP/s.",
            lambda _g: _inverted_roof,
        ),
        Mistake(
            Code.PREFIX,
            "You converted from TFLOP/s and GB/s. The arguments are in FLOP/s and B/s already.",
            lambda _g: lambda ai, peak, bw: _roofline(ai, peak * 1e12, bw * 1e9),
        ),
    ),
    hints=(
        "Two limits: what memory can feed, and what the arithmetic units can do.",
        "Bandwidth times intensity, but never more than the peak.",
        "roofline = min(peak, ai · bw); np.minimum does it for arrays too",
    ),
    solution=(
        "def roofline(ai, peak, bw):\n"
        '    """FLOP/s reachable at intensity `ai` (FLOP/B), with `peak` FLOP/s and `bw` B/s."""\n'
        "    return np.minimum(peak, np.asarray(ai) * bw)"
    ),
    praise="That one line is the model of this whole lab.",
    claim="E005",
    forbids=ENGINE,
)


def _array(ai: Any) -> Any:
    import numpy as np

    return np.asarray(ai)


def _max_roof(ai: Any, peak: float, bw: float) -> Any:
    import numpy as np

    return np.maximum(peak, np.asarray(ai) * bw)


def _inverted_roof(ai: Any, peak: float, bw: float) -> Any:
    import numpy as np

    with np.errstate(divide="ignore"):
        return np.minimum(peak, bw / np.asarray(ai))


RIDGE_EXERCISES = (INTENSITY, RIDGE_A10G, RIDGE_OWN_CHIP, ROOFLINE)
