"""The labs that are really shipped: proven, up to date, and light to open."""

from __future__ import annotations

import subprocess
import sys

import pytest

from labkit.course.manifest import load_manifest
from labkit.course.material import load_material
from labkit.course.proof import prove
from labkit.course.resources import resources
from labkit.exercises.facts import SNAPSHOT
from labkit.exercises.registry import LABS

MANIFEST = load_manifest(resources().manifest)


@pytest.mark.parametrize("number", [plan.number for plan in MANIFEST.labs])
def test_every_exercise_of_every_lab_is_proven(number: str) -> None:
    shipped = resources()
    report = prove(load_material(number), shipped.labs, shipped.solutions)
    assert report.findings == []
    assert report.checks > report.exercises


def test_every_lab_with_exercises_is_in_the_curriculum_and_pinned_to_the_same_day() -> None:
    assert [plan.number for plan in MANIFEST.labs] == sorted(LABS)
    assert MANIFEST.snapshot == SNAPSHOT


def test_opening_a_lab_loads_nothing_heavy() -> None:
    code = (
        "import sys; from labkit import Lab; "
        "heavy = {'torch', 'transformers', 'matplotlib', 'pandas', 'pint', 'nbformat', 'jupytext', "
        "'nbclient', 'IPython'} & set(sys.modules); print(*sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
