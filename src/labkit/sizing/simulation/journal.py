"""When what happened to each request, while a simulation runs."""

from __future__ import annotations

import math


class Journal:
    """Per-request times in seconds; requests are numbered in arrival order."""

    __slots__ = ("arrival", "finish", "first_token", "preemptions", "start", "unfinished")

    def __init__(self, requests: int) -> None:
        self.unfinished = requests
        self.arrival: list[float] = []
        self.start = [math.nan] * requests
        self.first_token = [math.nan] * requests
        self.finish = [math.nan] * requests
        self.preemptions = [0] * requests

    def arrived(self, time: float) -> int:
        """A request came at `time`: its number."""
        self.arrival.append(time)
        return len(self.arrival) - 1

    def started(self, request: int, time: float) -> None:
        """The first step that works on it begins; a start after a preemption is not noted."""
        if math.isnan(self.start[request]):
            self.start[request] = time

    def finished(self, request: int, time: float) -> None:
        """The answer is complete."""
        self.finish[request] = time
        self.unfinished -= 1
