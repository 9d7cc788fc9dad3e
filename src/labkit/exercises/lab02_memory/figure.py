"""Lab 02, exercise 2.9: where the memory of one card goes, as one stacked bar."""

from __future__ import annotations

import math
import re
from typing import Any

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises.kinds import FigureKind
from labkit.exercises.lab02_memory.budget import (
    GIB,
    MIB,
    pool,
    room,
    split_weights,
    weights_of,
)
from labkit.exercises.lab02_memory.shapes import CACHE
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

PARTS = ("weights", "engine", "KV cache", "not used")
UNITS = {"MIB": 2**20, "GIB": 2**30, "MB": 1e6, "GB": 1e9, "BYTES": 1.0}
_UNIT = re.compile(r"(?<![A-Z])(MIB|GIB|MB|GB|BYTES)(?![A-Z])")
_PICKS = (
    ("llama-2-7b", "fp16"),
    ("llama-2-7b", "int8"),
    ("llama-2-13b", "int8"),
    ("llama-2-13b", "int4"),
    ("llama-3.1-8b", "fp16"),
    ("llama-3.1-8b", "int4"),
    ("mistral-7b", "fp16"),
    ("mistral-7b", "int8"),
    ("qwen2.5-7b", "fp16"),
    ("qwen3-8b", "int8"),
)

HOW = {
    "weights": "params_matrices in your format, and params_rest at 2 bytes each",
    "engine": "1 GiB, which is 1,024 MiB",
    "KV cache": "90 % of the card, less weights and engine",
    "not used": "10 % of the card's usable memory",
}

Remark = tuple[Code, str] | None


def _draw(draw: Draw) -> tuple[Given, ...]:
    name, fmt_name = draw.rng.choice(_PICKS)
    model, fmt = draw.facts.model(name), draw.facts.format(fmt_name)
    return (
        Given("model", model.name, "", "your model", "drawn by your learner id"),
        Given("weights", fmt.name, "", "its weights", "drawn by your learner id"),
        *split_weights(model, fmt),
        *room(draw.facts.instance("g5.xlarge")),
    )


def segments(g: Givens) -> dict[str, float]:
    """Bytes of each part; together they are the usable memory."""
    return {
        "weights": weights_of(g),
        "engine": float(g.overhead_gib) * GIB,
        "KV cache": pool(g, weights_of(g)),
        "not used": (1 - float(g.gpu_memory_utilization)) * float(g.usable_mib) * MIB,
    }


# --- checks: each looks at one Axes in wire form ---------------------------------------------


def _upright(ax: dict[str, Any]) -> bool:
    """Drawn with ax.bar and not with ax.barh: then the bars share their width, not their height."""
    widths = {round(float(bar["width"]), 6) for bar in ax["bars"]}
    heights = {round(float(bar["height"]), 6) for bar in ax["bars"]}
    return len(widths) <= len(heights)


def _unit(ax: dict[str, Any]) -> float | None:
    label = ax["y" if _upright(ax) else "x"]["label"].upper()
    found = _UNIT.search(label)
    return UNITS[found.group(1)] if found else None


def _part(ax: dict[str, Any], part: str) -> tuple[float, float] | None:
    """Start and length of the bar with this label, in the axis' unit."""
    upright = _upright(ax)
    for bar in ax["bars"]:
        if bar["label"].strip().lower().startswith(part.lower()):
            start, length = (bar["y"], bar["height"]) if upright else (bar["x"], bar["width"])
            return float(start), float(length)
    return None


def all_parts(ax: dict[str, Any], _g: Givens) -> Remark:
    """One bar for each part."""
    for part in PARTS:
        if _part(ax, part) is None:
            return Code.SERIES_MISSING, (
                f"There is no bar labelled {part!r}: draw each part with its own ax.bar(…, "
                f"label={part!r})."
            )
    return None


def labelled(ax: dict[str, Any], _g: Givens) -> Remark:
    """A unit on the axis of lengths."""
    if _unit(ax) is None:
        return Code.AXIS_LABEL, (
            "The axis of sizes does not say its unit. Put MiB, GiB, MB or GB into its label."
        )
    return None


def lengths(ax: dict[str, Any], g: Givens) -> Remark:
    """Every part as long as the budget says."""
    unit = _unit(ax) or 1.0
    drawn = {part: (_part(ax, part) or (0.0, 0.0))[1] * unit for part in PARTS}
    right = segments(g)
    wrong = [p for p in PARTS if not math.isclose(drawn[p], right[p], rel_tol=0.01)]
    if not wrong:
        return None
    ratios = {drawn[p] / right[p] for p in PARTS}
    if max(ratios) < 1.02 * min(ratios):
        return Code.PREFIX, (
            "The parts are in the right proportion, but not in the unit that the axis says."
        )
    as_if = pool(g, weights_of(g), share=1.0)
    if math.isclose(drawn["KV cache"], as_if, rel_tol=0.01):
        return Code.UTILIZATION_FORGOTTEN, (
            "Your cache also fills the tenth that the engine leaves alone: the bar is longer than "
            "the card."
        )
    if "weights" in wrong and math.isclose(drawn["weights"], small(g), rel_tol=0.01):
        return Code.BYTES_PER_WEIGHT, (
            "You gave all parameters the small format. The tables and norms (params_rest) stay at "
            "2 bytes."
        )
    first = wrong[0]
    total = sum(drawn.values())
    if not math.isclose(total, float(g.usable_mib) * MIB, rel_tol=0.01):
        return Code.MAGNITUDE, (
            f"The four parts together are {total / MIB:,.0f} MiB. The card has "
            f"{g.usable_mib:,} MiB. Look at {first!r} first: {HOW[first]}."
        )
    side = "long" if drawn[first] > right[first] else "short"
    return Code.OTHER, (
        f"Your {first!r} is {drawn[first] / MIB:,.0f} MiB, which is too {side}. It is {HOW[first]}."
    )


def stacked(ax: dict[str, Any], _g: Givens) -> Remark:
    """Each part begins where another ends."""
    placed = sorted(found for part in PARTS if (found := _part(ax, part)) is not None)
    edge = 0.0
    for start, length in placed:
        if not math.isclose(start, edge, rel_tol=0.01, abs_tol=0.01 * placed[-1][1]):
            return Code.NOT_STACKED, (
                "The parts are not on top of each other. Give each its start: bottom=… in ax.bar, "
                "left=… in ax.barh."
            )
        edge = start + length
    return None


# --- the figure, right and wrong -------------------------------------------------------------


def small(g: Givens) -> float:
    """All parameters in the small format, tables and norms too."""
    return float((g.params_matrices + g.params_rest) * g.bytes_per_weight)


def plot(
    g: Givens,
    *,
    stack: bool = True,
    unit: bool = True,
    whole_card: bool = False,
    all_small: bool = False,
) -> Any:
    """The figure; the keywords make the known mistakes."""
    from matplotlib.figure import Figure

    parts = segments(g)
    if whole_card:
        parts["KV cache"] = pool(g, weights_of(g), share=1.0)
    if all_small:
        parts |= {"weights": small(g), "KV cache": pool(g, small(g))}
    ax = Figure(figsize=(4, 5)).add_subplot()
    start = 0.0
    for place, (part, size) in enumerate(parts.items()):
        x = 0 if stack else place
        ax.bar([x], [size / MIB], bottom=start if stack else 0.0, label=part)
        start += size / MIB
    ax.set_ylabel("MiB" if unit else "memory")
    return ax


SOLUTION = """\
mib = 2**20
weights = (g.params_matrices * g.bytes_per_weight + g.params_rest * 2) / mib
engine = g.overhead_gib * 1024
not_used = (1 - g.gpu_memory_utilization) * g.usable_mib
kv_cache = g.usable_mib - weights - engine - not_used

fig, ax = plt.subplots(figsize=(8, 2.4))
start = 0
for part, size, hatch in (
    ("weights", weights, ""),
    ("engine", engine, "xx"),
    ("KV cache", kv_cache, "//"),
    ("not used", not_used, ".."),
):
    ax.barh([0], [size], left=start, label=f"{part}: {size:,.0f} MiB", hatch=hatch, edgecolor="w")
    start += size
ax.set_xlabel("memory of one A10G (MiB)")
ax.set_title(f"{g.model}, weights in {g.weights.upper()}", loc="left")
ax.legend(ncols=2, loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
ax.set_yticks([])
ax.spines[["top", "right", "left"]].set_visible(False)
fig.tight_layout()"""

FIGURE = Exercise(
    id="2.9",
    title="Where 22,888 MiB go",
    objective=CACHE,
    points=2,
    tier=Tier.PERSONAL,
    kind=FigureKind(
        signature="ax",
        doc=(
            "One stacked bar (ax.bar with bottom=, or ax.barh with left=), four labelled parts:\n"
            '"weights", "engine", "KV cache", "not used". A unit in the axis label.'
        ),
        checks=(all_parts, labelled, lengths, stacked),
    ),
    statement=(
        "Draw the memory of one A10G as a single stacked bar, for the model that your learner id "
        "has drawn. It has four parts, and together they are the card's usable memory:\n\n"
        '- `"weights"`: matrices in your format, the rest at 16 bits, as in 2.4\n'
        '- `"engine"`: its own 1 GiB\n'
        '- `"KV cache"`: what is left of the engine\'s 90 %\n'
        '- `"not used"`: the 10 % that the engine leaves alone\n\n'
        "Give each part a call of `ax.bar` or `ax.barh` with its label (a number may follow it), "
        "and put the unit into the axis label: MiB, GiB, MB or GB. The checker reads the bars' "
        "sizes, not the picture, so style it as you like."
    ),
    answer_name="ax",
    draw=_draw,
    reference=plot,
    mistakes=(
        Mistake(
            Code.NOT_STACKED,
            "The parts are not on top of each other. Give each its start: bottom=… in ax.bar, "
            "left=… in ax.barh.",
            lambda g: plot(g, stack=False),
        ),
        Mistake(
            Code.AXIS_LABEL,
            "The axis of sizes does not say its unit. Put MiB, GiB, MB or GB into its label.",
            lambda g: plot(g, unit=False),
        ),
        Mistake(
            Code.UTILIZATION_FORGOTTEN,
            "Your cache also fills the tenth that the engine leaves alone: the bar is longer than "
            "the card.",
            lambda g: plot(g, whole_card=True),
        ),
        Mistake(
            Code.BYTES_PER_WEIGHT,
            "You gave all parameters the small format. The tables and norms (params_rest) stay at "
            "2 bytes.",
            lambda g: plot(g, all_small=True) if g.bytes_per_weight < 2 else None,
        ),
    ),
    hints=(
        "The cache is what remains: work out the three other parts first.",
        "weights + engine + KV cache = 90 % of the card; the last part is the other 10 %.",
        "kv_cache = usable_mib − weights / 2^20 − 1024 · overhead_gib − 0.1 · usable_mib",
    ),
    solution=SOLUTION,
    praise="Every sizing question about memory is this bar, with other numbers.",
    claim="E174",
)
