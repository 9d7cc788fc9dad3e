"""Lab 04, exercise 4.15: size against loss and size against time, with error bars."""

from __future__ import annotations

import statistics
from typing import Any

from labkit.contract.codes import Code
from labkit.contract.errors import LabkitError
from labkit.contract.givens import Given, Givens
from labkit.contract.record import Record
from labkit.exercises.kinds import FigureKind
from labkit.exercises.kinds.axes import annotated, error_bars, has_points, labelled
from labkit.exercises.kinds.figure import Axes, Panels
from labkit.exercises.lab04_quantization.objectives import LOSS
from labkit.exercises.lab04_quantization.reading import (
    REFERENCE,
    label,
    losses,
    number,
    rise,
    rise_interval,
)
from labkit.exercises.lab04_quantization.speed import clock, timed
from labkit.exercises.spec import Draw, Exercise, Mistake, Tier

DRAWN = ("fp16", "q8_0", "q4_0")
MB = 1e6

Remark = tuple[Code, str] | None


def _quartiles(record: Record, key: str) -> tuple[float, float, float]:
    """Lower quartile, median and upper quartile of one token's time in llama.cpp, ms."""
    samples = record[f"llama.{key}.{clock(record)}"].samples
    if len(samples) < 4:
        raise LabkitError("Your record has too few times of llama.cpp: run the bench again.")
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
    return low, middle, high


def _draw(draw: Draw) -> tuple[Given, ...]:
    record = draw.records["quantization"]
    if timed(record, "llama", DRAWN) != list(DRAWN):
        raise LabkitError(
            "Your record has no times of llama.cpp for all three formats. Install what its notes "
            "name, or take the recording: bench.quantization(replay=True)."
        )
    pairs = [(losses(record, REFERENCE), losses(record, key)) for key in DRAWN]
    ends = [rise_interval(*pair) for pair in pairs]
    times = [_quartiles(record, key) for key in DRAWN]
    names = ", ".join(label(record, key) for key in DRAWN)
    return (
        Given("names", "FP16 Q8_0 Q4_0", "", "the formats, in the order of all lists", names),
        Given("mb", [number(record, k, "weight_bytes") / MB for k in DRAWN], "MB", "weights"),
        Given("rise", [rise(*pair) for pair in pairs], "%", "rise of perplexity"),
        Given("rise_low", [low for low, _ in ends], "%", "lower end of its 95 % interval"),
        Given("rise_high", [high for _, high in ends], "%", "upper end"),
        Given("ms", [middle for _, middle, _ in times], "ms", "one token in llama.cpp, median"),
        Given("ms_low", [low for low, _, _ in times], "ms", "lower quartile"),
        Given("ms_high", [high for _, _, high in times], "ms", "upper quartile"),
    )


# --- checks ---------------------------------------------------------------------------------------


def _two_panels(axes: list[Axes], _g: Givens) -> Remark:
    if len(axes) == 2:
        return None
    return Code.SERIES_MISSING, (
        "Asked: one figure with two Axes side by side, plt.subplots(1, 2). Hand in the figure."
    )


def _bars(what: str) -> Any:
    """Error bars of one list, and where they collapse to a point none is asked.

    The ends are given, so a hundredth of a bar is enough room: below and above swapped is more.
    """

    def right(g: Givens) -> list[tuple[float, float, float]]:
        rows = zip(g.mb, g[f"{what}_low"], g[f"{what}_high"], strict=True)
        return [(mb, low, high) for mb, low, high in rows if high > low]

    return error_bars(right, rel_tol=0.01)


def _points(what: str, words: str) -> Any:
    return has_points(lambda g: list(zip(g.mb, g[what], strict=True)), words)


def _panel(index: int, *checks: Any) -> Panels:
    """The checks, looking at one Axes of the figure."""

    def look(axes: list[Axes], g: Givens) -> Remark:
        for check in checks:
            found: Remark = check(axes[index], g)
            if found is not None:
                side = ("left", "right")[index]
                return found[0], f"{side.capitalize()} panel. {found[1]}"
        return None

    return look


PANELS: tuple[Panels, ...] = (
    _two_panels,
    _panel(
        0,
        labelled("x", r"(?<![a-z])mb(?![a-z])", "its unit, MB"),
        labelled("y", r"%|percent", "its unit, %"),
        _points("rise", "rise of perplexity (%) over size (MB)"),
        _bars("rise"),
        annotated(lambda g: str(g.names).split()),
    ),
    _panel(
        1,
        labelled("x", r"(?<![a-z])mb(?![a-z])", "its unit, MB"),
        labelled("y", r"(?<![a-z])ms(?![a-z])|millisecond", "its unit, ms"),
        _points("ms", "time of one token (ms) over size (MB)"),
        _bars("ms"),
    ),
)


# --- the figure, right and wrong ------------------------------------------------------------------


def plot(
    g: Givens, *, ends: bool = False, bars: bool = True, unit: bool = True, names: bool = True
) -> Any:
    """The figure; the keywords make the known mistakes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4))
    panels = figure.subplots(1, 2)
    for ax, what, words in ((panels[0], "rise", "rise (%)"), (panels[1], "ms", "one token (ms)")):
        low, point, high = (g[f"{what}_low"], g[what], g[f"{what}_high"])
        below = [p - a for p, a in zip(point, low, strict=True)]
        above = [b - p for p, b in zip(point, high, strict=True)]
        if ends:
            below, above = [abs(a) for a in low], [abs(b) for b in high]
        ax.errorbar(g.mb, point, yerr=[below, above] if bars else None, fmt="o")
        ax.set_xlabel("weights (MB)" if unit else "weights")
        ax.set_ylabel(words)
    if names:
        for name, mb, y in zip(str(g.names).split(), g.mb, g.rise, strict=True):
            panels[0].annotate(name, (mb, y))
    return figure


SOLUTION = """\
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
for ax, point, low, high in (
    (left, g.rise, g.rise_low, g.rise_high),
    (right, g.ms, g.ms_low, g.ms_high),
):
    point, low, high = np.array(point), np.array(low), np.array(high)
    ax.errorbar(g.mb, point, yerr=[point - low, high - point], fmt="o", capsize=4)
    for name, x, y in zip(g.names.split(), g.mb, point):
        ax.annotate(name, (x, y), xytext=(7, 5), textcoords="offset points")
    ax.set_xlabel("weights (MB)")
    ax.set_xlim(0, 1.25 * max(g.mb))
    ax.spines[["top", "right"]].set_visible(False)
left.set_ylabel("rise of perplexity (%), 95 % interval")
right.set_ylabel("one token in llama.cpp (ms)")
right.set_ylim(bottom=0)
fig.tight_layout()"""

FIGURE = Exercise(
    id="4.15",
    title="Size, loss, time",
    objective=LOSS,
    points=2,
    tier=Tier.OWN,
    kind=FigureKind(
        signature="fig",
        doc=(
            "One figure, two Axes (plt.subplots(1, 2)): left MB and rise in %, right MB and ms.\\n"
            "Error bars with ax.errorbar; the formats' names in the left one (ax.annotate)."
        ).replace("\\n", "\n"),
        panels=PANELS,
    ),
    statement=(
        "Draw what a decision needs: three formats of your record, as llama.cpp runs them.\n\n"
        "- left: weights in MB against the rise of perplexity in %, with its 95 % interval as an "
        "error bar, and each format's name beside its point\n"
        "- right: weights in MB against the time of one token in ms, the quartiles as its error "
        "bar\n\n"
        "Say the units on the axes. `ax.errorbar(x, y, yerr=[below, above])` takes **distances** "
        "from the point, downwards and upwards, not the ends. The checker reads the data, not the "
        "picture, so style it as you like."
    ),
    answer_name="fig",
    draw=_draw,
    reference=plot,
    mistakes=(
        Mistake(
            Code.MAGNITUDE,
            "Left panel. An error bar does not reach from the interval's lower end to its upper "
            "one. yerr takes distances from the point: [point - low, high - point].",
            lambda g: plot(g, ends=True),
        ),
        Mistake(
            Code.SERIES_MISSING,
            "Left panel. A point lacks its error bar: ax.errorbar(…, yerr=…).",
            lambda g: plot(g, bars=False),
        ),
        Mistake(
            Code.AXIS_LABEL,
            "Left panel. The x axis does not say its unit, MB: ax.set_xlabel(…).",
            lambda g: plot(g, unit=False),
        ),
    ),
    hints=(
        "Two scatter plots with error bars, of lists that you are given.",
        "ax.errorbar on each Axes; what goes down is point − low, what goes up is high − point.",
        "left.errorbar(g.mb, g.rise, yerr=[rise − rise_low, rise_high − rise], fmt='o')",
    ),
    solution=SOLUTION,
    praise="Three formats, two prices: what each byte saved costs in quality, and what it buys.",
    needs=("quantization",),
)
