"""A small lab of four exercises, so that these tests do not change with the real ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.contract import Code, Given
from labkit.course.manifest import LabPlan
from labkit.course.material import Material
from labkit.exercises import Exercise, Mistake, Tier
from labkit.exercises.kinds import Choice, FunctionKind, Option, Quantity
from labkit.exercises.spec import Draw


def exercise(id: str, **changes: Any) -> Exercise:
    fields: dict[str, Any] = {
        "id": id,
        "title": f"Toy {id}",
        "objective": "count",
        "points": 1,
        "tier": Tier.CORE,
        "kind": Quantity("GB"),
        "statement": "How much is **it**?",
        "answer_name": f"answer_{id.replace('.', '_')}",
        "draw": lambda draw: (Given("size", 40, "GB", "size"),),
        "reference": lambda g: 2 * g.size,
        "mistakes": (Mistake(Code.INVERTED, "You halved it.", lambda g: g.size / 2),),
        "hints": ("Look.", "Look closer.", "Twice the size."),
        "solution": f"answer_{id.replace('.', '_')} = 2 * g.size",
        "praise": "Twice it is.",
        "claim": "E001",
    }
    return Exercise(**{**fields, **changes})


def _personal(draw: Draw) -> tuple[Given, ...]:
    return (Given("size", draw.rng.randrange(10, 10_000), "GB", "size"),)


TOYS = (
    exercise("1.1"),
    exercise("1.2", tier=Tier.PERSONAL, draw=_personal),
    exercise(
        "1.3",
        tier=Tier.TRANSFER,
        points=2,
        kind=FunctionKind("double(size)", "Twice the size.", ("size",)),
        answer_name="double",
        draw=_personal,
        reference=lambda g: lambda size: 2 * size,
        mistakes=(Mistake(Code.INVERTED, "You halved it.", lambda g: lambda size: size / 2),),
        solution="def double(size):\n    return 2 * size",
    ),
    exercise(
        "1.4",
        kind=Choice((Option("a", "yes"), Option("b", "no"))),
        reference=lambda g: "a",
        mistakes=(Mistake(Code.WRONG_ROOF, "No is wrong.", lambda g: "b"),),
        solution='answer_1_4 = "a"',
    ),
)

SOURCE = """\
# %% [markdown]
# # Toy lab
#
# Some prose.

# %% setup

# %% predict 1.1 value=80 confidence=90

# %% exercise 1.1

# %% [markdown]
# Between two exercises.

# %%
halfway = "here"

# %% exercise 1.2

# %% statement 1.3

# %% answer 1.3
import math
### BEGIN SOLUTION
def double(size):
    return math.prod([2, size])
### END SOLUTION

# %% check 1.3

# %% exercise 1.4 given=false
"""


def material(*exercises: Exercise, version: str = "1") -> Material:
    chosen = exercises or TOYS
    ids = tuple(e.id for e in chosen)
    plan = LabPlan("01", "01_toy.ipynb", "Toy", 5, ("count",), ids)
    facts: Callable[[], Any] = object
    return Material(plan, version, {e.id: e for e in chosen}, facts, ids)


class RightStub(Quantity):
    """A kind whose blank already holds the answer."""

    def stub(self, exercise: Exercise) -> str:
        return f"{exercise.answer_name} = 80"
