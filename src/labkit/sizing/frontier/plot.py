"""The frontier with matplotlib, for notebooks: the same marks, front and names as the SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.contract.view import number
from labkit.sizing.checks import SizingError
from labkit.sizing.frontier.labels import Box, place, stairs
from labkit.sizing.frontier.marks import AXES, COST_AXIS, Mark, Scene, scene_of
from labkit.sizing.frontier.scale import log_scale
from labkit.sizing.recommendation import Recommendation

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_frontier(recommendation: Recommendation, ax: Axes | None = None) -> Axes:
    """Draw cost per 1M output tokens over latency on `ax` (a new figure where None).

    Raises `SizingError` where no deployment holds the SLO: there is nothing to draw.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    scene = scene_of(recommendation)
    front, losers, shown = scene.front, scene.losers, scene.every
    if not front:
        raise SizingError("No deployment holds the SLO, so there is no frontier to draw.")
    if ax is None:
        _, ax = plt.subplots(figsize=(9, 5.4), layout="constrained")
    ax.scatter(
        [mark.latency_ms for mark in losers],
        [mark.usd for mark in losers],
        s=26,
        facecolors="none",
        edgecolors="#8c959f",
        label=f"holds the SLO, beaten ({len(losers)})",
    )
    ordered = sorted(front, key=lambda mark: mark.latency_ms)
    ax.step(
        [mark.latency_ms for mark in ordered],
        [mark.usd for mark in ordered],
        where="post",
        marker="s",
        color="#0a5ca8",
        label=f"Pareto front ({len(front)})",
    )
    best = [mark for mark in front if mark.best]
    ax.scatter(
        [mark.latency_ms for mark in best],
        [mark.usd for mark in best],
        s=190,
        marker="*",
        color="#0a5ca8",
        edgecolors="white",
        zorder=3,
        label="cheapest",
    )
    ax.set(
        xscale="log",
        yscale="log",
        xlabel=AXES[recommendation.latency],
        ylabel=COST_AXIS,
        title=f"{recommendation.model.name}: cost against latency",
    )
    ax.margins(0.08)
    for axis, values in (
        (ax.xaxis, [mark.latency_ms for mark in shown]),
        (ax.yaxis, [mark.usd for mark in shown]),
    ):
        ticks = log_scale(values, 0.0, 1.0).ticks
        axis.set_major_locator(FixedLocator(ticks))
        axis.set_major_formatter(FuncFormatter(lambda value, _: number(value, 3)))
        axis.set_minor_locator(NullLocator())
    ax.grid(visible=True, which="major", color="#e1e4e8")
    ax.legend(loc="best", fontsize=8)
    _names(ax, scene)
    return ax


def _names(ax: Axes, scene: Scene) -> None:
    """Names of some of the front in free places; positions are in pixels, as the figure is now."""
    ax.figure.canvas.draw()
    frame = ax.get_window_extent()
    scale = ax.figure.dpi / 72

    def pixel(mark: Mark) -> tuple[float, float]:
        x, y = ax.transData.transform((mark.latency_ms, mark.usd))
        return float(x), float(frame.ymax - y)

    named = sorted((m for m in scene.front if m.named), key=lambda mark: not mark.best)
    sizes = [(len(mark.label) * 8 * 0.56 * scale, 11 * scale) for mark in named]
    dots = [Box(x - 6, y - 6, x + 6, y + 6) for x, y in map(pixel, scene.losers)]
    obstacles = [*stairs([pixel(mark) for mark in scene.front], 8.0), *dots]
    inside = Box(frame.xmin, 0.0, frame.xmax, frame.ymax - frame.ymin)
    points = [pixel(mark) for mark in named]
    for mark, (x, y), placed in zip(
        named, points, place(points, sizes, obstacles, inside), strict=True
    ):
        if placed is None:
            continue
        near = placed.box.right if placed.left else placed.box.left
        side = 1.0 if placed.left else 0.0  # the line starts at the end that is near the point
        ax.annotate(
            mark.label,
            (mark.latency_ms, mark.usd),
            xytext=((near - x) / scale, (y - placed.box.bottom) / scale),
            textcoords="offset points",
            ha="right" if placed.left else "left",
            fontsize=8,
            arrowprops=_line(side) if placed.leader else None,
        )


def _line(side: float) -> dict[str, object]:
    return {"arrowstyle": "-", "color": "#0a5ca8", "lw": 0.6, "relpos": (side, 0.0)}
