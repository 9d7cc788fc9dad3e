"""What a figure says, as data: scales, labels, limits, lines and bars of each Axes. No pixels."""

from __future__ import annotations

import math
from typing import Any

MAX_POINTS = 2000
MAX_ARTISTS = 60


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
    points = [_scatter(c) for c in ax.collections[:MAX_ARTISTS] if hasattr(c, "get_offsets")]
    return {
        "title": str(ax.get_title())[:200],
        "x": _axis(ax.get_xscale(), ax.get_xlabel(), ax.get_xlim()),
        "y": _axis(ax.get_yscale(), ax.get_ylabel(), ax.get_ylim()),
        "lines": [_line(line) for line in ax.get_lines()[:MAX_ARTISTS]],
        "points": [p for p in points if p["x"]],
        "bars": _bars(ax),
    }


def _bars(ax: Any) -> list[dict[str, Any]]:
    """Every bar. One `ax.bar()` call labels its container and not the bars in it."""
    of_call = {
        id(patch): call.get_label()
        for call in ax.containers
        for patch in getattr(call, "patches", ())
    }
    patches = [p for p in ax.patches[: 4 * MAX_ARTISTS] if hasattr(p, "get_height")]
    return [_bar(patch, of_call.get(id(patch), "")) for patch in patches]


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
