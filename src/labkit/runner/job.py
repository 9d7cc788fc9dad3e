"""What one run is told: the cells, the givens and the limits. One JSON line on stdin.

A job holds no reference and no hidden draw: probes arrive one by one, when a function is checked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Limits:
    """What one submission may use. Seconds are wall clock, sizes bytes."""

    cell_s: float = 30.0
    total_s: float = 180.0
    probe_s: float = 10.0
    start_s: float = 60.0  # from the launch to the first cell
    memory: int = 3 << 30  # address space of each process
    memory_total: int = 4 << 30  # resident memory of all processes together
    file_size: int = 100 << 20
    disk: int = 256 << 20  # all of /tmp
    processes: int = 64
    open_files: int = 256


@dataclass(frozen=True, slots=True)
class Cell:
    """One code cell, by its id in the notebook."""

    id: str
    source: str


@dataclass(frozen=True, slots=True)
class Job:
    """One submission to run. `givens` and `records` are in JSON form, by exercise and record id.

    `carried` holds answers to exercises of other labs in wire form, by exercise id. `probed` lists
    the exercises whose answer is a function to be called; `seed` starts the random generators, so
    that a notebook that draws without a seed is graded the same every time.
    """

    lab: str
    learner: str
    cells: tuple[Cell, ...]
    givens: Mapping[str, Any] = field(default_factory=dict)
    probed: frozenset[str] = frozenset()
    records: Mapping[str, Any] = field(default_factory=dict)
    carried: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    limits: Limits = field(default_factory=Limits)

    def to_line(self) -> bytes:
        """The job as one line of JSON, newline included."""
        data = asdict(self) | {"probed": sorted(self.probed)}
        return json.dumps(data, separators=(",", ":")).encode("ascii") + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> Job:
        """A job from what `to_line` wrote."""
        data = json.loads(line)
        return cls(
            lab=data["lab"],
            learner=data["learner"],
            cells=tuple(Cell(**cell) for cell in data["cells"]),
            givens=data["givens"],
            probed=frozenset(data["probed"]),
            records=data["records"],
            carried=data["carried"],
            seed=data["seed"],
            limits=Limits(**data["limits"]),
        )
