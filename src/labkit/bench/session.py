"""What a job gets and what it gives back; lives in the worker process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from labkit.bench.progress import Progress, Report
from labkit.bench.sampling import Samples, repeat
from labkit.contract import Series


@dataclass(slots=True)
class Steps:
    """Counts a measurement's steps as they begin; `total` 0 where nobody planned them."""

    total: int = 0
    begun: int = 0

    def begin(self, text: str) -> Progress:
        """The next step, in words and as a number of all."""
        self.begun += 1
        return Progress(text, self.begun, self.total) if self.total else Progress(text)

    def leave_out(self, count: int) -> None:
        """Steps of the plan that this machine is spared."""
        self.begun += count


@dataclass(frozen=True, slots=True)
class Session:
    """One run of a job: the device it uses, how thorough it is, and whom it tells its progress."""

    device: str
    quick: bool
    threads: int
    report: Report
    # On a busy machine nearly everything is noisy: trying all of it again would take minutes.
    retry_until: float = float("inf")
    options: dict[str, Any] = field(default_factory=dict)
    steps: Steps = field(default_factory=Steps)

    def say(self, text: str) -> None:
        """The next step begins."""
        self.report(self.steps.begin(text))

    def late(self) -> bool:
        """Whether the time for taking noisy series again is over."""
        return time.perf_counter() > self.retry_until

    def sync(self) -> None:
        """Wait until the device has done all that was asked of it; nothing to do on a CPU."""
        import torch

        if self.device == "cuda":
            torch.cuda.synchronize()
        elif self.device == "mps":
            torch.mps.synchronize()

    def time(self, step: Callable[[], object], **options: Any) -> Samples:
        """`sampling.repeat` with this device's way of waiting."""
        if self.device != "cpu":
            options |= {"sync": self.sync, "share_limit": 0.0}
        return repeat(step, retry_until=self.retry_until, **options)


@dataclass(slots=True)
class Measured:
    """What a job found: series, the CPU share of each, counted facts, and remarks."""

    series: list[Series] = field(default_factory=list)
    cpu_share: dict[str, float] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def extend(self, other: Measured) -> None:
        """Add all that another job found, after what is here."""
        self.series += other.series
        self.cpu_share |= other.cpu_share
        attempts = self.facts.get("attempts", {}) | other.facts.get("attempts", {})
        self.facts |= other.facts | ({"attempts": attempts} if attempts else {})
        self.notes += other.notes

    def add_times(self, name: str, label: str, samples: Samples) -> None:
        """A series of durations, in ms."""
        self._add(name, label, "ms", samples.milliseconds(), samples)

    def add_rate(self, name: str, label: str, unit: str, amount: float, samples: Samples) -> None:
        """A series of rates: `amount` of `unit`·s per repetition (GB for GB/s)."""
        self._add(name, label, unit, samples.rate(amount), samples)

    def _add(
        self, name: str, label: str, unit: str, values: tuple[float, ...], samples: Samples
    ) -> None:
        rounded = tuple(float(f"{value:.5g}") for value in values)
        self.series.append(Series(name, unit, rounded, label))
        self.cpu_share[name] = round(samples.cpu_share, 3)
        if samples.attempts > 1:
            self.facts.setdefault("attempts", {})[name] = samples.attempts
