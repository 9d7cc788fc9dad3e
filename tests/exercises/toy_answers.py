"""Toy exercises of the other kinds that measuring labs ask for, each with its known mistakes.

Answers are source text, as a learner types them; `before` is what stands above them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from labkit.contract import Code, Given, Record, Series
from labkit.contract.answer import encode
from labkit.contract.arrays import drawn
from labkit.contract.givens import Givens
from labkit.exercises import Exercise, Mistake, Tier, given
from labkit.exercises.kinds import (
    DecisionKind,
    FigureKind,
    FunctionKind,
    IntervalKind,
    MeasurementKind,
    Stated,
    arrays,
    axes,
    intervals,
    plausible,
)
from labkit.exercises.spec import Draw

# --- arrays: bit-exact integers, a scale, and an error bound ----------------------------------

INT8 = """
import numpy as np


def quantize(w):
    scale = np.abs(w).max(axis=1, keepdims=True) / 127
    q = np.clip(np.round(w / scale), -127, 127).astype(np.int8)
    return q, scale
"""
INT8_MISTAKES = {
    Code.PER_TENSOR: INT8.replace(".max(axis=1, keepdims=True)", ".max(keepdims=True)"),
    Code.WRONG_AXIS: INT8.replace("axis=1", "axis=0"),
    Code.ASYMMETRIC: INT8.replace("/ 127", "/ 127.5"),
    Code.TRUNCATED: INT8.replace("np.round(w / scale)", "np.trunc(w / scale)"),
}


def _weights(g: Givens) -> Any:
    import numpy as np

    rng = np.random.default_rng(int(g.seed))
    w = rng.standard_normal((12, 48)) * rng.uniform(0.1, 3, (12, 1))
    return arrays.clear_of_ties(w, np.abs(w).max(axis=1, keepdims=True) / 127)


def _seed(draw: Draw) -> tuple[Given, ...]:
    return (Given("seed", draw.rng.randrange(1 << 30), "", "seed"),)


def _functions(name: str, wrong: Mapping[Code, str]) -> tuple[Mistake, ...]:
    return tuple(
        Mistake(code, f"The sentence of {code}.", lambda _g, text=text: made(text, name))
        for code, text in wrong.items()
    )


def made(source: str, name: str, **before: Any) -> Any:
    """What stands under `name` once the source has run."""
    space: dict[str, Any] = dict(before)
    exec(source, space)
    return space[name]


def toy(id: str, name: str, kind: Any, **fields: Any) -> Exercise:
    plain: dict[str, Any] = {
        "title": name,
        "objective": "count",
        "points": 1,
        "tier": Tier.TRANSFER,
        "statement": "Do it.",
        "draw": _seed,
        "mistakes": (),
        "hints": ("one", "two", "three"),
        "solution": "",
    }
    return Exercise(id=id, answer_name=name, kind=kind, **{**plain, **fields})


INT8_EXERCISE = toy(
    "90.3",
    "quantize",
    FunctionKind(
        signature="quantize(w)",
        doc="Symmetric INT8 with one scale per row: (q, scale).",
        arguments=(),
        pack=lambda g: (encode(_weights(g)),),
        special=lambda _args: False,
        describe=lambda _args: "a weight matrix",
        rel_tol=1e-5,
        properties=(
            arrays.stored_as(0, "int8"),
            arrays.between(0, -127, 127),
            arrays.within_half_a_step(lambda args, r: (args[0] - r[0] * r[1], r[1])),
        ),
    ),
    reference=lambda _g: made(INT8, "quantize"),
    mistakes=_functions("quantize", INT8_MISTAKES),
    solution=INT8,
)

# Only the property decides: any grid that is fine enough is right.
COARSE = "import numpy as np\n\n\ndef snap(w, step):\n    return np.round(w / step) * step\n"
PROPERTY_EXERCISE = toy(
    "90.4",
    "snap",
    FunctionKind(
        signature="snap(w, step)",
        doc="Round to a grid at least as fine as `step`.",
        arguments=(),
        pack=lambda g: (encode(_weights(g)), 0.01),
        special=lambda _args: False,
        compare=False,
        properties=(
            arrays.shaped(None, lambda args: args[0].shape),
            arrays.within_half_a_step(lambda args, r: (args[0] - r, args[1])),
        ),
    ),
    reference=lambda _g: made(COARSE, "snap"),
    mistakes=_functions("snap", {Code.TRUNCATED: COARSE.replace("np.round", "np.trunc")}),
    solution=COARSE,
)

# --- memory: blocks of rows instead of the n-by-n matrix --------------------------------------

MIB = 1 << 20
LONG = 5120  # its score matrix takes 200 MiB, a block of 128 rows 5 MiB
ATTENTION = """
import numpy as np


def attention(q, k, v, block=128):
    out = np.empty((len(q), v.shape[1]))
    for at in range(0, len(q), block):
        scores = q[at : at + block] @ k.T / np.sqrt(q.shape[1])
        scores -= scores.max(axis=1, keepdims=True)
        weights = np.exp(scores)
        out[at : at + block] = weights @ v / weights.sum(axis=1, keepdims=True)
    return out
"""
ATTENTION_MISTAKES = {
    Code.MEMORY_LIMIT: ATTENTION.replace("block=128", "block=1 << 30"),
    Code.NOT_FINITE: ATTENTION.replace(
        "        scores -= scores.max(axis=1, keepdims=True)\n", "        scores += 800\n"
    ),
}


def _qkv(seed: int, rows: int, columns: int) -> tuple[Any, ...]:
    return tuple(drawn(seed + i, (rows, columns)) for i in range(3))


ATTENTION_EXERCISE = toy(
    "90.5",
    "attention",
    FunctionKind(
        signature="attention(q, k, v)",
        doc="Softmax attention, equal to the reference to 1e-5, in O(n) memory.",
        arguments=(),
        pack=lambda g: _qkv(int(g.seed), 200, 16),
        edges=lambda g: (_qkv(int(g.seed), LONG, 4),),
        special=lambda args: args[0]["shape"][0] == LONG,
        describe=lambda args: f"{args[0]['shape'][0]:,} tokens",
        plain="short sequences",
        rel_tol=1e-5,
        abs_tol=1e-7,
        memory=64 * MIB,
    ),
    reference=lambda _g: made(ATTENTION, "attention"),
    mistakes=_functions("attention", ATTENTION_MISTAKES),
    solution=ATTENTION,
)

# --- intervals from a record ------------------------------------------------------------------

BASE = (101.0, 94.0, 120.0, 88.0, 110.0, 97.0, 131.0, 105.0)
GAIN = (3.1, 2.4, 4.4, 2.2, 3.3, 2.1, 3.9, 2.8)


def pairs_record(base: Sequence[float] = BASE, gain: Sequence[float] = GAIN) -> Record:
    return Record(
        id="speed",
        title="Toy",
        live=True,
        made_on="2026-11-30",
        hardware={"summary": "an invented machine"},
        versions={},
        series=(
            Series("one", "ms", tuple(base)),
            Series("two", "ms", tuple(b + g for b, g in zip(base, gain, strict=True))),
        ),
        facts={"bytes": {"fp16": 200, "int8": 100, "int4": 55}},
    )


def _pairs(draw: Draw) -> tuple[Given, ...]:
    record = draw.records["speed"]
    return (given.samples(record, "one", "one", "one"), given.samples(record, "two", "two", "two"))


def _differences(g: Givens) -> list[float]:
    return [b - a for a, b in zip(g.one, g.two, strict=True)]


_INTERVALS: Mapping[Code, Callable[[Givens], Any]] = {
    Code.UNPAIRED: lambda g: intervals.welch(g.one, g.two),
    Code.ONE_SIDED: lambda g: intervals.one_sided(_differences(g)),
    Code.SPREAD_NOT_ERROR: lambda g: intervals.spread(_differences(g)),
    Code.OTHER_LEVEL: lambda g: intervals.mean_t(_differences(g), 0.99),
    Code.RAW_MEANS: lambda g: intervals.mean_t(g.two),
}
_WINDOWS: Mapping[Code, Callable[[Givens], Any]] = {
    Code.UNPAIRED: lambda g: intervals.welch(g.one, g.two),
    Code.ONE_SIDED: lambda g: intervals.one_sided(_differences(g)),
}
INTERVAL_EXERCISE = toy(
    "90.6",
    "interval",
    IntervalKind("ms"),
    tier=Tier.OWN,
    needs=("speed",),
    draw=_pairs,
    reference=lambda g: intervals.paired_t(g.one, g.two),
    mistakes=tuple(Mistake(c, f"The sentence of {c}.", make) for c, make in _INTERVALS.items()),
)

# From twenty samples on two methods are right: Student's t, and the bootstrap over pairs.
WINDOWS_EXERCISE = toy(
    "90.10",
    "interval",
    IntervalKind("ms"),
    tier=Tier.OWN,
    needs=("speed",),
    draw=_pairs,
    reference=lambda g: (
        intervals.paired_t(g.one, g.two),
        intervals.paired_bootstrap(g.one, g.two),
    ),
    mistakes=tuple(Mistake(c, f"The sentence of {c}.", make) for c, make in _WINDOWS.items()),
)

# --- a decision that follows from a stated budget ---------------------------------------------

RISE = {"fp16": (0.0, 0.1), "int8": (0.4, 0.9), "int4": (3.0, 9.0)}  # point, upper end, percent
SIZES = {"fp16": 200, "int8": 100, "int4": 55}


def _allowed(budget: float) -> list[str]:
    return [f for f in sorted(SIZES, key=SIZES.__getitem__) if RISE[f][1] <= budget]


def _why(_g: Givens, stated: Mapping[str, float], chosen: str) -> Code | None:
    budget = stated["budget_percent"]
    if chosen in RISE and RISE[chosen][0] <= budget < RISE[chosen][1]:
        return Code.INTERVAL_IGNORED
    return Code.NOT_SMALLEST if chosen in _allowed(budget) else Code.OVER_THE_BUDGET


DECISION_EXERCISE = toy(
    "90.7",
    "decision",
    DecisionKind(
        stated=(Stated("budget_percent", "%", 0.1, 50, "how much perplexity may rise"),),
        choice="format",
        options=lambda _g: tuple(SIZES),
        right=lambda _g, stated: frozenset(_allowed(stated["budget_percent"])[:1]),
        why=_why,
    ),
    tier=Tier.OWN,
    draw=lambda _draw: (),
    reference=lambda _g: {"budget_percent": 2.0, "format": "int8"},
    mistakes=(
        Mistake(Code.INTERVAL_IGNORED, "The interval reaches over your budget.",
                lambda _g: {"budget_percent": 5.0, "format": "int4"}),
        Mistake(Code.NOT_SMALLEST, "A smaller one keeps your budget.",
                lambda _g: {"budget_percent": 2.0, "format": "fp16"}),
        Mistake(Code.OVER_THE_BUDGET, "It breaks your own budget.",
                lambda _g: {"budget_percent": 0.5, "format": "int4"}),
    ),
)  # fmt: skip

# --- a timeline -------------------------------------------------------------------------------

LENGTHS = {"a": 3, "b": 1, "c": 2, "d": 4}


def continuous(lengths: Mapping[str, int], slots: int = 2) -> dict[str, tuple[float, float]]:
    """(start, end) of each request: the next one takes the slot that is free first."""
    free, found = [0.0] * slots, {}
    for name, length in lengths.items():
        slot = free.index(min(free))
        found[name] = (free[slot], free[slot] + length)
        free[slot] += length
    return found


def static(lengths: Mapping[str, int], slots: int = 2) -> dict[str, tuple[float, float]]:
    """(start, end) where each batch waits for its longest request."""
    names, found, start = list(lengths), {}, 0.0
    for at in range(0, len(names), slots):
        batch = names[at : at + slots]
        found |= {name: (start, start + lengths[name]) for name in batch}
        start += max(lengths[name] for name in batch)
    return found


def gantt(schedule: Mapping[str, tuple[float, float]], *, broken: bool = False) -> Any:
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    free: list[float] = []
    for name, (start, end) in schedule.items():
        slot = next((i for i, t in enumerate(free) if t <= start), len(free))
        free[slot : slot + 1] = [end]
        if broken:
            ax.broken_barh([(start, end - start)], (slot - 0.4, 0.8), label=name)
        else:
            ax.barh([slot], [end - start], left=start, label=name)
    ax.set_xlabel("step")
    ax.annotate("here a slot is free", (1, 0.5))
    return ax


FIGURE_EXERCISE = toy(
    "90.8",
    "ax",
    FigureKind(
        signature="ax",
        doc="One bar per request.",
        checks=(
            axes.labelled("x", "step|time", "what runs along it (steps)"),
            axes.one_per_row(),
            axes.timeline(
                lambda _g: continuous(LENGTHS),
                wrong=((Code.IDLE_SLOT, lambda _g: static(LENGTHS)),),
                says={Code.IDLE_SLOT: "The sentence of idle-slot."},
            ),
            axes.annotated(lambda _g: ("free",)),
        ),
    ),
    tier=Tier.CORE,
    reference=lambda _g: gantt(continuous(LENGTHS)),
    mistakes=(
        Mistake(Code.IDLE_SLOT, "The sentence of idle-slot.", lambda _g: gantt(static(LENGTHS))),
    ),
)

# --- a measurement ----------------------------------------------------------------------------

MEASURE_EXERCISE = toy(
    "90.9",
    "record",
    MeasurementKind(
        bench="speed",
        series=("one", "two"),
        checks=(
            plausible.samples("one", 5, "Five runs at least."),
            plausible.ascending("bytes.int4", "bytes.int8", "bytes.fp16", says="Fewer bytes."),
            plausible.ratio("two", "one", 0.5, 2.0, "They cannot differ that much."),
            plausible.equal("bytes.int8", lambda r: r.facts["bytes"]["fp16"] / 2, "Half."),
            plausible.at_most("one", 500.0, "Slower than any machine."),
        ),
    ),
    tier=Tier.OWN,
    draw=lambda _draw: (),
    reference=lambda _g: None,
)  # fmt: skip
