"""The picture: what is on it, that names never overlap, that it needs nothing from outside."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from labkit.sizing.checks import SizingError
from labkit.sizing.frontier import frontier_svg, marks, plot_frontier, scene_of
from labkit.sizing.frontier.labels import Box, crosses, place, stairs
from labkit.sizing.frontier.scale import log_scale
from tests.sizing.toy_recommendation import nothing, recommendation

FOUND = recommendation()
SVG = "{http://www.w3.org/2000/svg}"


def test_the_front_is_numbered_from_cheap_to_fast():
    front = marks(FOUND)
    assert [mark.number for mark in front] == list(range(1, len(front) + 1))
    for cheap, fast in pairwise(front):
        assert cheap.usd <= fast.usd
        assert cheap.latency_ms >= fast.latency_ms
    assert front[0].best
    assert sum(mark.best for mark in front) == 1


def test_losers_are_beaten_by_the_front():
    scene = scene_of(FOUND)
    assert scene.losers
    for loser in scene.losers:
        assert any(
            mark.usd <= loser.usd and mark.latency_ms <= loser.latency_ms for mark in scene.front
        )
    assert len(scene.front) + len(scene.losers) + scene.left_out == len(FOUND.per_instance())


def test_the_svg_stands_alone_and_says_what_it_shows():
    svg = frontier_svg(FOUND)
    root = ET.fromstring(svg)
    assert root.attrib["role"] == "img"
    assert root.find(f"{SVG}title").text == "llama-3-8b: cost against latency"
    words = root.find(f"{SVG}desc").text
    for mark in marks(FOUND):
        assert mark.label in words
    assert not re.search(r"(href|src|url\(|@import|<script)", svg)
    assert re.findall(r"https?://[^\"]+", svg) == ["http://www.w3.org/2000/svg"]
    # Not by colour alone: a star, numbered squares, hollow circles, and words for each.
    texts = {element.text for element in root.iter(f"{SVG}text")}
    assert "cheapest that holds the SLO" in texts
    assert {str(m.number) for m in marks(FOUND) if not m.best} <= texts
    circles = [c for c in root.iter(f"{SVG}circle") if c.attrib["fill"] == "none"]
    assert len(circles) == len(scene_of(FOUND).losers) + 1  # and the one of the legend


def test_points_stand_where_their_numbers_are():
    root = ET.fromstring(frontier_svg(FOUND))
    shown = scene_of(FOUND).every
    across = log_scale([m.latency_ms for m in shown], 74, 856)
    by_title = {g.find(f"{SVG}title").text.partition(":")[0]: g for g in root.iter(f"{SVG}g")}
    for mark in marks(FOUND):
        group = by_title[mark.label]
        square = group.find(f"{SVG}rect")
        if square is not None:
            middle = float(square.attrib["x"]) + float(square.attrib["width"]) / 2
            assert middle == pytest.approx(across.at(mark.latency_ms), abs=0.1)


def test_hostile_names_stay_text():
    from dataclasses import replace

    model = replace(FOUND.model, name="<script>alert(1)</script>")
    assert "<script" not in frontier_svg(replace(FOUND, model=model))


def test_nothing_to_draw():
    assert frontier_svg(nothing()) == ""
    with pytest.raises(SizingError, match="No deployment holds the SLO"):
        plot_frontier(nothing())


def test_one_deployment_alone_has_a_picture():
    alone = recommendation(setups=[FOUND.deployments[0].setup])
    assert ET.fromstring(frontier_svg(alone)) is not None


def test_matplotlib_shows_the_same():
    import matplotlib as mpl

    with mpl.rc_context({"backend": "agg"}):
        import matplotlib.pyplot as plt

        ax = plot_frontier(FOUND)
        scene = scene_of(FOUND)
        assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
        (line,) = [one for one in ax.lines if len(one.get_xdata()) == len(scene.front)]
        drawn = sorted(zip(line.get_xdata(), line.get_ydata(), strict=True))
        assert drawn == sorted((m.latency_ms, m.usd) for m in scene.front)
        offsets = ax.collections[0].get_offsets()
        assert len(offsets) == len(scene.losers)
        names = {text.get_text() for text in ax.texts}
        assert names <= {mark.label for mark in scene.front}
        assert marks(FOUND)[0].label in names
        plt.close(ax.figure)


coordinates = st.tuples(st.floats(0, 800), st.floats(0, 400))


@settings(deadline=None)
@given(st.lists(coordinates, min_size=1, max_size=20), st.floats(20, 300))
def test_names_never_overlap_each_other_or_a_point(points, width):
    frame = Box(0, 0, 800, 400)
    obstacles = stairs(points, 8)
    placed = [p for p in place(points, [(width, 17.0)] * len(points), obstacles, frame) if p]
    boxes = [p.box for p in placed]
    for i, box in enumerate(boxes):
        assert box.inside(frame)
        assert not any(box.overlaps(other) for other in boxes[i + 1 :])
        assert not any(box.overlaps(other) for other in obstacles)
    for i, one in enumerate(placed):
        if one.leader:
            assert not any(crosses(one.leader, box) for j, box in enumerate(boxes) if j < i)


positive = st.floats(1e-6, 1e9)


@given(st.lists(positive, min_size=1, max_size=30))
def test_an_axis_holds_every_value_and_has_ticks(values):
    scale = log_scale(values, 0.0, 100.0)
    for value in values:
        assert -1e-6 <= scale.at(value) <= 100.0 + 1e-6
    assert len(scale.ticks) >= 2
    assert list(scale.ticks) == sorted(set(scale.ticks))
    assert all(-1e-6 <= scale.at(tick) <= 100 + 1e-6 for tick in scale.ticks)


@given(positive, positive)
def test_an_axis_keeps_the_order(low, high):
    assume(low < high)
    scale = log_scale([low, high], 0.0, 100.0)
    assert scale.at(low) < scale.at(high)
