"""Lab 01, exercise 1.12: the record of the learner's machine, judged for plausibility."""

from __future__ import annotations

from labkit.contract.codes import Code
from labkit.contract.record import Record
from labkit.exercises.given import counted
from labkit.exercises.kinds import MeasurementKind
from labkit.exercises.lab01_roofline.figure import OBJECTIVE
from labkit.exercises.spec import Exercise, Tier

SWEEP = (1, 2, 4, 8, 16, 32, 64)
FP32_BYTES = 4

Remark = tuple[Code, str] | None


def sweep_weights(record: Record) -> float:
    """FP32 weights of the decode-shaped product. Raises LabkitError where the record lacks them."""
    given_bytes = counted(record, "sweep.fp32.weight_bytes", "weights", "", "B").value
    return float(given_bytes) / FP32_BYTES


def _possible_bandwidth(record: Record) -> Remark:
    read, copy = record.median("bandwidth.read"), record.median("bandwidth.copy")
    if not 0.2 < read < 20_000:
        return Code.UNPLAUSIBLE, f"A read bandwidth of {read:,.3g} GB/s is not possible."
    if not 0.2 < copy / read < 3:
        return Code.UNPLAUSIBLE, (
            "Read and copy bandwidth differ by more than a factor of three. "
            "One of them was disturbed: run the bench again."
        )
    return None


def _products_under_the_peak(record: Record) -> Remark:
    peak = record.median("gemm.fp32") * 1e9
    weights = sweep_weights(record)
    for batch in SWEEP:
        rate = 2 * batch * weights / (record.median(f"sweep.fp32.b{batch}") / 1e3)
        if rate > 1.25 * peak:
            return Code.OVER_THE_ROOF, (
                f"The product at batch {batch} is faster than the peak that you measured. "
                "The peak was disturbed: run the bench again."
            )
    return None


def _reads_from_memory(record: Record) -> Remark:
    rate = FP32_BYTES * sweep_weights(record) / (record.median("sweep.fp32.b1") / 1e3) / 1e9
    if rate > 1.25 * record.median("bandwidth.read"):
        return Code.OVER_THE_ROOF, (
            "The product at batch 1 reads its weights faster than memory was measured to be. "
            "Run the bench again on a quiet machine."
        )
    return None


def _repeated(record: Record) -> Remark:
    few = [s.name for s in record.series if len(s.samples) < 3]
    if few:
        return Code.UNPLAUSIBLE, f"{few[0]!r} has fewer than three samples. Run the bench again."
    return None


MEASURE = Exercise(
    id="1.12",
    title="Measure your machine",
    objective=OBJECTIVE,
    points=1,
    tier=Tier.OWN,
    kind=MeasurementKind(
        bench="machine",
        series=(
            "bandwidth.read",
            "bandwidth.copy",
            "gemm.fp32",
            *(f"sweep.fp32.b{b}" for b in SWEEP),
        ),
        checks=(_repeated, _possible_bandwidth, _products_under_the_peak, _reads_from_memory),
    ),
    statement=(
        "`bench.machine()` measures three things on one thread: how fast memory can be read and "
        "copied, how fast a large matrix product runs, and how long a decode-shaped product takes "
        "at batch 1 to 64. It takes up to a minute. Close what you can close first.\n\n"
        "**Hand in the record.** Any speed earns the point; what is checked is whether the "
        "numbers can belong together. If the machine is too busy, the bench says so: close "
        "something and run it again, or take a recording of another machine with "
        "`bench.machine(replay=True)`. Running the cell again measures again; "
        '`bench.last("machine")` gives the last record back.'
    ),
    answer_name="machine",
    draw=lambda _draw: (),
    reference=lambda _g: None,
    mistakes=(),
    hints=(
        "The answer is what bench.machine() returns, not a number taken from it.",
        "machine = bench.machine(), then hand `machine` to the check.",
        "On a busy or borrowed machine: machine = bench.machine(replay=True)",
    ),
    solution="machine = bench.machine()\nmachine",
    praise="Three numbers that stand on no box: read bandwidth, peak, and what a batch costs.",
)
