"""`Catalog`: the one object through which everybody reads facts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property
from typing import Any

from labkit.catalog import hardware, snapshots
from labkit.catalog.formats import FORMATS, number_format
from labkit.catalog.names import Index
from labkit.catalog.specs import Accelerator, Cpu, Instance, ModelSpec, NumberFormat, Price


class Catalog:
    """The facts of one snapshot: instances, accelerators, CPUs, prices, models, number formats.

    Tables are read on first use and kept. Every look-up ignores letter case, knows aliases, and
    raises `LabkitError` (one sentence with the nearest valid names) for an unknown name.
    """

    def __init__(self, snapshot: str) -> None:
        self.snapshot = snapshot

    def __repr__(self) -> str:
        return f"Catalog(snapshot={self.snapshot!r})"

    @staticmethod
    def load(snapshot: str | None = None) -> Catalog:
        """The catalogue of the snapshot with that date, or of the newest that is shipped.

        A pinned snapshot always gives the same facts, whatever else the machine knows.
        """
        return _load(snapshots.resolve(snapshot))

    @staticmethod
    def snapshots() -> tuple[str, ...]:
        """The dates of the snapshots that can be loaded, oldest first."""
        return snapshots.snapshots()

    @cached_property
    def _accelerators(self) -> dict[str, Accelerator]:
        return hardware.accelerators(self.snapshot)

    @cached_property
    def _accelerator_index(self) -> Index:
        return Index("accelerator", {a.name: a.aliases for a in self._accelerators.values()})

    @cached_property
    def _cpus(self) -> dict[str, Cpu]:
        return hardware.cpus(self.snapshot)

    @cached_property
    def _cpu_index(self) -> Index:
        return Index("CPU", {cpu.name: cpu.aliases for cpu in self._cpus.values()})

    @cached_property
    def _prices(self) -> dict[str, tuple[Price, ...]]:
        return hardware.prices(self.snapshot)

    @cached_property
    def _instances(self) -> dict[str, Instance]:
        processors = {n: cpu for cpu in self._cpus.values() for n in (cpu.name, *cpu.aliases)}
        return hardware.instances(self.snapshot, self._accelerators, self._prices, processors)

    @cached_property
    def _instance_index(self) -> Index:
        # SageMaker writes the same machine as ml.g5.xlarge.
        return Index("instance type", {name: (f"ml.{name}",) for name in self._instances})

    def accelerator(self, name: str) -> Accelerator:
        """The accelerator called `name`, e.g. "A10G" or "H100"."""
        return self._accelerators[self._accelerator_index.resolve(name)]

    def accelerators(self) -> tuple[Accelerator, ...]:
        """Every accelerator, in the table's order: NVIDIA by age, then AWS."""
        return tuple(self._accelerators.values())

    def cpu(self, name: str) -> Cpu:
        """The CPU called `name`, e.g. "Sapphire Rapids"; an `Instance.cpu` is such a name."""
        return self._cpus[self._cpu_index.resolve(name)]

    def cpus(self) -> tuple[Cpu, ...]:
        """Every CPU, in the table's order."""
        return tuple(self._cpus.values())

    def instance(self, name: str) -> Instance:
        """The EC2 instance type called `name`; "ml.g5.xlarge" is the same machine."""
        return self._instances[self._instance_index.resolve(name)]

    def instances(self, *, family: str = "", kind: str = "") -> tuple[Instance, ...]:
        """Every instance type, or those of one family ("g5") or kind ("gpu", "neuron", "cpu")."""
        if family:
            families = {i.family: () for i in self._instances.values()}
            family = Index("instance family", families).resolve(family)
        if kind:
            kind = Index("instance kind", {"gpu": (), "neuron": (), "cpu": ()}).resolve(kind)
        return tuple(
            i for i in self._instances.values() if family in {"", i.family} and kind in {"", i.kind}
        )

    def model(self, name: str) -> ModelSpec:
        """The model called `name`; hub ids and tuned versions ("Llama-2-13B-Chat") count."""
        from labkit.catalog import models

        resolved = models.index(self.snapshot).resolve(
            name, hint="Any other decoder: give a path to its config.json."
        )
        return models.shipped(self.snapshot, resolved)

    def find_model(self, name: str) -> ModelSpec | None:
        """The model that a measurement's or a log's model name means, or None.

        Reads more than `model`: suffixes of quantizers ("-AWQ", "-bnb-4bit") are left out, since
        such tables give the number format in a column of its own.
        """
        from labkit.catalog import models

        found = models.spelled_like(self.snapshot, name)
        return models.shipped(self.snapshot, found) if found else None

    def config(self, name: str) -> dict[str, Any]:
        """The fields of that model's published `config.json` which decide its size; a copy."""
        from copy import deepcopy

        from labkit.catalog import models

        return deepcopy(models.records(self.snapshot)[self.model(name).name]["config"])

    def models(self) -> tuple[ModelSpec, ...]:
        """Every shipped model."""
        return tuple(self.model(name) for name in self.model_names())

    def model_names(self) -> tuple[str, ...]:
        """The names of the shipped models, without deriving their specs."""
        from labkit.catalog import models

        return tuple(models.index(self.snapshot))

    def format(self, name: str) -> NumberFormat:
        """The number format called `name`; "int4-g32" asks for groups of 32."""
        return number_format(name)

    def formats(self) -> tuple[NumberFormat, ...]:
        """Every number format with its default group size."""
        return tuple(FORMATS.values())

    def prices(self) -> Iterator[tuple[str, Price]]:
        """Every price with the name of its instance type."""
        for name, entries in self._prices.items():
            for price in entries:
                yield name, price


@cache
def _load(snapshot: str) -> Catalog:
    return Catalog(snapshot)
