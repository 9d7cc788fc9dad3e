"""The proof is proven: each planted fault must be found, and named for what it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from labkit.contract import Code, Given
from labkit.course import notebooks
from labkit.course.build import build
from labkit.course.material import Material
from labkit.course.proof import Report, prove
from labkit.course.source import SourceError
from labkit.exercises import Exercise, Mistake, Tier
from tests.course.toy import SOURCE, TOYS, RightStub, material

PLAIN, PERSONAL, FUNCTION, CHOICE = TOYS


def proven(folder: Path, lab: Material, source: str = SOURCE, *, built: bool = True) -> Report:
    labs, solutions = folder / "labs", folder / "solutions"
    labs.mkdir()
    solutions.mkdir()
    (solutions / lab.plan.source).write_text(source, "utf-8")
    if built:
        try:
            made = build(lab, source)
        except SourceError:
            pass  # prove must say so itself
        else:
            notebooks.write(labs / lab.plan.file, made.blank)
            notebooks.write(solutions / lab.plan.file, made.solved)
    return prove(lab, labs, solutions, seeds=6)


def planted(**changes: Any) -> Material:
    return material(replace(PLAIN, **changes), PERSONAL, FUNCTION, CHOICE)


def test_the_sound_lab_is_proven(tmp_path: Path) -> None:
    report = proven(tmp_path, material())
    assert report.findings == []
    assert report.proven
    assert report.checks > 40


def test_what_the_lab_prints_and_saves_stays_out_of_the_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LABKIT_REPLAY", raising=False)
    noisy = SOURCE.replace('halfway = "here"', 'print("noise")\nopen("saved.txt", "w").close()')
    assert proven(tmp_path, material(), noisy).proven
    assert capsys.readouterr().out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labs", "solutions"]
    assert Path.cwd() == tmp_path
    assert "LABKIT_REPLAY" not in os.environ


def _two(mistake: Mistake) -> tuple[Mistake, Mistake]:
    return PLAIN.mistakes[0], mistake


def _draws_the_same(_draw: Any) -> tuple[Given, ...]:
    return (Given("size", 40, "GB", "size"),)


def faults() -> Iterator[tuple[str, Material, str, str]]:
    same = Mistake(Code.CLOSE, "It is right.", lambda g: 2 * g.size)
    yield "mistake equal to reference", planted(mistakes=(same,)), "Lab 01", "mistakes apart"
    owned = planted(mistakes=(same,), tier=Tier.OWN)
    yield "mistake that passes on own numbers", owned, "1.1", "the mistake close passes"
    yield "reference and mistake collide", owned, "1.1", "reference and close cannot be told"
    twin = Mistake(Code.SIGN, "Also half.", lambda g: g.size / 2)
    collide = planted(mistakes=_two(twin))
    yield "two mistakes collide", collide, "Lab 01", "No draw of exercise 1.1 tells"
    owned = planted(mistakes=_two(twin), tier=Tier.OWN)
    yield "mistake told as another", owned, "1.1", "sign is told as inverted"
    yield "solution that fails", planted(solution="answer_1_1 = 3"), "1.1", "does not pass: failed"
    yield "solution that raises", planted(solution="answer_1_1 = 1 / 0"), "Lab 01", "ZeroDivision"
    yield "solution of another name", planted(solution="x = 80"), "1.1", "never assigns"
    yield (
        "stub that passes",
        planted(kind=RightStub("GB")),
        "1.1",
        "its blank counts as passed, not as not attempted",
    )
    yield "two hints", planted(hints=("a", "a", "b")), "1.1", "three different hints"
    yield "too many points", planted(points=9), "1.1", "the limit is 5"
    yield "no claim of the errata", planted(claim="see page 3"), "1.1", "no id of the errata"
    yield "no statement", planted(statement=" "), "1.1", "its statement is empty"
    yield (
        "broken mistake",
        planted(mistakes=_two(replace(twin, value=lambda g: g.no))),
        "Lab 01",
        "no",
    )
    yield (
        "personal without a draw",
        material(PLAIN, replace(PERSONAL, draw=_draws_the_same), FUNCTION, CHOICE),
        "1.2",
        "6 learners have the same numbers",
    )
    yield (
        "typed constant passes",
        material(PLAIN, PERSONAL, _constant(FUNCTION), CHOICE),
        "1.3",
        "a typed constant passes",
    )
    yield (
        "two exercises, one variable",
        material(PLAIN, PERSONAL, FUNCTION, replace(CHOICE, answer_name="double")),
        "Lab 01",
        "'double'",
    )
    extra = replace(material(), declared=("1.1", "1.2"))
    yield "manifest and module disagree", extra, "Lab 01", "declared are 1.1, 1.2"


def _constant(exercise: Exercise) -> Exercise:
    return replace(
        exercise,
        draw=_draws_the_same,
        reference=lambda g: lambda size: 80,
        tier=Tier.TRANSFER,
    )


FAULTS = list(faults())


@pytest.mark.parametrize(
    ("lab", "where", "words"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_a_planted_fault_is_found(tmp_path: Path, lab: Material, where: str, words: str) -> None:
    report = proven(tmp_path, lab)
    assert not report.proven
    said = [says for place, says in report.findings if place == where]
    assert any(words in says for says in said), report.findings


def test_a_lab_that_is_not_built_or_not_up_to_date_is_found(tmp_path: Path) -> None:
    report = proven(tmp_path, material(), built=False)
    assert [says for _, says in report.findings] == [
        "labs/01_toy.ipynb is missing.",
        "solutions/01_toy.ipynb is missing.",
    ]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("# %% exercise 1.2\n", "", "1.2 has 0 statement cells"),
        ('halfway = "here"', "answer = 2 * g.size\nanswer_1_1 = 2 * g.size", "holds the solution"),
        ('halfway = "here"', "1 / 0", "raises ZeroDivisionError"),
    ],
)
def test_a_fault_in_the_source_is_found(tmp_path: Path, old: str, new: str, words: str) -> None:
    report = proven(tmp_path, material(), SOURCE.replace(old, new))
    assert any(words in says for _, says in report.findings), report.findings


def test_more_than_twelve_graded_answers_are_too_many(tmp_path: Path) -> None:
    many = tuple(replace(PLAIN, id=f"1.{i}", answer_name=f"a{i}") for i in range(1, 14))
    report = proven(tmp_path, material(*many), built=False)
    assert ("Lab 01", "it has 13 graded answers; the limit is 12.") in report.findings
