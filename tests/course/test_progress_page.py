from __future__ import annotations

import json
import re
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import pytest

from labkit.cli.main import main
from labkit.contract.events import Event
from labkit.contract.paths import LEARNER_FILE, STATE_DIR
from labkit.course import workspace
from labkit.course.journal import Journal
from labkit.course.progress import course_progress
from labkit.course.progress_page import page

DAY = date(2026, 11, 30)


class Outline(HTMLParser):
    """Tags in order; raises nothing, so balance is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def outline(html: str) -> Outline:
    found = Outline()
    found.feed(html)
    assert found.open == []
    return found


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "ws"
    workspace.init(folder, "ada")
    monkeypatch.setenv("LABKIT_WORKSPACE", str(folder))
    return folder


def predicted(journal: Journal, hits: int, of: int, confidence: int) -> None:
    for i in range(of):
        name = f"8.{i + 1}"
        answer = {"kind": "quantity", "number": 1}
        journal.add(Event("predict", "08", name, confidence=confidence, answer=answer))
        detail = {"hit": i < hits, "predicted": "1", "found": "2"}
        journal.add(Event("check", "08", name, status="passed", points=1.0, detail=detail))


def test_it_says_what_is_done_what_is_next_and_how_sure_one_may_be(root: Path) -> None:
    journal = Journal(root)
    journal.add(Event("check", "01", "1.2", status="passed", points=1.0))
    journal.add(Event("check", "01", "1.1", status="failed", code="inverted"))
    predicted(journal, hits=1, of=6, confidence=90)
    html = page(course_progress(root), DAY)
    text = re.sub(r"<[^>]+>", " ", html)
    for words in (
        "Progress of ada",
        "As of 2026-11-30",
        "Next: 1.1",
        "1 of 12 exercises passed",
        "✓ Passed",
        "✗ Not yet",
        "○ Not attempted",
        "You said 90 % and were right 1 of 6: over-confident.",
        "1 of 6",
    ):
        assert words in text, words


def test_it_is_one_accessible_file(root: Path) -> None:
    predicted(Journal(root), hits=5, of=6, confidence=80)
    html = page(course_progress(root), DAY)
    found = outline(html)
    tags = [tag for tag, _ in found.seen]
    assert tags.count("h1") == 1
    assert ("html", {"lang": "en"}) in found.seen
    tables = tags.count("table")
    assert tables == tags.count("caption") == 1 + tags.count("section") - 1
    assert all(a.get("scope") in ("row", "col") for tag, a in found.seen if tag == "th")
    assert all(a.get("aria-label") for tag, a in found.seen if tag == "svg")
    assert not {"script", "link", "img", "iframe"} & set(tags)
    assert "http" not in html.replace("http-equiv", "")
    assert "@media print" in html


def test_before_there_are_enough_predictions_there_is_no_chart(root: Path) -> None:
    html = page(course_progress(root), DAY)
    assert "<svg" not in html
    assert "more, and this says how sure you may be" in html


def test_what_others_wrote_is_escaped(root: Path) -> None:
    """The events file may hold anything: here a found value that is markup."""
    journal = Journal(root)
    evil = "<script>alert(1)</script>"
    answer = {"kind": "quantity", "number": 1, "unit": evil}
    journal.add(Event("predict", "01", "1.8", confidence=70, answer=answer))
    detail = {"hit": False, "predicted": evil, "found": evil}
    journal.add(Event("check", "01", "1.8", status="passed", points=1.0, detail=detail))
    html = page(course_progress(root), DAY)
    assert "<script" not in html
    outline(html)


def test_the_command_replaces_its_own_page_and_nothing_else(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "my progress.html"
    assert main(["progress", "--page", str(target)]) == 0
    assert "Written to" in capsys.readouterr().out
    Journal(root).add(Event("check", "01", "1.2", status="passed", points=1.0))
    assert main(["progress", "--page", str(target), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["learner"] == "ada"
    assert "1 of 12 exercises passed" in target.read_text(encoding="utf-8")

    thesis = tmp_path / "thesis.html"
    thesis.write_text("mine", encoding="utf-8")
    for place, words in (
        (thesis, "is no page of labkit"),
        (tmp_path, "is a folder"),
        (tmp_path / "none" / "p.html", "There is no folder"),
        (root / STATE_DIR / LEARNER_FILE, "is no page of labkit"),
    ):
        assert main(["progress", "--page", str(place)]) == 2
        said = capsys.readouterr().err
        assert words in said
        assert len(said.strip().splitlines()) == 1
    assert thesis.read_text(encoding="utf-8") == "mine"
