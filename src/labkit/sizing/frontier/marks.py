"""What the picture shows: one mark per deployment, with the words that stand beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from labkit.sizing.bands import Band
from labkit.sizing.recommendation import Deployment, Recommendation

AXES = {
    "e2e": "End-to-end latency of a request, ms (log scale)",
    "tpot": "Time per output token, ms (log scale)",
    "ttft": "Time to first token, ms (log scale)",
}
COST_AXIS = "USD per 1M output tokens (log scale)"


_BEYOND = 3.0  # losers that cost or take more than this times the front's worst are not drawn
_NAMED = 7


@dataclass(frozen=True, slots=True)
class Mark:
    """One deployment: latency in ms, cost in USD per 1M output tokens, and what to call it.

    number: its place on the front, 1 being the cheapest; 0 off the front. named: whether its name
    stands beside it, where a place is free; the table below a picture has all names.
    best: the cheapest that holds the SLO.
    """

    latency_ms: float
    usd: float
    label: str
    number: int = 0
    named: bool = False
    best: bool = False

    @property
    def front(self) -> bool:
        """Whether no other deployment is both cheaper and faster."""
        return self.number > 0


@dataclass(frozen=True, slots=True)
class Scene:
    """What is drawn: `losers` inside the frame, the `front` from cheap to fast; `left_out` losers
    are too dear or too slow for the frame, and are only counted.
    """

    front: tuple[Mark, ...]
    losers: tuple[Mark, ...]
    left_out: int

    @property
    def every(self) -> tuple[Mark, ...]:
        """All marks, those of the front last, so that they are drawn on top."""
        return self.losers + self.front


def scene_of(recommendation: Recommendation) -> Scene:
    """The front with numbers, and the cheapest set-up of each other instance type."""
    front = marks(recommendation)
    if not front:
        return Scene((), (), 0)
    shown = {_key(deployment) for deployment in recommendation.front}
    rest = [d for d in recommendation.per_instance() if _key(d) not in shown]
    losers = [_mark(recommendation, deployment) for deployment in rest]
    slowest = _BEYOND * max(mark.latency_ms for mark in front)
    dearest = _BEYOND * max(mark.usd for mark in front)
    inside = tuple(m for m in losers if m.latency_ms <= slowest and m.usd <= dearest)
    return Scene(front, inside, len(losers) - len(inside))


def marks(recommendation: Recommendation) -> tuple[Mark, ...]:
    """The front from cheap to fast, numbered; a few of them, evenly spread, are named."""
    front, best = recommendation.front, recommendation.best
    named = {round(i * (len(front) - 1) / (_NAMED - 1)) for i in range(_NAMED)}
    return tuple(
        replace(
            _mark(recommendation, deployment),
            number=i + 1,
            named=i in named,
            best=best is not None and _key(deployment) == _key(best),
        )
        for i, deployment in enumerate(front)
    )


def _mark(recommendation: Recommendation, deployment: Deployment) -> Mark:
    return Mark(
        latency_ms=latency_of(deployment, recommendation.latency).mid,
        usd=deployment.fleet.usd_per_million_output_tokens.mid,
        label=name_of(deployment),
    )


def latency_of(deployment: Deployment, latency: str) -> Band:
    """The latency of that name: "e2e", "tpot" (with prompts in between) or "ttft", in ms."""
    return {
        "e2e": deployment.e2e_ms,
        "tpot": deployment.served_tpot_ms,
        "ttft": deployment.ttft_ms,
    }[latency]


def name_of(deployment: Deployment) -> str:
    """ "3 x g6e.xlarge fp8", with the TP size where it is above 1, and the batch."""
    setup = deployment.setup
    split = f" TP {setup.tensor_parallel_size}" if setup.tensor_parallel_size > 1 else ""
    return (
        f"{deployment.fleet.instances} × {setup.instance} {setup.weights}{split}, "
        f"{deployment.batch} in flight"
    )


def _key(deployment: Deployment) -> tuple[object, int]:
    return deployment.setup, deployment.batch
