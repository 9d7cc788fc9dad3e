"""Lab 01, exercise 1.8: the roofline of seven accelerators and the learner's own machine."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from labkit.contract.codes import Code
from labkit.contract.givens import Given, Givens
from labkit.exercises import given
from labkit.exercises.kinds import FigureKind
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

OBJECTIVE = "put your own machine on a roofline"
ROOFS = ("T4", "A10G", "L4", "L40S", "A100-40GB", "H100", "Inferentia2")
BATCHES = (1, 4, 16, 64)
MINE, POINTS = "my machine", "measured"
_PREFIX = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_RATE = re.compile(r"([KMGTP]?)FLOPS?\s*/\s*S|([KMGTP]?)FLOPS\b(?!\s*/)")

Remark = tuple[Code, str] | None
Point = tuple[float, float]


def key(chip: str) -> str:
    """A chip's name as part of a Python name: "A100-40GB" → "a100_40gb"."""
    return chip.lower().replace("-", "_")


def draw(source: Draw) -> tuple[Given, ...]:
    """Peak and bandwidth of seven chips, and the learner's own roof and four own points."""
    machine = source.records["machine"]
    items: list[Given] = []
    for name in ROOFS:
        chip = source.facts.accelerator(name)
        items.append(given.peak(chip, "fp16", name=f"{key(name)}_tflops"))
        items.append(given.bandwidth(chip, name=f"{key(name)}_gbps"))
    items.append(
        given.measured(machine, "gemm.fp32", "my_gflops", "my machine: FP32 peak", "GFLOP/s")
    )
    items.append(
        given.measured(machine, "bandwidth.read", "my_gbps", "my machine: read bandwidth", "GB/s")
    )
    for batch in BATCHES:
        label = f"my machine: FP32 product, batch {batch}"
        items.append(
            given.measured(machine, f"sweep.fp32.b{batch}", f"my_b{batch}_ms", label, "ms")
        )
    items.append(
        given.counted(
            machine,
            "sweep.fp32.weight_bytes",
            "my_weight_bytes",
            "FP32 weights of that product (4 bytes each)",
            "B",
        )
    )
    return tuple(items)


def own_points(g: Givens) -> list[Point]:
    """The four measured points: (FLOP/B, FLOP/s), FP32 weights, 2 FLOP per weight and sequence."""
    return [
        (2 * batch / 4, 2 * batch * g.my_weight_bytes / 4 / (float(g[f"my_b{batch}_ms"]) / 1e3))
        for batch in BATCHES
    ]


def roofs(g: Givens) -> dict[str, tuple[float, float]]:
    """(peak FLOP/s, bandwidth B/s) of the seven chips and of the learner's machine."""
    table = {
        name: (float(g[f"{key(name)}_tflops"]) * 1e12, float(g[f"{key(name)}_gbps"]) * 1e9)
        for name in ROOFS
    }
    table[MINE] = (g.my_gflops * 1e9, g.my_gbps * 1e9)
    return table


# --- checks: each looks at one Axes in wire form ---------------------------------------------


def log_axes(ax: dict[str, Any], _g: Givens) -> Remark:
    """Both axes logarithmic."""
    flat = [name for name in ("x", "y") if ax[name]["scale"] != "log"]
    if flat:
        return Code.AXIS_SCALE, (
            f"Not logarithmic: {' and '.join(flat)}. The chips span three orders of magnitude, "
            "and only on log-log axes are both roofs straight: use ax.loglog()."
        )
    return None


def labelled(ax: dict[str, Any], _g: Givens) -> Remark:
    """A unit in each label."""
    if not re.search(r"FLOPS?\s*/\s*B", ax["x"]["label"].upper()):
        return Code.AXIS_LABEL, "The x axis does not say its unit. Put FLOP/B into its label."
    if not _RATE.search(ax["y"]["label"].upper()):
        return Code.AXIS_LABEL, (
            "The y axis does not say its unit. Put FLOP/s (or GFLOP/s, TFLOP/s) into its label."
        )
    return None


def all_roofs(ax: dict[str, Any], g: Givens) -> Remark:
    """Every chip and the own machine: two slopes that meet at the ridge."""
    scale = _scale(ax)
    for name, (peak, bandwidth) in roofs(g).items():
        word = re.compile(rf"(?<![a-z0-9]){re.escape(name.lower())}(?![a-z0-9])")
        lines = [_points(line) for line in ax["lines"] if word.search(line["label"].lower())]
        line = max(lines, key=len, default=[])
        if len(line) < 3:
            return Code.SERIES_MISSING, (
                f"There is no roof labelled {name!r}: draw a line of at least three points "
                f"with label={name!r}."
            )
        remark = _one_roof(name, [(x, y * scale) for x, y in line], peak, bandwidth)
        if remark is not None:
            return remark
    return None


def _one_roof(name: str, line: list[Point], peak: float, bandwidth: float) -> Remark:
    ridge = peak / bandwidth
    if min(x for x, _ in line) > ridge / 2 or max(x for x, _ in line) < 2 * ridge:
        return Code.SERIES_MISSING, (
            f"The roof of {name} does not show both slopes. Its ridge is at {ridge:,.0f} FLOP/B: "
            "draw from well below to well above it."
        )
    shapes: tuple[tuple[Callable[[float], float], Code | None, str], ...] = (
        (lambda x: min(peak, bandwidth * x), None, ""),
        (
            lambda x: peak + bandwidth * x,
            Code.SUM_OF_ROOFS,
            "adds the two limits: the lower one counts",
        ),
        (
            lambda x: max(peak, bandwidth * x),
            Code.WRONG_ROOF,
            "follows the higher of the two limits: the lower one counts",
        ),
        (
            lambda x: bandwidth * x,
            Code.PEAK_FORGOTTEN,
            "never becomes level: the peak is missing",
        ),
    )
    for rule, code, says in shapes:
        if all(math.isclose(y, rule(x), rel_tol=0.03) for x, y in line):
            return None if code is None else (code, f"The roof of {name} {says}.")
    factor = {y / min(peak, bandwidth * x) for x, y in line}
    if max(factor) / min(factor) < 1.05:
        return Code.PREFIX, (
            f"The roof of {name} has the right shape but is off by a factor of {max(factor):.3g}. "
            "Compare the y axis' label with the unit you plot."
        )
    return Code.OTHER, f"The roof of {name} is not min(peak, bandwidth × intensity)."


def own_measurements(ax: dict[str, Any], g: Givens) -> Remark:
    """Four measured points, where the record puts them and not above the own roof."""
    scale = _scale(ax)
    drawn = [
        (x, y * scale)
        for group in (*ax["lines"], *ax["points"])
        if POINTS in group["label"].lower()
        for x, y in _points(group)
    ]
    if len(drawn) < len(BATCHES):
        return Code.SERIES_MISSING, (
            f"Draw your four measured points (batch {', '.join(map(str, BATCHES))}) "
            f"as one series with label={POINTS!r}."
        )
    for batch, (x, y) in zip(BATCHES, own_points(g), strict=True):
        if not any(math.isclose(x, a, rel_tol=0.05) for a, _ in drawn):
            return Code.BYTES_PER_WEIGHT, (
                f"No point lies at the intensity of batch {batch}. Your product has FP32 weights: "
                "2 FLOP per weight and sequence, over 4 bytes per weight."
            )
        if not any(
            math.isclose(x, a, rel_tol=0.05) and math.isclose(y, b, rel_tol=0.05) for a, b in drawn
        ):
            return Code.TIME_NOT_RATE, (
                f"The point of batch {batch} is at the right intensity but not at the speed your "
                "record says. FLOP/s = 2 · batch · weights / seconds."
            )
    return None


def _scale(ax: dict[str, Any]) -> float:
    """FLOP/s per unit of the y axis, as its label says."""
    found = _RATE.search(ax["y"]["label"].upper())
    return _PREFIX[(found.group(1) or found.group(2) or "") if found else ""]


def _points(group: dict[str, Any]) -> list[Point]:
    return [
        (float(x), float(y))
        for x, y in zip(group["x"], group["y"], strict=False)
        if x is not None and y is not None and x > 0
    ]


# --- the figure, right and wrong -------------------------------------------------------------


def plot(g: Givens, *, rule: str = "min", log: bool = True, units: bool = True) -> Any:
    """The figure; `rule`, `log` and `units` make the known mistakes."""
    import numpy as np
    from matplotlib.figure import Figure

    rules = {"min": np.minimum, "sum": np.add, "max": np.maximum}
    ax = Figure(figsize=(8, 5)).add_subplot()
    ai = np.logspace(-1, 4, 200)
    for name, (peak, bandwidth) in roofs(g).items():
        ax.plot(ai, rules[rule](np.full_like(ai, peak), ai * bandwidth), label=name)
    x, y = zip(*own_points(g), strict=True)
    ax.plot(x, y, "o", label=POINTS)
    if log:
        ax.set_xscale("log")
        ax.set_yscale("log")
    ax.set_xlabel("arithmetic intensity (FLOP/B)" if units else "intensity")
    ax.set_ylabel("attainable FLOP/s" if units else "speed")
    return ax


SOLUTION = """\
chips = ["T4", "A10G", "L4", "L40S", "A100-40GB", "H100", "Inferentia2"]
styles = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1))]
ai = np.logspace(-1, 4, 200)

fig, ax = plt.subplots(figsize=(9, 5.5))
for chip, style in zip(chips, styles):
    name = chip.lower().replace("-", "_")
    peak, bw = g[f"{name}_tflops"] * 1e12, g[f"{name}_gbps"] * 1e9
    ax.loglog(ai, roofline(ai, peak, bw), linestyle=style, label=chip)

ax.loglog(ai, roofline(ai, g.my_gflops * 1e9, g.my_gbps * 1e9), "k-", lw=2.5, label="my machine")
batches = [1, 4, 16, 64]
x = [2 * b / 4 for b in batches]  # FP32: 4 bytes per weight
weights = g.my_weight_bytes / 4
y = [2 * b * weights / (g[f"my_b{b}_ms"] / 1e3) for b in batches]
ax.loglog(x, y, "ko", label="measured")
for b, xb, yb in zip(batches, x, y):
    ax.annotate(f"B={b}", (xb, yb), textcoords="offset points", xytext=(6, -12), fontsize=8)

ax.set_xlabel("arithmetic intensity (FLOP/B)")
ax.set_ylabel("attainable FLOP/s")
ax.set_title("Seven accelerators and my machine")
ax.grid(which="major", alpha=0.3)
ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
fig.tight_layout()"""

FIGURE = Exercise(
    id="1.8",
    title="Seven accelerators and your machine on one roofline",
    objective=OBJECTIVE,
    points=2,
    tier=Tier.OWN,
    kind=FigureKind(
        signature="ax",
        doc=(
            "Draw with your roofline() on log-log axes, units in both labels:\n"
            'one roof per chip, labelled with its name, your own roof labelled "my machine",\n'
            'and your four decode-shaped points (batch 1, 4, 16, 64) labelled "measured".'
        ),
        checks=(log_axes, labelled, all_roofs, own_measurements),
    ),
    statement=(
        "Draw one figure with the roofs of T4, A10G, L4, L40S, A100-40GB, H100 and Inferentia2 "
        "(dense FP16), the roof of your own machine, and your measured points at batch 1, 4, 16 "
        "and 64.\n\n"
        "- log-log axes; FLOP/B and FLOP/s in the labels\n"
        '- label each roof with the chip\'s name, yours with `"my machine"`\n'
        '- draw the points as one series with the label `"measured"`\n\n'
        'Draw with your `roofline()` of 1.7. In a loop, `g["t4_tflops"]` is the same as '
        "`g.t4_tflops`. Your points come from FP32 weights, 4 bytes each. The checker reads the "
        "lines' data, not the picture, so style it as you like."
    ),
    answer_name="ax",
    draw=draw,
    reference=plot,
    mistakes=(
        Mistake(
            Code.AXIS_SCALE,
            "Not logarithmic: x and y. The chips span three orders of magnitude, "
            "and only on log-log axes are both roofs straight: use ax.loglog().",
            lambda g: plot(g, log=False),
        ),
        Mistake(
            Code.AXIS_LABEL,
            "The x axis does not say its unit. Put FLOP/B into its label.",
            lambda g: plot(g, units=False),
        ),
        Mistake(
            Code.SUM_OF_ROOFS,
            "The roof of T4 adds the two limits: the lower one counts.",
            lambda g: plot(g, rule="sum"),
        ),
        Mistake(
            Code.WRONG_ROOF,
            "The roof of T4 follows the higher of the two limits: the lower one counts.",
            lambda g: plot(g, rule="max"),
        ),
    ),
    hints=(
        "Every roof is your roofline() over one and the same range of intensities.",
        "Points: intensity = FLOPs per byte of the product, speed = its FLOPs over its seconds.",
        "x = 2·B / 4, y = 2·B · (my_weight_bytes / 4) / (my_bB_ms / 1000), for B = 1, 4, 16, 64",
    ),
    solution=SOLUTION,
    praise="Where your points lie below your roof, something other than the two limits binds.",
    claim="E011",
    needs=("machine",),
)
