"""One look at one setting: where the controls stand, and what follows from that."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog import Catalog, ModelSpec
from labkit.sizing.defaults import default_kv_format
from labkit.sizing.estimate import Estimate, estimate
from labkit.sizing.inputs import EngineConfig, Workload
from labkit.sizing.whatif.at_rate import AtRate, at_rate
from labkit.sizing.whatif.bars import Bar, bars


@dataclass(frozen=True, slots=True)
class Asked:
    """Where every control stands. None is the default that `estimate` would take.

    rate: requests/s that are to be served by as many replicas as it takes; None: not asked.
    """

    model: str
    instance: str
    weights: str | None = None
    tensor_parallel_size: int | None = None
    batch: int = 1
    prompt: int = 512
    output: int = 256
    rate: float | None = None
    kv: str | None = None
    engine: str | None = None
    prefix_hit_rate: float = 0.0
    price: str = "on-demand"
    region: str = "us-east-1"


@dataclass(frozen=True, slots=True)
class Look:
    """What follows: the estimate of one replica, its bars, and what the rate needs."""

    asked: Asked
    estimate: Estimate
    bars: tuple[Bar, ...]
    at_rate: AtRate | None


def look(asked: Asked) -> Look:
    """Ask the engine. Raises `LabkitError`, one sentence, for names and numbers that make none."""
    model = ModelSpec.from_config(asked.model)
    instance = Catalog.load().instance(asked.instance)
    weights = asked.weights or model.native_format
    config = EngineConfig(
        weights=weights,
        kv=asked.kv or default_kv_format(weights, instance),
        batch=asked.batch,
        tensor_parallel_size=asked.tensor_parallel_size,
        engine=asked.engine,
    )
    workload = Workload(
        asked.prompt,
        asked.output,
        requests_per_second=asked.rate,
        prefix_hit_rate=asked.prefix_hit_rate,
    )
    found = estimate(model, instance, config, workload, price_kind=asked.price, region=asked.region)
    return Look(asked, found, bars(found), at_rate(found))
