"""Lab 04, exercise 4.14: who turns fewer bytes into less time, read off one's own record."""

from __future__ import annotations

from labkit.contract.codes import Code
from labkit.contract.errors import LabkitError
from labkit.contract.givens import Given, Givens
from labkit.contract.record import Record
from labkit.exercises import given
from labkit.exercises.kinds import Choice, Option
from labkit.exercises.lab04_quantization.objectives import BYTES
from labkit.exercises.lab04_quantization.reading import REFERENCE, entries, label, number
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

TORCH = ("bnb_int8", "bnb_nf4")
LLAMA = ("q8_0", "q4_0")
GAIN = 1.25  # a speed-up below this is called none: two runs differ by as much


def clock(record: Record) -> str:
    """ "cpu" where the record counts CPU time of its steps, else "step", the wall clock's."""
    return "step" if record.facts.get("device", "cpu") != "cpu" else "cpu"


def timed(record: Record, engine: str, keys: tuple[str, ...]) -> list[str]:
    """Of these formats those that the engine was timed with."""
    return [
        key
        for key in keys
        if key in entries(record) and f"{engine}.{key}.{clock(record)}" in record
    ]


def _times(record: Record, engine: str, keys: tuple[str, ...], name: str) -> list[Given]:
    there = timed(record, engine, (REFERENCE, *keys))
    if REFERENCE not in there or len(there) < 2:
        raise LabkitError(
            f"Your record has no times of {name} to compare. Install what its notes name, or take "
            "the recording: bench.quantization(replay=True)."
        )
    return [
        given.measured(
            record,
            f"{engine}.{key}.{clock(record)}",
            f"{engine}_{key}_ms",
            f"{name}, {label(record, key)}: one token",
            "ms",
        )
        for key in there
    ]


def _draw(draw: Draw) -> tuple[Given, ...]:
    record = draw.records["quantization"]
    whole = number(record, REFERENCE, "weight_bytes")
    shares = [
        Given(
            f"{key}_bytes_ratio",
            whole / number(record, key, "weight_bytes"),
            "x",
            f"{label(record, key)}: times fewer bytes than FP32",
        )
        for key in (*TORCH, *LLAMA)
        if key in entries(record)
    ]
    return (
        *_times(record, "torch", TORCH, "eager torch"),
        *_times(record, "llama", LLAMA, "llama.cpp"),
        *shares,
    )


def speedup(g: Givens, engine: str) -> float:
    """The best that a quantized format reaches in this engine, over FP32 in the same engine."""
    keys = TORCH if engine == "torch" else LLAMA
    times = [float(g[name]) for key in keys if (name := f"{engine}_{key}_ms") in g]
    return float(g[f"{engine}_{REFERENCE}_ms"]) / min(times)


def _right(g: Givens) -> str:
    torch, llama = (speedup(g, engine) >= GAIN for engine in ("torch", "llama"))
    return {
        (False, True): "llama",
        (True, True): "both",
        (True, False): "torch",
        (False, False): "neither",
    }[torch, llama]


def _unless(key: str, g: Givens) -> str | None:
    return None if key == _right(g) else key


CENTRE = Exercise(
    id="4.14",
    title="Half the bytes, twice the speed?",
    objective=BYTES,
    points=2,
    tier=Tier.OWN,
    kind=Choice(
        (
            Option(
                "both",
                "fewer bytes are faster in both engines, as the bandwidth rule has it",
            ),
            Option(
                "llama",
                "fewer bytes are faster in llama.cpp and not in eager torch: what counts is what "
                "the kernel reads while it multiplies, not what lies in memory",
            ),
            Option(
                "torch",
                "fewer bytes are faster in eager torch and not in llama.cpp",
            ),
            Option(
                "neither",
                "fewer bytes are faster in neither: decode is not limited by bytes on this machine",
            ),
        )
    ),
    statement=(
        "The givens are your own times of one token. For each engine work out the **speed-up**: "
        "FP32's time over the time of its fastest quantized format. torch is compared with torch, "
        f"llama.cpp with llama.cpp. Call it faster from {GAIN} times on; runs differ by less.\n\n"
        "**What does your record say about *half the bytes, twice the speed*?**"
    ),
    answer_name="who_gains",
    draw=_draw,
    reference=_right,
    mistakes=(
        Mistake(
            Code.EXPECTATION_NOT_MEASUREMENT,
            "That is the rule, not your record. Work out both speed-ups, each within its own "
            f"engine: one of them stays below {GAIN}.",
            lambda g: _unless("both", g),
        ),
        Mistake(
            Code.UNSUPPORTED_CAUSE,
            "Your times do not bear this one: either torch gains too, or llama.cpp does not. Work "
            "out FP32's time over the fastest quantized time, engine by engine.",
            lambda g: _unless("llama", g),
        ),
        Mistake(
            Code.INVERTED,
            "Check which time you divided by which: speed-up = FP32's time ÷ the quantized time.",
            lambda g: _unless("torch", g),
        ),
        Mistake(
            Code.WRONG_ROOF,
            f"One engine does gain: its fastest quantized format is at least {GAIN} times as fast "
            "as FP32 in the same engine. Bytes matter here, if the kernel lets them.",
            lambda g: _unless("neither", g),
        ),
    ),
    hints=(
        "Two speed-ups, one per engine. Never divide one engine's time by the other's.",
        "FP32's ms ÷ the smallest ms of a quantized format, for torch and for llama.cpp.",
        "torch_fp32_ms / min(torch_…_ms) and llama_fp32_ms / min(llama_…_ms), each against 1.25",
    ),
    solution=(
        "def gain(engine):\n"
        '    times = {n: g[n] for n in g if n.startswith(engine) and n.endswith("_ms")}\n'
        '    fp32 = times.pop(f"{engine}_fp32_ms")\n'
        "    return fp32 / min(times.values()) >= 1.25\n\n\n"
        "who_gains = {\n"
        '    (False, True): "llama",\n'
        '    (True, True): "both",\n'
        '    (True, False): "torch",\n'
        '    (False, False): "neither",\n'
        '}[gain("torch"), gain("llama")]'
    ),
    praise="Read off your own numbers. Why it is so, and where the line is left, comes next.",
    claim="E105",
    needs=("quantization",),
)
