"""The frontier as one self-contained SVG: no script, no font, no address to fetch from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from labkit.contract.view import escape, number
from labkit.sizing.frontier.labels import Box, Placed, place, stairs
from labkit.sizing.frontier.marks import AXES, COST_AXIS, Mark, Scene, scene_of
from labkit.sizing.frontier.scale import LogScale, log_scale
from labkit.sizing.recommendation import Recommendation

WIDTH, HEIGHT = 880, 520
_FRAME = Box(74, 46, WIDTH - 24, HEIGHT - 62)
_INK, _FRONT, _GREY, _GRID = "#1f2328", "#0a5ca8", "#8c959f", "#e1e4e8"
_SIZE, _LINE = 13, 17
_HALF = 7.5  # half a square of the front: room for its number
_WIDE = 0.56  # of the font size, per character: wider than usual fonts, so that boxes are safe


def frontier_svg(recommendation: Recommendation) -> str:
    """Cost per 1M output tokens over latency; "" where nothing holds and there is nothing to draw.

    The front is a blue line with numbered squares, losers are hollow grey circles; the cheapest
    is a star and says so. The title and description are read aloud by screen readers.
    """
    scene = scene_of(recommendation)
    front, shown = scene.front, scene.every
    if not front:
        return ""
    across = log_scale([mark.latency_ms for mark in shown], _FRAME.left, _FRAME.right)
    up = log_scale([mark.usd for mark in shown], _FRAME.bottom, _FRAME.top)
    title = f"{recommendation.model.name}: cost against latency"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-labelledby="frontier-title '
        'frontier-words" font-family="Helvetica, Arial, sans-serif" style="max-width:100%;'
        'height:auto">',
        f'<title id="frontier-title">{escape(title)}</title>',
        f'<desc id="frontier-words">{escape(describe(scene))}</desc>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        *_axes(across, up, AXES[recommendation.latency]),
        *_line(front, across, up),
        *_points(shown, across, up),
        *_names(scene, across, up),
        *_legend(scene),
        "</svg>",
    ]
    return "\n".join(parts)


def describe(scene: Scene) -> str:
    """The picture in words."""
    listed = "; ".join(
        f"{mark.number}: {mark.label}, {number(mark.latency_ms, 3)} ms at ${number(mark.usd, 3)}"
        for mark in scene.front
    )
    beaten = len(scene.losers) + scene.left_out
    return (
        f"The Pareto front from cheap to fast: {listed}. {beaten} more instance types hold the "
        "SLO and are beaten."
    )


def _axes(across: LogScale, up: LogScale, name: str) -> Iterator[str]:
    for value in across.ticks:
        x = across.at(value)
        yield (
            f'<path d="M{x:.1f} {_FRAME.top:.1f}V{_FRAME.bottom:.1f}" stroke="{_GRID}"/>'
            f'<text x="{x:.1f}" y="{_FRAME.bottom + 18:.1f}" text-anchor="middle" '
            f'font-size="{_SIZE}" fill="{_INK}">{number(value, 3)}</text>'
        )
    for value in up.ticks:
        y = up.at(value)
        yield (
            f'<path d="M{_FRAME.left:.1f} {y:.1f}H{_FRAME.right:.1f}" stroke="{_GRID}"/>'
            f'<text x="{_FRAME.left - 8:.1f}" y="{y + 4:.1f}" text-anchor="end" '
            f'font-size="{_SIZE}" fill="{_INK}">{number(value, 3)}</text>'
        )
    middle_x, middle_y = (_FRAME.left + _FRAME.right) / 2, (_FRAME.top + _FRAME.bottom) / 2
    yield (
        f'<path d="M{_FRAME.left} {_FRAME.top}V{_FRAME.bottom}H{_FRAME.right}" fill="none" '
        f'stroke="{_INK}"/>'
        f'<text x="{middle_x:.1f}" y="{HEIGHT - 16}" text-anchor="middle" font-size="14" '
        f'fill="{_INK}">{escape(name)}</text>'
        f'<text transform="translate(18 {middle_y:.1f}) rotate(-90)" text-anchor="middle" '
        f'font-size="14" fill="{_INK}">{escape(COST_AXIS)}</text>'
    )


def _line(front: Sequence[Mark], across: LogScale, up: LogScale) -> Iterator[str]:
    """The front as stairs: between two members nothing better is known than the dearer one."""
    ordered = sorted(front, key=lambda mark: mark.latency_ms)
    if len(ordered) < 2:
        return
    path = f"M{across.at(ordered[0].latency_ms):.1f} {up.at(ordered[0].usd):.1f}"
    for mark in ordered[1:]:
        path += f"H{across.at(mark.latency_ms):.1f}V{up.at(mark.usd):.1f}"
    yield f'<path d="{path}" fill="none" stroke="{_FRONT}" stroke-width="2"/>'


def _points(shown: Sequence[Mark], across: LogScale, up: LogScale) -> Iterator[str]:
    for mark in shown:
        x, y = across.at(mark.latency_ms), up.at(mark.usd)
        told = f"{mark.label}: {number(mark.latency_ms, 3)} ms, ${number(mark.usd, 3)}"
        yield f"<g><title>{escape(told)}</title>{_shape(mark, x, y)}</g>"


def _shape(mark: Mark, x: float, y: float) -> str:
    if mark.best:
        return f'<path d="{_star(x, y)}" fill="{_FRONT}" stroke="#fff"/>'
    if mark.front:
        return (
            f'<rect x="{x - _HALF}" y="{y - _HALF}" width="{2 * _HALF}" height="{2 * _HALF}" '
            f'rx="2" fill="{_FRONT}" stroke="#fff"/><text x="{x:.1f}" y="{y + 4:.1f}" '
            f'text-anchor="middle" font-size="11" font-weight="bold" fill="#fff">{mark.number}'
            "</text>"
        )
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="none" stroke="{_GREY}"/>'


def _star(x: float, y: float) -> str:
    corners = (
        (0, -11), (3, -4), (10.5, -3.4), (4.8, 1.6), (6.5, 9), (0, 5),
        (-6.5, 9), (-4.8, 1.6), (-10.5, -3.4), (-3, -4),
    )  # fmt: skip
    return "M" + "L".join(f"{x + dx:.1f} {y + dy:.1f}" for dx, dy in corners) + "Z"


def _names(scene: Scene, across: LogScale, up: LogScale) -> Iterator[str]:
    """Names beside some of the front; one that finds no free place near is left to the table."""
    points = {mark.number: (across.at(mark.latency_ms), up.at(mark.usd)) for mark in scene.front}
    # The cheapest is placed first: it is the one that must not go without its name.
    named = sorted((m for m in scene.front if m.named), key=lambda mark: not mark.best)
    sizes = [(len(_name(mark)) * _SIZE * _WIDE, float(_LINE)) for mark in named]
    dots = [
        Box(x - 4, y - 4, x + 4, y + 4)
        for x, y in ((across.at(m.latency_ms), up.at(m.usd)) for m in scene.losers)
    ]
    obstacles = [*stairs(list(points.values()), _HALF + 2), *dots]
    places = place([points[mark.number] for mark in named], sizes, obstacles, _FRAME)
    for mark, placed in zip(named, places, strict=True):
        if placed is not None:
            yield from _label(mark, placed)


def _label(mark: Mark, placed: Placed) -> Iterator[str]:
    box = placed.box
    if placed.leader:
        x1, y1, x2, y2 = placed.leader
        yield f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{_FRONT}"/>'
    weight = ' font-weight="bold"' if mark.best else ""
    # The box is a little wider than the words: they stand at the end that is near the point.
    x, anchor = (box.right, "end") if placed.left else (box.left, "start")
    yield (
        # A white edge around the letters keeps them readable on the grid.
        f'<text x="{x:.1f}" y="{box.bottom - 4:.1f}" text-anchor="{anchor}" '
        f'font-size="{_SIZE}" fill="{_INK}" stroke="#fff" stroke-width="3" paint-order="stroke"'
        f"{weight}>{escape(_name(mark))}</text>"
    )


def _name(mark: Mark) -> str:
    return f"{mark.label} (cheapest)" if mark.best else mark.label


def _legend(scene: Scene) -> Iterator[str]:
    y, beaten = 24, f"beaten ({len(scene.losers)}"
    if scene.left_out:
        beaten += f", and {scene.left_out} beyond the frame"
    entries = [
        (f'<path d="{_star(84, y)}" fill="{_FRONT}"/>', 100, "cheapest that holds the SLO"),
        (
            f'<path d="M290 {y}H322" stroke="{_FRONT}" stroke-width="2"/>'
            f'<rect x="{306 - _HALF}" y="{y - _HALF}" width="{2 * _HALF}" height="{2 * _HALF}" '
            f'rx="2" fill="{_FRONT}"/>',
            330,
            f"Pareto front ({len(scene.front)}), numbered as listed",
        ),
        (
            f'<circle cx="598" cy="{y}" r="3.5" fill="none" stroke="{_GREY}"/>',
            608,
            beaten + ")",
        ),
    ]
    for shape, x, words in entries:
        yield (
            f'{shape}<text x="{x}" y="{y + 4}" font-size="{_SIZE}" fill="{_INK}">'
            f"{escape(words)}</text>"
        )
