"""The pinned facts that exercises draw from: the catalogue of one day, the same for everybody.

Refreshed prices never reach an exercise; a grade made today is the grade made next year.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.catalog import Accelerator, Catalog, Instance, ModelSpec, NumberFormat

SNAPSHOT = "2026-11-30"


@dataclass(frozen=True, slots=True)
class Facts:
    """A pinned catalogue. Build with `Facts.load()`."""

    catalog: Catalog
    snapshot: str

    @classmethod
    def load(cls, snapshot: str = SNAPSHOT) -> Facts:
        """The facts of that snapshot. Raises LabkitError when it is not shipped."""
        return cls(Catalog.load(snapshot=snapshot), snapshot)

    def accelerator(self, name: str) -> Accelerator:
        """An accelerator by name."""
        return self.catalog.accelerator(name)

    def instance(self, name: str) -> Instance:
        """An instance type by name."""
        return self.catalog.instance(name)

    def model(self, name: str) -> ModelSpec:
        """A model by name or alias."""
        return self.catalog.model(name)

    def format(self, name: str) -> NumberFormat:
        """A number format by name."""
        return self.catalog.format(name)
