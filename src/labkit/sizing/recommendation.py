"""What `recommend` answers: ranked deployments, the frontier, and why every other set-up lost.

Times in ms, rates per second, bytes, money in USD; bands are low / mid / high. A set-up is one way
to run the model; a deployment is a set-up that holds the SLO, with the fleet that carries the rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from labkit.catalog.specs import Instance, ModelSpec, Price
from labkit.sizing.bands import Band
from labkit.sizing.inputs import EngineConfig, Workload
from labkit.sizing.refusal_codes import BLOCKING, RefusalCode


@dataclass(frozen=True, slots=True)
class Setup:
    """One way to run the model: `replicas_per_instance` groups of `tensor_parallel_size` devices.

    weights, kv: names of number formats. Devices that make no whole group stay idle.
    """

    instance: str
    weights: str
    kv: str
    tensor_parallel_size: int
    engine: str
    replicas_per_instance: int = 1

    def config(self, batch: int) -> EngineConfig:
        """The `EngineConfig` that asks `estimate` for this set-up at a batch."""
        return EngineConfig(
            self.weights, self.kv, batch, self.tensor_parallel_size, engine=self.engine
        )


@dataclass(frozen=True, slots=True)
class Miss:
    """Why a set-up lost: the code, the number behind it, and the number it had to meet.

    `value` and `limit` are in `unit`. Both None: no number decides (a format that the silicon does
    not have), and `detail` names what does. `value` alone None: no source lets it be predicted.
    `over`: how many times the limit was missed, 1 or more; infinite where there is no number.
    """

    code: RefusalCode
    detail: str
    value: float | None = None
    limit: float | None = None
    unit: str = ""
    over: float = inf


@dataclass(frozen=True, slots=True)
class Loser:
    """A set-up that cannot be taken. `misses`: every reason; `miss` is the one furthest away.

    `batch`: the batch at which the numbers stand: the smallest one, 1, unless it was given.
    """

    setup: Setup
    batch: int
    misses: tuple[Miss, ...]

    @property
    def miss(self) -> Miss:
        """The reason that is hardest to lift: the one missed by most, the first of equals."""
        return max(self.misses, key=lambda miss: miss.over)

    @property
    def code(self) -> RefusalCode:
        """The code of `miss`."""
        return self.miss.code

    @property
    def distance(self) -> tuple[bool, float, int]:
        """For ordering, the nearest first: does not run at all, missed by how much, reasons.

        What runs and is too slow or has no price is nearer than what does not run: there nobody
        knows how slow it would be. A reason without a number counts as the furthest.
        """
        blocked = any(miss.code in BLOCKING for miss in self.misses)
        return blocked, self.miss.over, len(self.misses)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Instances for the workload's rate, and what they cost on average load.

    rate: requests/s, None where the workload names none: then one instance is priced at full load.
    instances: to pay for, `spares` included (N+1: 1). replicas: on all of them.
    capacity: requests/s of all instances at the batch limit; utilisation: rate / capacity;
    most_utilisation: above it the SLO or the head-room would be broken.
    Costs are at the rate that is served. They have a range because the capacity has one: low is
    what the fast end needs. method: "closed form" (`options`) or "queueing" (`plan_fleet`).
    """

    rate: float | None
    instances: int
    spares: int
    replicas: int
    capacity: float
    utilisation: float
    most_utilisation: float
    usd_per_hour: Band
    usd_per_month: Band
    usd_per_million_output_tokens: Band
    usd_per_request: Band
    method: str = "closed form"


@dataclass(frozen=True, slots=True)
class Deployment:
    """A set-up that holds the SLO, at the largest batch that does, and its fleet.

    batch: the limit of sequences in flight (`max_num_seqs`) on one replica; in_flight: how many
    there are on average at the rate; busy: how many are not exceeded at the SLO's percentile (both
    are the batch where the workload names no rate).

    Times are those met with `busy` in flight. ttft_ms: waiting for a place and for the step that
    runs, then the prefill. tpot_ms: a decode step. served_tpot_ms: the same with the prompts of
    others in between; the SLO is held against it, at the full batch. e2e_ms: TTFT + (output - 1)
    x served TPOT.
    output_tokens_per_s, requests_per_s: the most that one replica makes, with the batch full.
    """

    rank: int
    setup: Setup
    instance: Instance
    batch: int
    max_sequences: int
    ttft_ms: Band
    tpot_ms: Band
    served_tpot_ms: Band
    e2e_ms: Band
    output_tokens_per_s: Band
    requests_per_s: Band
    bound: str
    price: Price
    fleet: Fleet
    in_flight: float = 0.0
    busy: float = 0.0

    @property
    def kind(self) -> str:
        """ "fit" where all times come from a calibration, else "prior"."""
        return Band.worst_kind(self.ttft_ms, self.tpot_ms)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The answer of `recommend`.

    deployments: every set-up that holds the SLO, cheapest first (then the lower E2E): by USD per
    hour of the fleet, or per 1M output tokens at full load where the workload names no rate.
    front: the Pareto front of fleet cost against latency, cheapest first, over all batches: no
    other deployment is both cheaper and faster. Its members need not stand in `deployments`,
    which has each set-up once, at its largest batch. latency: "e2e", "tpot" or "ttft".
    losers: every set-up that was refused. nearest: for each instance type without a deployment,
    the loser that came closest, by `Loser.distance` and name.
    """

    model: ModelSpec
    workload: Workload
    price_kind: str
    region: str
    deployments: tuple[Deployment, ...]
    front: tuple[Deployment, ...]
    losers: tuple[Loser, ...]
    nearest: tuple[Loser, ...]
    latency: str = "e2e"

    @property
    def best(self) -> Deployment | None:
        """The cheapest deployment, None where nothing holds."""
        return self.deployments[0] if self.deployments else None

    @property
    def considered(self) -> int:
        """How many set-ups were looked at."""
        return len(self.deployments) + len(self.losers)

    def per_instance(self) -> tuple[Deployment, ...]:
        """The cheapest deployment of each instance type, in rank order."""
        found: dict[str, Deployment] = {}
        for deployment in self.deployments:
            found.setdefault(deployment.setup.instance, deployment)
        return tuple(found.values())
