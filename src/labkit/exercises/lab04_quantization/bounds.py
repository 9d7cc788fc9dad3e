"""Lab 04, exercises 4.1, 4.4 and 1.3: bits per weight, and what fewer of them can buy."""

from __future__ import annotations

from labkit.catalog import NumberFormat
from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises import given
from labkit.exercises.kinds import Quantity, Tolerance
from labkit.exercises.lab04_quantization.objectives import BYTES
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

SIXTEEN_BITS = 2.0
SCALE_BITS = 16


def bits_given(fmt: NumberFormat) -> Given:
    """Bits per weight with scales, as 4.1 counts them."""
    return Given(
        "bits_per_weight",
        fmt.bits_per_weight,
        "bits",
        f"{fmt.name.upper()}, scales and zero points included",
        "as in 4.1",
    )


# --- 4.1 bits per weight ------------------------------------------------------------------------


def _draw_bits(draw: Draw) -> tuple[Given, ...]:
    int4 = draw.facts.format("int4")
    return (
        Given("bits", round(int4.bits), "bits", "each integer", "the format's definition"),
        Given("group", int4.group_size, "weights", "weights in a group"),
        Given("scale_bits", SCALE_BITS, "bits", "the scale of a group, FP16"),
        Given(
            "zero_bits",
            round(int4.scale_bits) - SCALE_BITS,
            "bits",
            "the zero point of a group",
            "GPTQ's and AWQ's layout",
        ),
    )


BITS = Exercise(
    id="4.1",
    title="How many bits are four bits?",
    objective=BYTES,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("bits", Tolerance.EXACT),
    statement=(
        "Published INT4 checkpoints (GPTQ, AWQ) keep one FP16 scale for each group of 128 weights. "
        "Most also keep a *zero point*: the integer that stands for zero, so that a group may lie "
        "on one side of it. It has 4 bits.\n\n"
        "**How many bits does one weight take, all in all?** Every decimal, without rounding."
    ),
    answer_name="bits_int4",
    draw=_draw_bits,
    reference=lambda g: g.bits + (g.scale_bits + g.zero_bits) / g.group,
    mistakes=(
        Mistake(
            Code.SCALES_FORGOTTEN,
            "Those are the integers alone. Each group also stores its scale and its zero point.",
            lambda g: g.bits,
        ),
        Mistake(
            Code.ZERO_FORGOTTEN,
            "You counted the scale. The zero point takes 4 bits per group as well.",
            lambda g: g.bits + g.scale_bits / g.group,
        ),
        Mistake(
            Code.ZERO_AS_SCALE,
            "Your zero point is as wide as the scale. It is an integer of the format: 4 bits.",
            lambda g: g.bits + 2 * g.scale_bits / g.group,
        ),
        Mistake(
            Code.PER_WEIGHT,
            "You gave every weight a scale and a zero point. A group of 128 shares them.",
            lambda g: g.bits + g.scale_bits + g.zero_bits,
        ),
        Mistake(
            Code.BITS_AS_BYTES,
            "You divided by eight: those are bytes. Asked: bits.",
            lambda g: (g.bits + (g.scale_bits + g.zero_bits) / g.group) / 8,
        ),
    ),
    hints=(
        "What does a whole group of 128 weights store? Then divide.",
        "Bits of one integer, plus the group's scale and zero point, shared by the group.",
        "bits + (scale_bits + zero_bits) / group",
    ),
    solution="bits_int4 = g.bits + (g.scale_bits + g.zero_bits) / g.group",
    praise=(
        "A 7B model does not shrink from 14 GB to 3.5, as a published chapter has it. With its "
        "tables kept at 16 bits it is 3.89 GB."
    ),
    claim="E105",
)


# --- 4.4 the bound at batch 1 -------------------------------------------------------------------


def _draw_bound(draw: Draw) -> tuple[Given, ...]:
    params = draw.facts.model("llama-2-7b").params
    return (
        Given(
            "params_matrices", params.linear, "parameters", "Llama-2-7B: in its layers' matrices"
        ),
        Given(
            "params_rest",
            params.head + params.other,
            "parameters",
            "the head and the norms",
            "streamed, stay at 16 bits",
        ),
        Given(
            "params_embedding",
            params.embedding,
            "parameters",
            "the input embedding",
            "stays at 16 bits; resident, not streamed",
        ),
        bits_given(draw.facts.format("int4")),
        Given("claimed", 1.5, "x", "speed-up that the chapter names", "a published chapter"),
    )


def _bound(g: Givens, *, bits: float | None = None, kept: float = 0.0, rest: bool = True) -> float:
    """Bytes in 16 bits over bytes in few; `kept`: more parameters counted, at 16 bits."""
    bits = float(g.bits_per_weight) if bits is None else bits
    others = float(g.params_rest) + kept
    small = others * (SIXTEEN_BITS if rest else bits / 8)
    matrices = float(g.params_matrices)
    return SIXTEEN_BITS * (matrices + others) / (matrices * bits / 8 + small)


BOUND_7B = Exercise(
    id="4.4",
    title="Prove or refute: a quarter of the bytes, 1.5 times the speed",
    objective=BYTES,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("x", Tolerance.COUNTED),
    statement=(
        "A published chapter promises of INT4: *4× memory reduction, 1.5× speed-up*. Two numbers "
        "that do not seem to belong together. Take Llama-2-7B at batch 1 with an empty context. "
        "Decode is memory-bound there, so the time is the **streamed** bytes over the bandwidth. "
        "INT4 applies to the matrices in the layers. The head and the norms stay at 16 bits, and "
        "of the input embedding one row is read, as ever.\n\n"
        "**How many times faster than in BF16 can decode get, at most?** Two decimals."
    ),
    answer_name="bound_7b",
    draw=_draw_bound,
    reference=_bound,
    mistakes=(
        Mistake(
            Code.NAME_NOT_SIZE,
            "You divided 16 by 4. INT4 has more than four bits per weight, and not every weight is "
            "in INT4.",
            lambda g: 16 / 4,
        ),
        Mistake(
            Code.HEAD_QUANTIZED,
            "That is what the matrices alone allow, or a head in INT4. Such checkpoints keep the "
            "head at 16 bits, and every token reads it.",
            lambda g: _bound(g, rest=False),
        ),
        Mistake(
            Code.SCALES_FORGOTTEN,
            "You counted four bits for each weight. Scales and zero points are read too: 4.1.",
            lambda g: _bound(g, bits=4.0),
        ),
        Mistake(
            Code.EMBEDDING_STREAMED,
            "You counted the input embedding. It lies in memory, but a step reads one row of it.",
            lambda g: _bound(g, kept=float(g.params_embedding)),
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "That is the chapter's number, which somebody measured somewhere. Asked: the most that "
            "these bytes allow.",
            lambda g: g.claimed,
        ),
        Mistake(
            Code.INVERTED,
            "This is new bytes over old ones. A speed-up is old time over new time.",
            lambda g: 1 / _bound(g),
        ),
    ),
    hints=(
        "At batch 1 time follows the streamed bytes. Count them twice, once in each format.",
        "(all streamed parameters × 2 bytes) ÷ (matrices × bits/8 + the rest × 2 bytes).",
        "2 · (matrices + rest) / (matrices · bits_per_weight / 8 + 2 · rest)",
    ),
    solution=(
        "before = 2 * (g.params_matrices + g.params_rest)\n"
        "after = g.params_matrices * g.bits_per_weight / 8 + 2 * g.params_rest\n"
        "bound_7b = before / after"
    ),
    praise=(
        "So 4× is a little too much, and 1.5× is not wrong but less than half of the bound. "
        "Somebody measured it; what ate the rest is this lab's question."
    ),
    claim="E105",
)


# --- 1.3 the knee moves ---------------------------------------------------------------------------


def _draw_knee(draw: Draw) -> tuple[Given, ...]:
    chip = draw.facts.accelerator("A10G")
    return (
        given.bandwidth(chip),
        given.peak(chip, "fp16"),
        bits_given(draw.facts.format("int4")),
    )


def _knee(g: Givens, bits: float | None = None) -> float:
    bits = float(g.bits_per_weight) if bits is None else bits
    return float(g.peak_tflops * 1e12 / (g.bandwidth_gbps * 1e9) * bits / 8 / 2)


KNEE_INT4 = Exercise(
    id="1.3",
    title="The knee moves",
    objective=BYTES,
    points=1,
    tier=Tier.CORE,
    kind=Quantity("sequences", Tolerance.FORMULA),
    statement=(
        "In Lab 01 the *knee* was the batch at which reading a weight takes as long as multiplying "
        "with it. Now the weights are INT4 (with scales, as in 4.1), on an A10G. The arithmetic "
        "stays FP16: the kernel turns each weight into FP16 just before it multiplies, and that "
        "turning costs nothing in this exercise. The KV cache is left out.\n\n"
        "**At which batch is the knee?** One decimal is enough."
    ),
    answer_name="knee_int4",
    draw=_draw_knee,
    reference=_knee,
    mistakes=(
        Mistake(
            Code.BYTES_PER_WEIGHT,
            "That is the knee of BF16 weights, two bytes each. INT4 reads about a quarter.",
            lambda g: _knee(g, 16.0),
        ),
        Mistake(
            Code.OTHER_QUANTITY,
            "That is the knee of INT8. INT4 takes 4.16 bits per weight.",
            lambda g: _knee(g, 8.0),
        ),
        Mistake(
            Code.SCALES_FORGOTTEN,
            "You counted four bits. The scales are read too: 4.15625 bits per weight.",
            lambda g: _knee(g, 4.0),
        ),
        Mistake(
            Code.INVERTED,
            "The wrong way. Fewer bytes are read sooner, so a smaller batch is enough to keep the "
            "arithmetic busy.",
            lambda g: _knee(g, 16.0) * 16 / g.bits_per_weight,
        ),
        Mistake(
            Code.MAC_ONE_FLOP,
            "Twice too large: a weight and a sequence are two FLOP, a multiplication and an "
            "addition.",
            lambda g: 2 * _knee(g),
        ),
        Mistake(
            Code.BITS_AS_BYTES,
            "Eight times too large: bits_per_weight is in bits, and a byte has eight.",
            lambda g: 8 * _knee(g),
        ),
    ),
    hints=(
        "Reading one weight, and multiplying it with each sequence: when do both take as long?",
        "Ridge point (FLOP per byte) times bytes per weight, divided by 2 FLOP per sequence.",
        "peak / bandwidth · (bits_per_weight / 8) / 2",
    ),
    solution=(
        "ridge = g.peak_tflops * 1e12 / (g.bandwidth_gbps * 1e9)\n"
        "knee_int4 = ridge * g.bits_per_weight / 8 / 2"
    ),
    praise=(
        "With BF16 weights it was at 117. From knee to knee INT4's gain shrinks, and beyond 117 "
        "nothing is left of it: both then wait for the same arithmetic."
    ),
    claim="E005",
)
