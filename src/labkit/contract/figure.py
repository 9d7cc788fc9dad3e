"""What a figure says, as data: scales, labels, lines, bars, error bars and texts of each Axes.

No pixels. A bar of `broken_barh` and one of `barh` look the same here.
"""

from __future__ import annotations

import math
from typing import Any

MAX_POINTS = 2000
MAX_ARTISTS = 60
MAX_BARS = 2000  # a timeline of a few slots over some hundred steps


def is_figure(value: object) -> bool:
    """Whether this is a Matplotlib Figure or Axes (told without importing Matplotlib)."""
    home = type(value).__module__.split(".")[0]
    if home != "matplotlib" and not any(
        base.__module__.startswith("matplotlib.") for base in type(value).__mro__
    ):
        return False
    return hasattr(value, "get_lines") or hasattr(value, "get_axes")


def encode_figure(value: Any) -> dict[str, Any]:
    """The wire form of a Figure (all its Axes) or of one Axes."""
    axes = [value] if hasattr(value, "get_lines") else list(value.get_axes())
    return {"kind": "figure", "axes": [_axes(ax) for ax in axes[:12]]}


def _axes(ax: Any) -> dict[str, Any]:
    points = [_scatter(c) for c in ax.collections[:MAX_ARTISTS] if _is(c, "PathCollection")]
    return {
        "title": str(ax.get_title())[:200],
        "x": _axis(ax.get_xscale(), ax.get_xlabel(), ax.get_xlim()),
        "y": _axis(ax.get_yscale(), ax.get_ylabel(), ax.get_ylim()),
        "lines": [_line(line) for line in ax.get_lines()[:MAX_ARTISTS]],
        "points": [p for p in points if p["x"]],
        "bars": (_bars(ax) + _broken_bars(ax))[:MAX_BARS],
        "errors": _errors(ax),
        "texts": [_text(text) for text in ax.texts[:MAX_ARTISTS]],
    }


def _bars(ax: Any) -> list[dict[str, Any]]:
    """Every bar. One `ax.bar()` call labels its container and not the bars in it."""
    of_call = {
        id(patch): call.get_label()
        for call in ax.containers
        for patch in getattr(call, "patches", ())
    }
    patches = [p for p in ax.patches[:MAX_BARS] if hasattr(p, "get_height")]
    return [_bar(patch, of_call.get(id(patch), "")) for patch in patches]


def _broken_bars(ax: Any) -> list[dict[str, Any]]:
    """The rectangles of `broken_barh`: each outline is a path; its box is the bar."""
    found: list[dict[str, Any]] = []
    for collection in ax.collections[:MAX_BARS]:
        if not _is(collection, "PolyCollection"):
            continue
        label = str(collection.get_label())
        for path in collection.get_paths()[: MAX_BARS - len(found)]:
            x, y = ([float(pair[i]) for pair in path.vertices] for i in (0, 1))
            if len(path.vertices) in (4, 5) and len(set(x)) == 2 and len(set(y)) == 2:
                ends = _numbers([min(x), min(y), max(x) - min(x), max(y) - min(y)])
                bar = dict(zip(("x", "y", "width", "height"), ends, strict=True))
                found.append({**bar, "label": "" if label.startswith("_") else label[:200]})
    return found


def _errors(ax: Any) -> list[dict[str, Any]]:
    """The two ends of each error bar, of `errorbar` and of `bar` with `yerr` (under its label)."""
    of_bars = {
        id(call.errorbar): call.get_label()
        for call in ax.containers
        if getattr(call, "errorbar", None) is not None
    }
    found: list[dict[str, Any]] = []
    for call in ax.containers[:MAX_ARTISTS]:
        if not hasattr(call, "has_yerr"):
            continue
        label = str(of_bars.get(id(call), call.get_label()))
        shown = "" if label.startswith("_") else label[:200]
        for part in call.lines[2]:
            for span in part.get_segments()[:MAX_POINTS]:
                x, y = (_numbers([pair[i] for pair in span[:2]]) for i in (0, 1))
                found.append({"label": shown, "x": x, "y": y})
    return found[:MAX_BARS]


def _is(artist: Any, name: str) -> bool:
    """Whether the artist is of this Matplotlib class or one made from it."""
    return any(base.__name__ == name for base in type(artist).__mro__)


def _text(text: Any) -> dict[str, Any]:
    """One `text` or `annotate`; `at` is what an annotation points to, else where the text is."""
    at = getattr(text, "xy", None) or text.get_position()
    return {"text": str(text.get_text())[:200], "at": _numbers(at)}


def _axis(scale: str, label: str, limits: Any) -> dict[str, Any]:
    return {"scale": str(scale), "label": str(label)[:200], "limits": _numbers(limits)}


def _line(line: Any) -> dict[str, Any]:
    return {
        "label": str(line.get_label())[:200],
        "x": _numbers(line.get_xdata()),
        "y": _numbers(line.get_ydata()),
        "marker": str(line.get_marker())[:20],
        "style": str(line.get_linestyle())[:20],
    }


def _scatter(collection: Any) -> dict[str, Any]:
    offsets = [tuple(pair) for pair in collection.get_offsets()]
    return {
        "label": str(collection.get_label())[:200],
        "x": _numbers([pair[0] for pair in offsets]),
        "y": _numbers([pair[1] for pair in offsets]),
    }


def _bar(patch: Any, label_of_call: str) -> dict[str, Any]:
    own = str(patch.get_label())
    return {
        "x": _numbers([patch.get_x()])[0],
        "y": _numbers([patch.get_y()])[0],
        "width": _numbers([patch.get_width()])[0],
        "height": _numbers([patch.get_height()])[0],
        "label": (str(label_of_call) if own.startswith("_") or not own else own)[:200],
    }


def _numbers(values: Any) -> list[float | None]:
    """Plain numbers; None where a value is no finite number."""
    result: list[float | None] = []
    for value in list(values)[:MAX_POINTS]:
        try:
            as_float = float(value)
        except (TypeError, ValueError):
            result.append(None)
        else:
            result.append(as_float if math.isfinite(as_float) else None)
    return result
