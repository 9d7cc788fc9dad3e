"""The picture of a recommendation: cost against latency, the Pareto front drawn, losers greyed.

`frontier_svg` needs nothing but this package; `plot_frontier` draws the same with matplotlib.
"""

from labkit.sizing.frontier.marks import Mark, Scene, marks, scene_of
from labkit.sizing.frontier.plot import plot_frontier
from labkit.sizing.frontier.svg import frontier_svg

__all__ = ["Mark", "Scene", "frontier_svg", "marks", "plot_frontier", "scene_of"]
