"""What comes of checking one answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from labkit.contract.codes import Code
from labkit.contract.view import card, text_card


def of_points(points: float, most: float) -> str:
    """Points in words: "1 of 2 points", or "ungraded" where there are none to earn."""
    return f"{points:g} of {most:g} points" if most else "ungraded"


class Status(StrEnum):
    """The four things that can come of a check."""

    PASSED = "passed"
    NOT_ATTEMPTED = "not attempted"
    FAILED = "failed"
    ERROR = "error"


# A sign and a word for each, so that no meaning hangs on colour alone.
MARKS = {
    Status.PASSED: "✓ Passed",
    Status.NOT_ATTEMPTED: "○ Not attempted",
    Status.FAILED: "✗ Not yet",
    Status.ERROR: "! Error",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one check.

    `message` is what the learner reads; `code` names the misconception or remark; `shown` is
    the answer as it was understood ("116.7 FLOP/B"), so a misread unit is seen at once; `next`
    is what to do now (a hint's number, the next exercise).
    """

    exercise: str
    status: Status
    message: str
    code: Code = Code.NONE
    points: float = 0.0
    max_points: float = 0.0
    shown: str = ""
    title: str = ""
    next: str = ""

    @property
    def passed(self) -> bool:
        """Whether the answer earned its points."""
        return self.status is Status.PASSED

    def to_json(self) -> dict[str, Any]:
        """A JSON object; every value is a string or a number."""
        return asdict(self)

    def _parts(self) -> tuple[str, str, list[str]]:
        head = f"{MARKS[self.status]} · {self.exercise}"
        if self.title:
            head += f" {self.title}"
        tail = of_points(self.points, self.max_points)
        lines = [self.message]
        if self.shown and self.status is not Status.NOT_ATTEMPTED:
            lines.append(f"Read as: {self.shown}")
        if self.next:
            lines.append(self.next)
        return head, tail, lines

    def __str__(self) -> str:
        head, tail, lines = self._parts()
        return text_card(head, tail, lines)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        head, tail, lines = self._parts()
        return {
            "text/plain": text_card(head, tail, lines),
            "text/html": card(self.status.value.replace(" ", "-"), head, tail, lines),
        }
