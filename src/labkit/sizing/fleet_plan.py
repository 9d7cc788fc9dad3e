"""A planned fleet: how many instances, what each replica then does, what it costs, and why."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.specs import Price
from labkit.sizing.bands import Band
from labkit.sizing.cost import usd_per_million_tokens, usd_per_request
from labkit.sizing.estimate import Estimate
from labkit.sizing.inputs import Workload
from labkit.sizing.money import HOURS_PER_MONTH
from labkit.sizing.pricing import FleetLoad
from labkit.sizing.refusal import BLOCKING, Refusal, RefusalCode
from labkit.sizing.serving import Goodput, ServingPoint
from labkit.sizing.serving.explain import point_terms
from labkit.sizing.serving.limits import Limits
from labkit.sizing.terms import Term

_NEVER = BLOCKING | {RefusalCode.SLO_TTFT, RefusalCode.SLO_TPOT}


@dataclass(frozen=True, slots=True)
class FleetPlan:
    """The smallest fleet of one instance type that holds the SLO at a rate, or why there is none.

    estimate: of one replica with one sequence (memory, refusals). workload: as asked, with its
    rate and SLO. replicas_per_instance: devices / tensor_parallel_size. goodput: of one replica;
    goodput_band: requests/s at the ends of what is not known about step times and memory.

    instances: to pay for, spares included; fewest, most: at the ends (most None: it cannot be
    done there; both None: not asked). without_spare: for the load with head-room alone.
    fleet_goodput: requests/s of all instances under the SLO. point: one replica when all work;
    degraded: one replica with `n_plus` instances gone.
    """

    estimate: Estimate
    workload: Workload
    headroom: float
    n_plus: int
    routing: str
    refusals: tuple[Refusal, ...]
    limits: Limits | None = None
    replicas_per_instance: int = 0
    goodput: Goodput | None = None
    goodput_band: Band | None = None
    instances: int | None = None
    without_spare: int | None = None
    fewest: int | None = None
    most: int | None = None
    fleet_goodput: float | None = None
    point: ServingPoint | None = None
    degraded: ServingPoint | None = None

    @property
    def holds(self) -> bool:
        """Whether there is a fleet. A missing price does not keep it from existing."""
        return self.instances is not None and not any(r.code in _NEVER for r in self.refusals)

    @property
    def rate(self) -> float:
        """Requests/s that the fleet must serve."""
        return self.workload.requests_per_second or 0.0

    @property
    def replicas(self) -> int | None:
        """Replicas in the fleet."""
        return None if self.instances is None else self.instances * self.replicas_per_instance

    @property
    def price(self) -> Price | None:
        """The instance's price, where a source gives one."""
        return self.estimate.price

    @property
    def usd_per_hour(self) -> float | None:
        """USD per hour of all instances, spares included."""
        if self.price is None or self.instances is None:
            return None
        return self.price.usd_per_hour * self.instances

    @property
    def usd_per_million_output_tokens(self) -> float | None:
        """USD per 1,000,000 output tokens at the rate that is served, not at capacity."""
        usd = self.usd_per_hour
        return None if usd is None else usd_per_million_tokens(usd, self.output_tokens_per_s)

    @property
    def usd_per_request(self) -> float | None:
        """USD per request at the rate that is served."""
        usd = self.usd_per_hour
        return None if usd is None else usd_per_request(usd, self.rate)

    @property
    def output_tokens_per_s(self) -> float:
        """Output tokens/s of the whole fleet."""
        return self.rate * self.workload.outputs.mean

    def load(self, busy_hours: float = HOURS_PER_MONTH) -> FleetLoad | None:
        """What `cost_report` asks: the rate in `busy_hours` a month against the fleet's goodput."""
        if self.fleet_goodput is None:
            return None
        lengths = self.workload.prompts.mean, self.workload.outputs.mean
        return FleetLoad(self.rate, self.fleet_goodput, *lengths, busy_hours)

    def terms(self) -> tuple[Term, ...]:
        """The arithmetic, number by number; empty where there is no fleet."""
        if self.goodput is None or self.limits is None or self.point is None:
            return ()
        return (*self._replica_terms(self.goodput, self.limits), *self._fleet_terms())

    def _replica_terms(self, goodput: Goodput, limits: Limits) -> tuple[Term, ...]:
        top, section = goodput.point, "One replica"
        chosen = f"bound by {goodput.limited_by}, at {_share(top.utilisation)} of capacity"
        band = self.goodput_band
        return (
            Term(section, "max_num_seqs", limits.slots, "sequences", limits.slots_source),
            Term(
                section, "max_num_batched_tokens", limits.batched_tokens, "tokens/step",
                limits.tokens_source,
            ),
            Term(
                section, "places", top.places, "sequences",
                f"least of max_num_seqs and KV tokens / ({top.context:,.0f} of mean context + "
                "half a block)",
            ),
            Term(
                section, "capacity", top.capacity, "requests/s",
                f"all places taken: places / (decode steps x seconds per step); ends at "
                f"{top.bound_by}",
            ),
            Term(
                section, "goodput", goodput.rate, "requests/s", chosen,
                low=band.low if band else None, high=band.high if band else None,
            ),
        )  # fmt: skip

    def _fleet_terms(self) -> tuple[Term, ...]:
        section, terms = "Fleet", []
        terms.append(Term(section, "rate", self.rate, "requests/s", "asked"))
        terms.append(
            Term(
                section, "replicas per instance", self.replicas_per_instance, "replicas",
                f"{self.estimate.device.count} devices / {self.estimate.tensor_parallel_size}",
            )
        )  # fmt: skip
        terms.append(
            Term(
                section, "instances without spare", self.without_spare, "instances",
                f"fewest that leave {_share(self.headroom)} of goodput free"
                + ("; one queue for all" if self.routing == "shared" else ""),
            )
        )  # fmt: skip
        terms.append(
            Term(
                section, "instances", self.instances, "instances",
                f"at least that many, and enough to hold the SLO with {self.n_plus} lost",
                low=self.fewest, high=self.most,
            )
        )  # fmt: skip
        terms.append(
            Term(
                section, "goodput of the fleet", self.fleet_goodput, "requests/s",
                "all instances, each promise at its percentile",
            )
        )  # fmt: skip
        for name, point in (("all working", self.point), (f"{self.n_plus} lost", self.degraded)):
            if point is not None:
                terms.extend(point_terms(f"Each replica, {name}", point))
        for name, usd, unit in (
            ("cost", self.usd_per_hour, "USD/h"),
            ("cost of output", self.usd_per_million_output_tokens, "USD/1M tokens"),
            ("cost of a request", self.usd_per_request, "USD"),
        ):
            if usd is not None:
                terms.append(Term("Cost", name, usd, unit, "at the rate served, spares included"))
        return tuple(terms)


def _share(part: float) -> str:
    return f"{part * 100:.0f} %"
