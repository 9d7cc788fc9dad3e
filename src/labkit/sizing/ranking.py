"""Every lane of a recommendation judged: ranked where it holds, with its reasons where not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from labkit.catalog.specs import Price
from labkit.sizing.estimate import price_refusals
from labkit.sizing.grid import evaluate
from labkit.sizing.lanes import Lane, Stack, stack
from labkit.sizing.misses import misses_of
from labkit.sizing.options import largest_batch
from labkit.sizing.ranking_table import Table, Terms, setup_of
from labkit.sizing.recommendation import Deployment, Loser

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_BATCH = 256  # where an engine has no limit of its own


@dataclass(frozen=True, slots=True)
class Ranked:
    """See `Recommendation`."""

    deployments: tuple[Deployment, ...]
    front: tuple[Deployment, ...]
    losers: tuple[Loser, ...]


def rank(lanes: Sequence[Lane], terms: Terms) -> Ranked:
    """Every lane as a deployment or a loser."""
    prices = [lane.instance.price(terms.price_kind, terms.region) for lane in lanes]
    lanes_stack = stack(lanes)
    batches = _largest(lanes_stack, terms)
    wins = [
        index
        for index, (lane, price) in enumerate(zip(lanes, prices, strict=True))
        if price is not None
        and batches[index] >= 1
        and lane.engine.family != "eager"
        and not _refused_price(lane, price, terms)
    ]
    won = set(wins)
    lost = [index for index in range(len(lanes)) if index not in won]
    losers = tuple(_losers(lanes_stack, lost, prices, terms))
    if not wins:
        return Ranked((), (), losers)
    table = Table(
        [lanes[index] for index in wins],
        [price for index in wins if (price := prices[index]) is not None],
        batches[wins],
        terms,
    )
    deployments = table.ranked()
    return Ranked(deployments, table.front(deployments), losers)


def _largest(stacked: Stack, terms: Terms) -> NDArray[np.float64]:
    """The largest batch of each lane that fits and holds; 0 where none does."""
    load, limit = terms.load, stacked.columns["sequences"]
    limit = np.where(np.isinf(limit), MOST_BATCH, limit)
    if terms.max_batch is not None:
        limit = np.full_like(limit, terms.max_batch)
    room = evaluate(stacked, limit, load)
    timed = room.ttft_ms.mid > 0  # false for not a number
    most = np.where(timed, np.minimum(limit, room.max_sequences), 0.0)
    return largest_batch(stacked, load, most, terms.promise)[:, 0, 0]


def _refused_price(lane: Lane, price: Price | None, terms: Terms) -> bool:
    return bool(price_refusals(lane.instance, price, terms.price_kind, terms.region))


def _losers(
    stacked: Stack, lost: list[int], prices: Sequence[Price | None], terms: Terms
) -> Iterator[Loser]:
    one = evaluate(stacked, np.ones((1, 1, 1)), terms.load)
    ttft, tpot = (
        np.broadcast_to(band.mid, (len(stacked.lanes), 1, 1))[:, 0, 0].tolist()
        for band in (one.ttft_ms, one.tpot_ms)
    )
    for index in lost:
        lane = stacked.lanes[index]
        refused = price_refusals(lane.instance, prices[index], terms.price_kind, terms.region)
        misses = misses_of(lane, terms.workload, ttft[index], tpot[index], refused)
        yield Loser(setup_of(lane), 1, misses)
