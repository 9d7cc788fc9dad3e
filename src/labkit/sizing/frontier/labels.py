"""Labels that do not overlap: each takes the nearest free place around its point."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

_STEP = 9.0
_RINGS = 6  # further off a name would say little: the point has its number


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels, y downwards."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Whether the two share any area."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def inside(self, frame: Box) -> bool:
        """Whether it lies in the frame altogether."""
        return (
            frame.left <= self.left
            and self.right <= frame.right
            and frame.top <= self.top
            and self.bottom <= frame.bottom
        )


@dataclass(frozen=True, slots=True)
class Placed:
    """A label's box; where a line must lead to its point, that line's ends; and its side."""

    box: Box
    leader: tuple[float, float, float, float] | None
    left: bool


def place(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    obstacles: Sequence[Box],
    frame: Box,
) -> list[Placed | None]:
    """A place for each label of `sizes` (width, height) near its point; None where none is free.

    `obstacles` are what no label may cover: points, and the line that joins them. A label that
    stands further off gets a line, and no such line runs through another label.
    """
    taken, names = list(obstacles), list[Box]()
    found: list[Placed | None] = []
    for (x, y), (width, height) in zip(points, sizes, strict=True):
        chosen = None
        for ring, box in _around(x, y, width, height):
            if not box.inside(frame) or any(box.overlaps(other) for other in taken):
                continue
            leader = _leader(x, y, box) if ring > 0 else None
            if leader and any(crosses(leader, name) for name in names):
                continue
            chosen = Placed(box, leader, left=(box.left + box.right) / 2 < x)
            taken.append(box)
            names.append(box)
            if leader:
                taken += _along(leader)
            break
        found.append(chosen)
    return found


def stairs(points: Sequence[tuple[float, float]], half: float) -> list[Box]:
    """Boxes over points of a front and over the stairs between them: nothing may cover these."""
    found = [Box(x - half, y - half, x + half, y + half) for x, y in points]
    for (x1, y1), (x2, y2) in pairwise(sorted(points)):
        found.append(Box(x1, y1 - 2, x2, y1 + 2))
        found.append(Box(x2 - 2, min(y1, y2), x2 + 2, max(y1, y2)))
    return found


def crosses(line: tuple[float, float, float, float], box: Box) -> bool:
    """Whether a line runs through a box, looked at every few pixels."""
    return any(part.overlaps(box) for part in _along(line))


def _leader(x: float, y: float, box: Box) -> tuple[float, float, float, float]:
    """From the point to the nearest spot of the box."""
    return x, y, min(max(x, box.left), box.right), min(max(y, box.top), box.bottom)


def _along(line: tuple[float, float, float, float]) -> list[Box]:
    """Small boxes on a line's way; its start is left out, where its own point lies."""
    x1, y1, x2, y2 = line
    steps = max(2, int(max(abs(x2 - x1), abs(y2 - y1)) / 3))
    at = [(x1 + (x2 - x1) * i / steps, y1 + (y2 - y1) * i / steps) for i in range(1, steps)]
    return [Box(x - 1, y - 1, x + 1, y + 1) for x, y in at]


def _around(x: float, y: float, width: float, height: float) -> Iterator[tuple[int, Box]]:
    """Boxes around a point, nearest first: above right, below right, left, above, below."""
    for ring in range(_RINGS):
        gap = 10.0 + ring * _STEP
        for left, top in (
            (x + gap, y - gap - height / 2),
            (x + gap, y - height / 2),
            (x + gap, y + gap - height / 2),
            (x - gap - width, y + gap - height / 2),
            (x - gap - width, y - height / 2),
            (x - gap - width, y - gap - height / 2),
            (x - width / 2, y - gap - height),
            (x - width / 2, y + gap),
        ):
            yield ring, Box(left, top, left + width, top + height)
