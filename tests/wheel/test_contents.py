"""What is in the wheel, and what never is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from labkit.course.wheels import Wheel, build
from tests.wheel.environments import ROOT


@pytest.fixture(scope="module")
def files(wheel: Wheel) -> dict[str, bytes]:
    return wheel.files()


def tracked(*folders: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *folders],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def test_its_name_is_the_distribution_s_and_it_runs_anywhere(wheel: Wheel) -> None:
    assert wheel.name.startswith("inference_labkit-")
    assert wheel.name.endswith("-py3-none-any.whl")


def test_it_carries_the_package_and_the_labs_byte_for_byte(files: dict[str, bytes]) -> None:
    for name in tracked("src/labkit"):
        assert files[name.removeprefix("src/")] == (ROOT / name).read_bytes(), name
    for name in tracked("labs"):
        assert files[f"labkit/course/{name}"] == (ROOT / name).read_bytes(), name


@pytest.mark.parametrize(
    "name",
    [
        "labkit/course/labs/course.toml",
        "labkit/course/labs/01_own_the_roofline.ipynb",
        "labkit/bench/recordings/machine.json",
        "labkit/catalog/data/2026-11-30/instances.csv",
        "labkit/exercises/registry.py",
        "labkit/grading/feedback.html.j2",
        "labkit/course/pack/tools/pack/start.py",
    ],
)
def test_what_learners_and_instructors_need_is_there(name: str, files: dict[str, bytes]) -> None:
    assert files[name]
    assert "labkit/py.typed" in files  # it is empty


def test_nothing_else_is_in_it(files: dict[str, bytes]) -> None:
    known = {name.removeprefix("src/") for name in tracked("src/labkit")}
    known |= {f"labkit/course/{name}" for name in tracked("labs")}
    known |= {f"labkit/course/pack/{n}" for n in tracked("Makefile", "tools/pack", "tools/setup")}
    others = sorted(n for n in files if n not in known and ".dist-info/" not in n)
    assert others == []


def test_no_solution_source_no_test_and_no_key(files: dict[str, bytes]) -> None:
    sources = {path.read_bytes() for path in (ROOT / "solutions").iterdir() if path.is_file()}
    for name, raw in files.items():
        parts = Path(name).parts
        assert "solutions" not in parts, name
        assert "tests" not in parts, name
        assert Path(name).name != "key", name
        assert raw not in sources, name


def test_it_is_the_same_each_time(wheel: Wheel) -> None:
    assert build(ROOT).raw == wheel.raw
