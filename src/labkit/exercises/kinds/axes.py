"""Checks of a figure's data, for `FigureKind(checks=…)`: scales, labels, bars, timelines, errors.

Each function here makes one check, or reads one thing from an Axes in wire form. Tolerances are
relative; a figure's style is never looked at.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from labkit.contract.codes import Code
from labkit.contract.givens import Givens
from labkit.exercises.kinds.figure import Axes, Check

Remark = tuple[Code, str] | None


@dataclass(frozen=True, slots=True)
class Span:
    """One bar of a timeline: from `start` to `end` in the row at height `row`."""

    label: str
    row: float
    start: float
    end: float


def spans(ax: Axes) -> list[Span]:
    """The horizontal bars (barh, broken_barh), by row and start; `row` is their middle."""
    found = [
        Span(
            str(bar["label"]),
            round(float(bar["y"]) + float(bar["height"]) / 2, 6),
            min(float(bar["x"]), float(bar["x"]) + float(bar["width"])),
            max(float(bar["x"]), float(bar["x"]) + float(bar["width"])),
        )
        for bar in ax["bars"]
        if bar["width"]
    ]
    return sorted(found, key=lambda span: (span.row, span.start))


def rows(ax: Axes) -> list[list[tuple[float, float]]]:
    """For each row, from below: its (start, end) spans in order, those that touch made one."""
    by_row: dict[float, list[tuple[float, float]]] = {}
    for span in spans(ax):
        held = by_row.setdefault(span.row, [])
        if held and math.isclose(held[-1][1], span.start, rel_tol=1e-6, abs_tol=1e-6):
            held[-1] = (held[-1][0], span.end)
        else:
            held.append((span.start, span.end))
    return [by_row[row] for row in sorted(by_row)]


def busy(ax: Axes) -> list[float]:
    """Sum of the bars' lengths of each row, longest row first."""
    totals: dict[float, float] = {}
    for span in spans(ax):
        totals[span.row] = totals.get(span.row, 0.0) + span.end - span.start
    return sorted(totals.values(), reverse=True)


def log_scale(axis: str) -> Check:
    """The axis ("x" or "y") is logarithmic."""

    def check(ax: Axes, _g: Givens) -> Remark:
        if ax[axis]["scale"] in ("log", "symlog"):
            return None
        return Code.AXIS_SCALE, f'The {axis} axis is linear: ax.set_{axis}scale("log").'

    return check


def labelled(axis: str, pattern: str, words: str) -> Check:
    """The axis' label matches `pattern` (ignoring case); `words` says what is asked."""

    def check(ax: Axes, _g: Givens) -> Remark:
        if re.search(pattern, str(ax[axis]["label"]), re.IGNORECASE):
            return None
        return Code.AXIS_LABEL, f"The {axis} axis does not say {words}: ax.set_{axis}label(…)."

    return check


def one_per_row(what: str = "a slot") -> Check:
    """No two bars of a row overlap: a slot serves one request at a time."""

    def check(ax: Axes, _g: Givens) -> Remark:
        for one, other in pairwise(spans(ax)):
            slack = 1e-6 * max(1.0, abs(one.end))
            if one.row == other.row and other.start < one.end - slack:
                return Code.SLOTS_EXCEEDED, (
                    f"Two bars overlap at {other.start:g}: {what} serves one at a time."
                )
        return None

    return check


def bars_named(names: Callable[[Givens], Iterable[str]]) -> Check:
    """For each name there is a bar (or a call of bars) whose label begins with it."""

    def check(ax: Axes, g: Givens) -> Remark:
        labels = [str(bar["label"]).strip().casefold() for bar in ax["bars"]]
        for name in names(g):
            if not any(label.startswith(name.casefold()) for label in labels):
                return Code.SERIES_MISSING, f"There is no bar labelled {name!r}."
        return None

    return check


def timeline(
    right: Callable[[Givens], Mapping[str, tuple[float, float]]],
    *,
    wrong: Sequence[tuple[Code, Callable[[Givens], Mapping[str, tuple[float, float]]]]] = (),
    says: Mapping[Code, str] | None = None,
    rel_tol: float = 0.01,
) -> Check:
    """Every named bar runs from its right start to its right end, in whatever row.

    `right(g)` gives (start, end) by label. Bars of one label are joined, so that a request may be
    drawn step by step. `wrong` are timelines of known mistakes, with the sentences in `says`.
    """

    def check(ax: Axes, g: Givens) -> Remark:
        drawn: dict[str, tuple[float, float]] = {}
        for span in spans(ax):
            start, end = drawn.get(span.label, (span.start, span.end))
            drawn[span.label] = (min(start, span.start), max(end, span.end))
        wanted = right(g)
        missing = [name for name in wanted if name not in drawn]
        if missing:
            return Code.SERIES_MISSING, f"There is no bar labelled {missing[0]!r}."
        if _alike(drawn, wanted, rel_tol):
            return None
        for code, make in wrong:
            if _alike(drawn, make(g), rel_tol):
                return code, (says or {}).get(code, "This is another schedule.")
        off = next(n for n in wanted if not _alike(drawn, {n: wanted[n]}, rel_tol))
        return Code.OTHER, f"The bar {off!r} does not begin and end where the schedule says."

    return check


def _alike(
    drawn: Mapping[str, tuple[float, float]],
    wanted: Mapping[str, tuple[float, float]],
    rel_tol: float,
) -> bool:
    room = rel_tol * max((end for _, end in wanted.values()), default=1.0)
    return all(
        name in drawn and all(abs(a - b) <= room for a, b in zip(drawn[name], ends, strict=True))
        for name, ends in wanted.items()
    )


def error_bars(
    right: Callable[[Givens], Sequence[tuple[float, float, float]]],
    *,
    axis: str = "y",
    rel_tol: float = 0.1,
) -> Check:
    """An error bar at each point: (place on the other axis, low, high).

    Each end may miss by `rel_tol` of the bar's length, so that another right interval passes.
    """
    other = "x" if axis == "y" else "y"

    def check(ax: Axes, g: Givens) -> Remark:
        found = [e for e in ax["errors"] if e[axis][0] != e[axis][1]]
        for place, low, high in right(g):
            here = [e for e in found if math.isclose(e[other][0], place, rel_tol=0.01)]
            if not here:
                return Code.SERIES_MISSING, (
                    f"A point lacks its error bar: ax.errorbar(…, {axis}err=…)."
                )
            room = rel_tol * (high - low)
            if not any(
                abs(min(e[axis]) - low) <= room and abs(max(e[axis]) - high) <= room for e in here
            ):
                return Code.MAGNITUDE, (
                    "An error bar does not reach from the interval's lower end to its upper one. "
                    f"{axis}err takes distances from the point: [point - low, high - point]."
                )
        return None

    return check


def points(ax: Axes) -> list[tuple[float, float]]:
    """Every marker of the Axes: of scatter, of lines and of errorbar."""
    series: list[dict[str, Any]] = [*ax["points"], *ax["lines"]]
    return [
        (x, y)
        for one in series
        for x, y in zip(one["x"], one["y"], strict=False)
        if x is not None and y is not None
    ]


def has_points(right: Callable[[Givens], Sequence[tuple[float, float]]], what: str) -> Check:
    """Every right point is drawn, within 1 %; `what` names them in the remark."""

    def check(ax: Axes, g: Givens) -> Remark:
        drawn = points(ax)
        for x, y in right(g):
            if not any(
                math.isclose(x, a, rel_tol=0.01, abs_tol=1e-12)
                and math.isclose(y, b, rel_tol=0.01, abs_tol=1e-12)
                for a, b in drawn
            ):
                return Code.SERIES_MISSING, f"A point is missing or misplaced: {what}."
        return None

    return check


def annotated(words: Callable[[Givens], Iterable[str]]) -> Check:
    """Each word stands in some text of the Axes (ax.text, ax.annotate), in its title or legend."""

    def check(ax: Axes, g: Givens) -> Remark:
        said = [t["text"] for t in ax["texts"]] + [ax["title"]]
        said += [one["label"] for kind in ("lines", "points", "bars") for one in ax[kind]]
        for word in words(g):
            if not any(word.casefold() in str(text).casefold() for text in said):
                return (
                    Code.SERIES_MISSING,
                    f"Nothing in the figure is marked {word!r}: ax.annotate(…).",
                )
        return None

    return check
