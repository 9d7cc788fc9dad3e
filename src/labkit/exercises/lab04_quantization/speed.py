"""Lab 04, exercise 4.14: who turns fewer bytes into less time, read off one's own record."""

from __future__ import annotations

from labkit.contract.codes import Code
from labkit.contract.errors import LabkitError
from labkit.contract.givens import Given, Givens
from labkit.contract.record import Record
from labkit.exercises import given
from labkit.exercises.kinds import Choice, Option
from labkit.exercises.lab04_quantization.objectives import BYTES
from labkit.exercises.lab04_quantization.reading import REFERENCE, entries, label
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

SMALLER = {
    "torch": ("bf16", "fp16", "bnb_int8", "bnb_nf4"),
    "llama": ("fp16", "q8_0", "q4_1", "q4_0"),
}
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


def _times(record: Record, engine: str, name: str) -> list[Given]:
    there = timed(record, engine, (REFERENCE, *SMALLER[engine]))
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
    return (*_times(record, "torch", "eager torch"), *_times(record, "llama", "llama.cpp"))


def speedups(g: Givens, engine: str) -> list[float]:
    """FP32's time over each smaller format's, in this engine."""
    times = [float(g[name]) for key in SMALLER[engine] if (name := f"{engine}_{key}_ms") in g]
    return [float(g[f"{engine}_{REFERENCE}_ms"]) / ms for ms in times]


def _right(g: Givens) -> str:
    torch, llama = (min(speedups(g, engine)) >= GAIN for engine in ("torch", "llama"))
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
            Option("both", "in both engines: time follows bytes, whatever the format"),
            Option(
                "llama",
                "in llama.cpp, which has a kernel for each of its formats; in eager torch some "
                "smaller format gains nothing",
            ),
            Option("torch", "in eager torch; in llama.cpp some smaller format gains nothing"),
            Option("neither", "in neither: in both engines some smaller format gains nothing"),
        )
    ),
    statement=(
        "The givens are your own times of one token. Work out the **speed-up** of each smaller "
        "format: FP32's time over its own. torch is compared with torch, llama.cpp with llama.cpp. "
        f"Call it faster from {GAIN} times on; runs differ by less.\n\n"
        "**In which engine is every smaller format faster?**"
    ),
    answer_name="who_gains",
    draw=_draw,
    reference=_right,
    mistakes=(
        Mistake(
            Code.EXPECTATION_NOT_MEASUREMENT,
            "That is the rule, not your record. Go through the times engine by engine: at least "
            f"one smaller format is not {GAIN} times as fast as FP32.",
            lambda g: _unless("both", g),
        ),
        Mistake(
            Code.UNSUPPORTED_CAUSE,
            "Your times do not bear this one. Divide FP32's time by each smaller format's, first "
            f"for torch, then for llama.cpp, and look for quotients below {GAIN}.",
            lambda g: _unless("llama", g),
        ),
        Mistake(
            Code.INVERTED,
            "Check which time you divided by which: speed-up = FP32's time ÷ the smaller format's, "
            "within one engine.",
            lambda g: _unless("torch", g),
        ),
        Mistake(
            Code.WRONG_ROOF,
            f"In one engine at least every smaller format reaches {GAIN}. Bytes do count on this "
            "machine, where the kernel lets them.",
            lambda g: _unless("neither", g),
        ),
    ),
    hints=(
        "One speed-up for each format. Never divide one engine's time by the other's.",
        "FP32's ms ÷ the format's ms; the smallest of an engine's speed-ups decides for it.",
        "torch_fp32_ms / max(torch_…_ms) and llama_fp32_ms / max(llama_…_ms), each against 1.25",
    ),
    solution=(
        "def all_gain(engine):\n"
        '    times = {n: g[n] for n in g if n.startswith(engine) and n.endswith("_ms")}\n'
        '    fp32 = times.pop(f"{engine}_fp32_ms")\n'
        "    return fp32 / max(times.values()) >= 1.25\n\n\n"
        "who_gains = {\n"
        '    (False, True): "llama",\n'
        '    (True, True): "both",\n'
        '    (True, False): "torch",\n'
        '    (False, False): "neither",\n'
        '}[all_gain("torch"), all_gain("llama")]'
    ),
    praise=("Read off your own numbers. Why it is so, and where the line is left, comes next."),
    claim="E105",
    needs=("quantization",),
)
