"""The core alone, from the wheel, in a bare environment: sizes, shows, inits, checks."""

from __future__ import annotations

import json
import time
from datetime import date
from pathlib import Path

import pytest

from labkit.course.release import SUMS, pack
from labkit.course.wheels import Wheel
from tests.wheel.environments import ROOT, Environment, absent, bare

pytestmark = pytest.mark.heavy

HEAVY = ("torch", "transformers", "jupyterlab", "boto3", "matplotlib", "IPython", "nbformat")
ESTIMATE = ("estimate", "llama-3-8b", "g5.xlarge", "--json")


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory, wheel_file: Path, pins: Path) -> Environment:
    made = bare(tmp_path_factory.mktemp("core"))
    made.pip_install(str(wheel_file), "--constraint", str(pins))
    return made


@pytest.mark.quiet
def test_it_answers_within_a_minute_of_starting_the_install(
    core: Environment,  # installed before: now pip's cache is warm
    tmp_path: Path,
    wheel_file: Path,
    pins: Path,
    record_property: pytest.RecordProperty,
) -> None:
    fresh = bare(tmp_path)
    begun = time.monotonic()
    fresh.pip_install(str(wheel_file), "--constraint", str(pins))
    installed = time.monotonic() - begun
    answer = json.loads(fresh.says("labkit", *ESTIMATE))
    seconds = time.monotonic() - begun
    record_property("seconds", seconds)
    print(f"core install {installed:.1f} s, first estimate after {seconds:.1f} s")
    assert answer["fits"] is True
    assert seconds < 60


def test_nothing_heavy_came_along_and_the_clone_is_not_seen(core: Environment) -> None:
    assert absent(core, HEAVY) == list(HEAVY)
    code = "import labkit, sys; print(labkit.__file__, *sys.path, sep='\\n')"
    home, *path = core.says("python", "-c", code).splitlines()
    assert Path(home).is_relative_to(core.folder)
    assert not any(Path(name).is_relative_to(ROOT) for name in path if name)


def test_the_facts_are_there(core: Environment) -> None:
    assert "g5.xlarge" in core.says("labkit", "catalog", "show", "g5.xlarge")
    assert core.says("labkit", "--version").startswith("labkit 0.")


def test_a_workspace_is_made_and_an_answer_checked(core: Environment) -> None:
    core.says("labkit", "init", "desk", "--learner", "ada")
    code = """
from labkit import Lab
from labkit.exercises import load
lab = Lab("01")
g = lab.given("1.1")
lab.check("1.1", 0.0)
exec(load("01")["1.1"].solution)
lab.check("1.1", ridge_a10g)
"""
    desk = str(core.work / "desk")
    core.says("python", "-c", code, env={"LABKIT_WORKSPACE": desk})
    report = json.loads(core.says("labkit", "progress", "--json", env={"LABKIT_WORKSPACE": desk}))
    [row] = [r for lab in report["labs"] for r in lab["exercises"] if r["exercise"] == "1.1"]
    assert (report["learner"], row["status"], row["attempts"]) == ("ada", "passed", 2)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("lab",), "JupyterLab is not installed"),
        (("bench", "machine"), "torch"),
        (("grade", "desk", "--out", "grades"), "Grading needs"),
        (("dev", "build"), "clone"),
    ],
)
def test_what_the_core_cannot_do_names_the_remedy(
    core: Environment, command: tuple[str, ...], words: str
) -> None:
    desk = core.work / "desk"
    if not desk.exists():
        core.says("labkit", "init", "desk", "--learner", "ada")
    done = core.run("labkit", *command, env={"LABKIT_WORKSPACE": str(desk)})
    assert done.returncode == 2
    last = done.stderr.strip().splitlines()[-1]
    assert words in last
    assert "Traceback" not in done.stderr
    assert "make lab" not in last  # there is no Makefile here


def test_an_installed_core_makes_the_same_release_as_the_clone(
    core: Environment, wheel: Wheel
) -> None:
    day = {"SOURCE_DATE_EPOCH": "1796083200"}
    made = json.loads(core.says("labkit", "release", "--out", "packs", "--json", env=day))
    folder = core.work / made["folder"]
    _, ours = pack(wheel, date(2026, 12, 1))
    theirs = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert set(theirs) == set(ours)
    differ = {name for name in ours if ours[name] != theirs[name]}
    assert differ <= {wheel.name, SUMS}  # the wheel is packed anew: another order, same files
    again = Wheel(wheel.name, theirs[wheel.name]).files()
    first = wheel.files()
    assert set(again) == set(first)
    assert [n for n in first if first[n] != again[n] and not n.endswith("/RECORD")] == []
