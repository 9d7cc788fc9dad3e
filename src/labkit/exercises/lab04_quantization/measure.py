"""Lab 04, exercise 4.11: one model in a dozen formats, measured, and judged for plausibility."""

from __future__ import annotations

import math
import statistics

from labkit.contract.codes import Code
from labkit.contract.record import Record
from labkit.exercises.kinds import MeasurementKind
from labkit.exercises.kinds.plausible import ascending, ratio
from labkit.exercises.lab04_quantization.objectives import LOSS
from labkit.exercises.lab04_quantization.reading import (
    REFERENCE,
    TRAP,
    entries,
    is_original,
    losses,
    number,
)
from labkit.exercises.spec import Exercise, Tier

Remark = tuple[Code, str] | None

TIMED = ("fp32", "bf16", "fp16")
SAME = 0.002  # perplexities closer than this are the same one


def bytes_of(key: str) -> str:
    """Path of a format's bytes in the record."""
    return f"formats.{key}.weight_bytes"


def loss_of(key: str) -> str:
    """Path of a format's perplexity in the record."""
    return f"formats.{key}.perplexity"


def _perplexities_follow(record: Record) -> Remark:
    """Each perplexity is exp of its windows' mean loss, and each format has its bytes."""
    for key in entries(record):
        number(record, key, "weight_bytes")
        follows = math.exp(statistics.fmean(losses(record, key)))
        if not math.isclose(follows, number(record, key, "perplexity"), rel_tol=1e-3):
            return Code.UNPLAUSIBLE, (
                f"The perplexity of {key!r} is not what its windows' losses give. Run it again."
            )
    return None


def _grid(record: Record) -> Remark:
    """A reference made from Q4_1 loses nothing by being rounded to Q4_1 again."""
    if is_original(record) or TRAP not in entries(record):
        return None
    there, back = (number(record, key, "perplexity") for key in (REFERENCE, TRAP))
    if math.isclose(there, back, rel_tol=SAME):
        return None
    return Code.UNPLAUSIBLE, (
        "The reference was made from a Q4_1 file, yet rounding it to Q4_1 again changes it. "
        "That cannot be: run the bench again."
    )


def _under_the_bandwidth(record: Record) -> Remark:
    """FP32 decode does not read its weights faster than they were read alone."""
    rate = number(record, REFERENCE, "weight_bytes") / (record.median("torch.fp32.step") / 1e3)
    limit = 1.6 * record.median("read.fp32") * 1e9
    return None if rate <= limit else (Code.OVER_THE_ROOF, (
        "FP32 decode streams its weights faster than memory was measured to be. The machine was "
        "disturbed: run the bench again."
    ))  # fmt: skip


MEASURE = Exercise(
    id="4.11",
    title="One model, a dozen formats",
    objective=LOSS,
    points=1,
    tier=Tier.OWN,
    kind=MeasurementKind(
        bench="quantization",
        series=(*(f"torch.{key}.{what}" for key in TIMED for what in ("step", "cpu")), "read.fp32"),
        checks=(
            _perplexities_follow,
            ratio(
                bytes_of("fp32"),
                bytes_of("bf16"),
                1.95,
                2.05,
                "BF16 takes half the bytes of FP32. These do not: run the bench again.",
            ),
            ascending(
                bytes_of("q4_0"),
                bytes_of("q4_1"),
                bytes_of("q8_0"),
                bytes_of("bf16"),
                says="More bits must take more bytes. Run the bench again.",
            ),
            ratio(
                loss_of("q8_0"),
                loss_of("fp32"),
                0.98,
                1.02,
                "Q8_0 stays within 2 % of the reference's perplexity. Yours does not: run it "
                "again.",
            ),
            ascending(
                loss_of("q8_0"),
                loss_of("q4_0"),
                loss_of("rtn2"),
                says="Four bits lose more than eight, and two more than four. Yours do not: run "
                "the bench again.",
            ),
            ratio(
                "kv.int8.perplexity",
                loss_of("fp32"),
                0.95,
                1.05,
                "An INT8 cache changes perplexity by a few percent at most. Run the bench again.",
            ),
            ratio(
                "kv.fp32.bytes_per_token",
                "kv.int8.bytes_per_token",
                2.0,
                4.0,
                "An INT8 cache takes between a quarter and half of the FP32 one. Run it again.",
            ),
            _grid,
            _under_the_bandwidth,
        ),
    ),
    statement=(
        "`bench.quantization()` takes SmolLM2-135M through a dozen formats. In each it scores the "
        "same pages of a text, and where an engine can run the format it times decode, in eager "
        "torch and in llama.cpp. It takes about four minutes on a quiet machine.\n\n"
        "**Hand in the record.** Any speed earns the point. In a hurry, or on a busy machine, take "
        "the recording: `bench.quantization(replay=True)` earns the same, and its label says whose "
        "machine it was. A format that cannot run here is left out, with the reason. "
        'After a restart of the kernel `bench.last("quantization")` gives your own record back.'
    ),
    answer_name="quantized",
    draw=lambda _draw: (),
    reference=lambda _g: None,
    mistakes=(),
    hints=(
        "The answer is what bench.quantization() returns, not a number taken from it.",
        "quantized = bench.quantization(), then hand `quantized` to the check.",
        "On a busy or borrowed machine: quantized = bench.quantization(replay=True)",
    ),
    solution="quantized = bench.quantization()\nquantized",
    praise="Bytes, speed and loss of one model, on the same tokens. Now read it.",
)
