"""Events on disk, and what is shown: escaped, with a plain twin, not by colour alone."""

from __future__ import annotations

from multiprocessing import get_context
from pathlib import Path

import pytest

from labkit.contract import Code, Given, Givens, Outcome, Status
from labkit.contract.errors import UnknownNameError, nearest
from labkit.contract.events import Event, append, read
from labkit.contract.paths import (
    answer_cell,
    check_cell,
    find_workspace,
    valid_exercise,
    valid_learner,
)
from labkit.contract.view import number, prose


def test_events_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / ".labkit" / "events.jsonl"
    for i in range(3):
        append(path, Event("check", "01", "1.1", status="failed", points=float(i)))
    assert [event.points for event in read(path)] == [0.0, 1.0, 2.0]
    assert all(event.at.endswith("+00:00") for event in read(path))


def test_a_torn_line_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    append(path, Event("check", "01", "1.1"))
    with path.open("ab") as file:
        file.write(b'{"what": "check", "lab": "01", "exer')
    append(path, Event("hint", "01", "1.2"))
    assert [event.what for event in read(path)] == ["check", "hint"]


def _write_many(path: str, who: str) -> None:
    for i in range(100):
        append(Path(path), Event("check", "01", who, detail={"i": i, "pad": "x" * 500}))


def test_two_notebooks_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.touch()
    context = get_context("spawn")
    writers = [context.Process(target=_write_many, args=(str(path), who)) for who in ("a", "b")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    events = list(read(path))
    assert len(events) == 200
    assert [e.detail["i"] for e in events if e.exercise == "a"] == list(range(100))


def test_a_card_says_its_state_in_words_and_escapes() -> None:
    outcome = Outcome(
        "1.1", Status.FAILED, "<script>alert(1)</script> & more", Code.SIGN, 0, 1, "<b>", "T"
    )
    bundle = outcome._repr_mimebundle_()
    assert "<script>" not in bundle["text/html"]
    assert "&lt;script&gt;" in bundle["text/html"]
    assert "✗ Not yet" in bundle["text/html"]
    assert "✗ Not yet" in bundle["text/plain"] == str(outcome)


def test_backticks_become_code_after_escaping_and_stay_in_plain_text() -> None:
    says = "Replace the ... of `share`, not `<b>`. A single ` stays."
    bundle = Outcome("1.1", Status.FAILED, says, Code.NONE, 0, 1)._repr_mimebundle_()
    assert (
        "of <code>share</code>, not <code>&lt;b&gt;</code>. A single ` stays."
        in bundle["text/html"]
    )
    assert says in bundle["text/plain"]
    assert prose("`<script>`") == "<code>&lt;script&gt;</code>"


def test_givens_by_attribute_and_a_helpful_miss() -> None:
    g = Givens("1.1", (Given("bandwidth_gbps", 600.0, "GB/s", "<A10G>", "catalogue"),))
    assert g.bandwidth_gbps == g["bandwidth_gbps"] == 600.0
    assert "bandwidth_gbps" in dir(g)
    assert "&lt;A10G&gt;" in g._repr_html_()
    with pytest.raises(AttributeError, match="given: bandwidth_gbps"):
        _ = g.bandwith
    assert Givens.from_json(g.to_json()) == g


def test_names_near_a_wrong_one() -> None:
    assert nearest("g6e.xlage", ["g5.xlarge", "g6e.xlarge", "p5.48xlarge"])[0] == "g6e.xlarge"
    assert "did you mean" in str(UnknownNameError("instance", "g6e.xlage", ["g6e.xlarge"]))
    assert str(UnknownNameError("lab", "zz", ["01"])) == "Unknown lab 'zz': known: 01."


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (600.0, "600"),
        (0.0, "0"),
        (116.6667, "116.7"),
        (46_702_792_704, "46,702,792,704"),
        (1.5e-5, "1.5e-05"),
        (39.974, "39.97"),
    ],
)
def test_numbers_as_people_read_them(value: float, shown: str) -> None:
    assert number(value) == shown


def test_ids_cells_and_workspaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (answer_cell("1.7"), check_cell("1.10")) == ("ex-1-7-answer", "ex-1-10-check")
    assert valid_exercise("1.10")
    assert not valid_exercise("1.10; rm")
    assert valid_learner("a.b+c@example")
    for bad in ("", "../x", "a/b", "-a", "a..b", "x" * 65, "a b"):
        assert not valid_learner(bad)
    monkeypatch.delenv("LABKIT_WORKSPACE", raising=False)
    (tmp_path / ".labkit").mkdir()
    (tmp_path / ".labkit" / "learner.toml").touch()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    assert find_workspace(tmp_path / "deep" / "er") == tmp_path
