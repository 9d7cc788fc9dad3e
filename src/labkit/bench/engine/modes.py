"""What every way of serving has in common: it gets requests and gives tokens and times."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from labkit.bench.engine.requests import Request


@dataclass(frozen=True, slots=True)
class Spent:
    """CPU seconds of the whole engine, and wall seconds."""

    cpu_s: float
    wall_s: float

    def seconds(self, *, wall: bool) -> float:
        """One of the two."""
        return self.wall_s if wall else self.cpu_s


@dataclass(frozen=True, slots=True)
class Run:
    """One pass: token ids by request id, and what it took.

    `each` holds what every request took by itself, where requests ran one after another.
    """

    outputs: Mapping[int, Sequence[int]]
    spent: Spent
    each: Mapping[int, Spent] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """Useful tokens: those that somebody asked for. Padding is not among them."""
        return sum(len(output) for output in self.outputs.values())


class Mode(Protocol):
    """A way of serving. A context manager: what it holds beside the model lives inside.

    `by_wall`: its CPU seconds are not to be seen, so wall seconds are compared.
    """

    by_wall: bool

    def __enter__(self) -> Mode: ...

    def __exit__(self, *_: object) -> None: ...

    def run(self, requests: Sequence[Request]) -> Run:
        """Serve all of them, which are all there from the start."""

    def run_alone(self, requests: Sequence[Request]) -> Run:
        """Serve them one after another: concurrency 1."""

    def memory_bytes(self) -> int:
        """Resident memory of the engine's processes now."""


@dataclass(slots=True)
class Stopwatch:
    """CPU seconds of this process (all its threads) and wall seconds since it was made."""

    cpu: float = field(default_factory=time.process_time)
    wall: float = field(default_factory=time.perf_counter)

    def spent(self) -> Spent:
        """Both, since then."""
        return Spent(time.process_time() - self.cpu, time.perf_counter() - self.wall)
