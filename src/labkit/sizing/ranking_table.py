"""The lanes that hold, at several batch limits, as arrays; and the deployments made of them.

Columns are batch limits: the largest that holds, then halves of it down to one. The first column
is ranked; all of them compete for the Pareto front.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from labkit.catalog.specs import Price
from labkit.sizing.bands import Band
from labkit.sizing.estimate import cached_prompt_tokens
from labkit.sizing.fleets import fleet_of, fleets_for
from labkit.sizing.grid import BOUNDS, Loads, Range, evaluate
from labkit.sizing.inputs import Workload
from labkit.sizing.lanes import Lane, stack
from labkit.sizing.options import Promise, Queue, Times, at_percentile, in_flight, times, times_of
from labkit.sizing.recommendation import Deployment, Setup

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_HALVES = 9


@dataclass(frozen=True, slots=True)
class Terms:
    """What a deployment must satisfy, and how it is paid."""

    workload: Workload
    price_kind: str
    region: str
    headroom: float
    n_plus: int
    max_batch: int | None
    latency: str

    @property
    def promise(self) -> Promise:
        """The workload's SLO; infinite where nothing was promised."""
        slo = self.workload.slo
        if slo is None:
            return Promise(inf, inf, 95.0)
        return Promise(slo.ttft_ms or inf, slo.tpot_ms or inf, slo.percentile)

    @property
    def load(self) -> Loads:
        """The workload's lengths as arrays of one."""
        work = self.workload
        found = (
            work.prompt_tokens,
            work.output_tokens,
            cached_prompt_tokens(work),
            work.mean_context,
        )
        return Loads(*(np.full((1, 1, 1), float(value)) for value in found))


def setup_of(lane: Lane) -> Setup:
    """The lane by name; at least one replica."""
    n = lane.tensor_parallel_size
    return Setup(
        lane.instance.name,
        lane.config.weights,
        lane.config.kv,
        n,
        lane.engine.name,
        max(1, lane.device.count // n),
    )


class Table:
    """Numbers of every lane that holds, at every batch limit: (lanes, options, 1)."""

    def __init__(
        self, lanes: list[Lane], prices: list[Price], largest: Floats, terms: Terms
    ) -> None:
        self.lanes, self.prices, self.terms = lanes, prices, terms
        self.setups = [setup_of(lane) for lane in lanes]
        self.stack = stack(lanes)
        load, promise = terms.load, terms.promise
        halves = np.floor(largest[:, None, None] / 2.0 ** np.arange(_HALVES)[None, :, None])
        self.batch = np.maximum(halves, 1.0)
        full = evaluate(self.stack, self.batch, load)
        self.room, self.tokens = full.max_sequences, full.tokens_per_s
        replicas = np.array([float(setup.replicas_per_instance) for setup in self.setups])
        usd = np.array([price.usd_per_hour for price in prices])
        capacity = Range(*(end / load.output for end in self.tokens.ends))
        self.queue = Queue(capacity.mid, self.batch, full.ttft_ms.mid / 1e3)
        self.fleets = fleets_for(
            capacity,
            times_of(full, self.batch, load).ttft.mid,
            self.queue,
            replicas[:, None, None],
            usd[:, None, None],
            terms.workload,
            promise,
            terms.headroom,
            terms.n_plus,
        )
        self.mean = self.busy = self.batch
        if self.fleets.rate_each is not None:
            self.mean = in_flight(self.stack, load, self.fleets.rate_each, self.batch)
            self.busy = at_percentile(self.mean, self.batch, promise)
        self.times = self._times(load, promise)

    def _times(self, load: Loads, promise: Promise) -> Times:
        found = times(self.stack, self.busy, load)
        if self.fleets.rate_each is None:
            return found
        wait = 1e3 * self.queue.wait_seconds(self.fleets.rate_each, promise.percentile)
        return replace(
            found,
            ttft=Range(*(end + wait for end in found.ttft.ends)),
            e2e=Range(*(end + wait for end in found.e2e.ends)),
        )

    def ranked(self) -> tuple[Deployment, ...]:
        """The first column, cheapest first, then the fastest."""
        cost = self.fleets.cost.mid[:, 0, 0]
        order = np.lexsort((self.times.e2e.mid[:, 0, 0], cost))
        return self._deployments(order, np.zeros_like(order), range(1, len(order) + 1))

    def front(self, deployments: tuple[Deployment, ...]) -> tuple[Deployment, ...]:
        """Those of all columns that no other beats in cost and latency both, cheapest first."""
        latency = {
            "e2e": self.times.e2e,
            "tpot": self.times.served_tpot,
            "ttft": self.times.ttft,
        }[self.terms.latency].mid
        cost, slow = self.fleets.cost.mid.ravel(), latency.ravel()
        best, front = inf, []
        for at in np.lexsort((slow, cost)).tolist():
            if slow[at] < best * (1 - 1e-9):
                best = float(slow[at])
                front.append(at)
        lanes, columns = np.divmod(np.array(front), self.batch.shape[1])
        place = {deployment.setup: deployment.rank for deployment in deployments}
        return self._deployments(lanes, columns, [place[self.setups[lane]] for lane in lanes])

    def _deployments(
        self, lanes: NDArray[np.int64], columns: NDArray[np.int64], ranks: Sequence[int]
    ) -> tuple[Deployment, ...]:
        """The options at these places as objects: all numbers are read at once."""
        fleets, found, shape = self.fleets, self.times, self.batch.shape
        read = (
            *(
                end
                for band in (found.ttft, found.tpot, found.served_tpot, found.e2e)
                for end in band.ends
            ),
            *(
                end
                for band in (self.tokens, fleets.capacity_each, fleets.usd_per_hour)
                for end in band.ends
            ),
            *(self.batch, self.room, self.mean, self.busy, found.bound),
            *(fleets.instances.mid, fleets.most_utilisation),
        )
        rows = np.stack([np.broadcast_to(one, shape)[lanes, columns, 0] for one in read], axis=1)
        return tuple(
            self._deployment(lane, rank, row)
            for lane, rank, row in zip(lanes.tolist(), ranks, rows.tolist(), strict=True)
        )

    def _deployment(self, lane: int, rank: int, row: list[float]) -> Deployment:
        of, setup, price = self.lanes[lane], self.setups[lane], self.prices[lane]
        workload = self.terms.workload
        batch, room, mean, busy, bound, instances, most = row[21:]
        then = of.kinds[2] if busy > 1 else of.kinds[1]
        both = "fit" if of.kinds[0] == then == "fit" else "prior"
        tokens = _band(row, 12, both)
        return Deployment(
            rank=rank,
            setup=setup,
            instance=of.instance,
            batch=int(batch),
            max_sequences=int(room),
            ttft_ms=_band(row, 0, both),
            tpot_ms=_band(row, 3, then),
            served_tpot_ms=_band(row, 6, both),
            e2e_ms=_band(row, 9, both),
            output_tokens_per_s=tokens,
            requests_per_s=tokens.times(1 / workload.output_tokens),
            bound=BOUNDS[int(bound)],
            price=price,
            fleet=fleet_of(
                workload,
                _band(row, 15, both),
                _band(row, 18, both),
                int(instances),
                self.fleets.spares,
                setup.replicas_per_instance,
                most,
            ),
            in_flight=mean,
            busy=busy,
        )


def _band(row: list[float], at: int, kind: str) -> Band:
    """The band whose low, mid and high stand from `at` on."""
    return Band(row[at], row[at + 1], row[at + 2], kind)
