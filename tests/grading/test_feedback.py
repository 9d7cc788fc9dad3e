"""The feedback page: everything in words, everything escaped, nothing fetched."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from labkit.grading.feedback import page
from labkit.grading.results import Origin, Result

EVIL = "<script>alert('x')</script>\"&"


def outcome(status: str, **changes: object) -> dict[str, object]:
    return {
        "exercise": "1.1",
        "title": "The ridge",
        "status": status,
        "code": "",
        "message": "You used the sparse peak.",
        "points": 1.0 if status == "passed" else 0.0,
        "max_points": 1.0,
        "shown": "233 FLOP/B",
        "next": "",
        **changes,
    }


RESULT = Result(
    learner="ann",
    lab="01",
    status="graded",
    origin=Origin("0" * 64, "ann", "2026.1", "f" * 16, "full"),
    stem="01",
    title="Own the roofline",
    outcomes=tuple(outcome(s) for s in ("passed", "failed", "not attempted", "error")),
    errors=({"cell": "ex-1-2-answer", "ename": "NameError", "evalue": "name 'x'"},),
    warnings=("A warning.",),
    remarks=("A remark.",),
    private=("Somebody else.",),
)


class _Page(HTMLParser):
    """Open elements, attributes and text of a page; fails on what does not close."""

    VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.text += data


def test_every_outcome_is_said_in_words_and_with_a_sign():
    text = _Page(page(RESULT)).text
    for words in ("✓ Passed", "✗ Not yet", "○ Not attempted", "! Error", "Read as: 233 FLOP/B",
                  "You used the sparse peak.", "1 of 4 points", "(25 %)", "A warning.", "A remark.",
                  "NameError", "Isolation of the run: full", 'lab.hint("1.1")'):  # fmt: skip
        assert words in text
    assert "Somebody else" not in text


def test_the_page_stands_alone_and_is_structured():
    read = _Page(page(RESULT))
    assert ("lang", "en") in read.attributes
    assert read.tags.count("h1") == 1
    assert read.tags.count("h3") == 4
    assert not {"script", "img", "link", "iframe", "form"} & set(read.tags)
    assert not [value for name, value in read.attributes if name in ("src", "href")]


@pytest.mark.parametrize("field", ["learner", "lab", "title", "message", "warnings", "outcomes"])
def test_whatever_a_learner_wrote_is_escaped(field):
    evil = {
        "warnings": (EVIL,),
        "outcomes": (outcome("failed", message=EVIL, shown=EVIL, title=EVIL, exercise=EVIL),),
    }.get(field, EVIL)
    read = _Page(page(replace(RESULT, **{field: evil})))
    assert "script" not in read.tags
    assert "alert('x')" in read.text


def test_errors_with_markup_are_escaped():
    read = _Page(page(replace(RESULT, errors=({"cell": EVIL, "ename": EVIL, "evalue": EVIL},))))
    assert "script" not in read.tags


def test_a_submission_that_could_not_be_graded_says_why_and_gives_no_score():
    origin = replace(RESULT.origin, submission_sha256="", course_version="")
    missing = Result("ann", "", "missing", origin, "missing", message="Holds no notebook.")
    text = _Page(page(missing)).text
    assert "Nothing was handed in." in text
    assert "Holds no notebook." in text
    assert "points" not in text


def test_a_grade_without_a_sandbox_says_so_first():
    text = _Page(page(replace(RESULT, origin=replace(RESULT.origin, isolation="none")))).text
    assert text.index("Not a safe grade.") < text.index("of 4 points")
