"""What a lab is made of: its plan, its exercises and the facts they draw from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from labkit.course.manifest import LabPlan, load_manifest
from labkit.course.resources import resources
from labkit.exercises import Exercise, Facts, load


@dataclass(frozen=True)
class Material:
    """One lab's material. `load_facts` is called at the first draw, not before."""

    plan: LabPlan
    version: str
    exercises: Mapping[str, Exercise]
    load_facts: Callable[[], Facts]
    declared: tuple[str, ...] = ()  # ids as the exercises' module lists them

    @cached_property
    def facts(self) -> Facts:
        """The pinned facts, loaded once."""
        return self.load_facts()


def load_material(number: str) -> Material:
    """The shipped material of a lab: "01" or "1". Raises UnknownNameError for another."""
    manifest = load_manifest(resources().manifest)
    plan = manifest.lab(number)
    exercises = load(plan.number)
    return Material(
        plan=plan,
        version=manifest.version,
        exercises={name: exercises[name] for name in plan.exercises},
        load_facts=lambda: Facts.load(manifest.snapshot),
        declared=tuple(exercises),
    )
