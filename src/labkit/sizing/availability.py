"""Where an instance type can be had, as far as the catalogue knows, and what loading asks of it.

The catalogue is no list of regions: it has the regions for which a price was taken. A region that
is missing here is unknown, not refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog.specs import Instance, ModelSpec
from labkit.sizing.engines import engine_named, loader_named
from labkit.sizing.inputs import EngineConfig
from labkit.sizing.recommendation import Setup
from labkit.sizing.units import gib
from labkit.sizing.weights import resident_weight_bytes


@dataclass(frozen=True, slots=True)
class Availability:
    """regions, spot_regions, sagemaker_regions: those with a price of that kind in the catalogue.

    sagemaker_hosting: whether SageMaker hosts the type (ml.*) at all.
    """

    instance: str
    regions: tuple[str, ...]
    spot_regions: tuple[str, ...]
    sagemaker_regions: tuple[str, ...]
    sagemaker_hosting: bool

    @property
    def words(self) -> str:
        """One sentence that says what is known and what is not."""
        known = ", ".join(self.regions) or "no region"
        hosted = f"SageMaker does not host ml.{self.instance}"
        if self.sagemaker_hosting:
            hosted = f"SageMaker hosts ml.{self.instance}"
            if self.sagemaker_regions:
                hosted += f" (price known in {', '.join(self.sagemaker_regions)})"
        return (
            f"On-demand price known in {known}; other regions are not in the catalogue. {hosted}."
        )


def availability_of(instance: Instance) -> Availability:
    """What the catalogue knows of where an instance type is sold."""

    def regions(kind: str) -> tuple[str, ...]:
        return tuple(sorted({p.region for p in instance.prices if p.kind == kind}))

    return Availability(
        instance.name,
        regions("on-demand"),
        regions("spot"),
        regions("sagemaker"),
        instance.sagemaker_hosting,
    )


@dataclass(frozen=True, slots=True)
class HostMemory:
    """Bytes of host memory that loading one replica needs, and what the instance has.

    Replicas of one instance are loaded one after another. source: where the rule comes from.
    """

    loader: str
    needed_bytes: float
    instance_bytes: int
    source: str

    @property
    def words(self) -> str:
        """One sentence."""
        return (
            f"Loading ({self.loader}) needs {gib(self.needed_bytes)} of host memory; there are "
            f"{gib(self.instance_bytes)}."
        )


def host_memory_of(
    model: ModelSpec, setup: Setup, instance: Instance, loader: str | None = None
) -> HostMemory:
    """What loading the set-up asks of the host; `loader` None is the engine's usual one.

    On a CPU instance the weights stay in host memory, so all of them are needed.
    """
    found = loader_named(loader or engine_named(setup.engine).loader)
    fmt = EngineConfig(setup.weights, setup.kv).weight_format
    weights = resident_weight_bytes(model, fmt)
    needed = found.host_bytes(weights)
    if instance.kind == "cpu":
        needed = max(needed, found.reserve_bytes + weights)
    return HostMemory(found.name, needed, instance.host_memory_bytes, found.source)
