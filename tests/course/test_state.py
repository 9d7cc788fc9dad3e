from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.contract import Status, events
from labkit.contract.events import Event
from labkit.contract.paths import EVENTS_FILE, STATE_DIR
from labkit.course.journal import MAX_ANSWER, Journal, keepable
from labkit.course.state import NEW, replay


def check(name: str, status: str, points: float = 0.0, lab: str = "01") -> Event:
    return Event("check", lab, name, status=status, points=points, answer={"kind": "none"})


def test_the_last_answer_counts_and_blanks_and_errors_are_no_attempts() -> None:
    standing = replay(
        [
            check("1.1", "not attempted"),
            check("1.1", "failed"),
            check("1.1", "passed", 1),
            check("1.1", "failed"),
            check("1.1", "not attempted"),
        ]
    )["1.1"]
    assert standing.status is Status.FAILED
    assert (standing.ever_passed, standing.attempts, standing.points) == (True, 3, 0)
    assert replay([check("1.2", "error")])["1.2"].attempts == 0


def test_resets_forget_one_exercise_or_one_lab() -> None:
    before = [check("1.1", "passed", 1), check("1.2", "passed", 1), check("2.1", "passed", 1, "02")]
    one = replay([*before, Event("reset", "01", "1.1")])
    assert sorted(one) == ["1.2", "2.1"]
    assert sorted(replay([*before, Event("reset", "01")])) == ["2.1"]
    again = replay([*before, Event("reset", "01"), check("1.1", "failed")])
    assert not again["1.1"].ever_passed


def test_only_predictions_before_the_first_answer_count() -> None:
    def said(number: float, confidence: int) -> Event:
        answer = {"kind": "quantity", "number": number}
        return Event("predict", "01", "1.1", confidence=confidence, answer=answer)

    standing = replay([said(1, 50), said(2, 20), said(9, 4), check("1.1", "failed"), said(3, 100)])[
        "1.1"
    ]
    assert standing.prediction is not None
    assert (standing.prediction.answer["number"], standing.prediction.confidence) == (2, 20)


def test_torn_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / STATE_DIR / EVENTS_FILE
    events.append(path, check("1.1", "passed", 1))
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(whole[: len(whole) // 2])  # the laptop lost power here
    events.append(path, check("1.2", "failed"))
    with path.open("ab") as file:
        for strange in (
            b"[]\n",
            b"\xff\xfe\n",
            b"null\n",
            b'{"what": "check", "lab": "01", "exercise": ["1.3"], "status": "passed"}\n',
            b'{"what": ["check"], "lab": "01", "exercise": "1.3", "status": "passed"}\n',
            b'{"what": "check", "lab": "01", "exercise": "1.3", "status": 7, "detail": 3}\n',
            b'{"what": "hint", "lab": "01", "exercise": "1.3", "detail": {"hint": "x"}}\n',
        ):
            file.write(strange)
    standings = Journal(tmp_path).standings
    assert standings["1.1"].passed
    assert standings["1.2"].attempts == 1
    assert standings.get("1.3", NEW).attempts == 0


def _write(root: Path, name: str, n: int) -> None:
    journal = Journal(root)
    for _ in range(n):
        journal.add(check(name, "passed", 1))


def test_notebooks_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write, args=(tmp_path, f"1.{i}", 100)) for i in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    standings = Journal(tmp_path).standings
    assert {name: s.attempts for name, s in standings.items()} == {f"1.{i}": 100 for i in range(3)}


@given(st.lists(st.sampled_from(["passed", "failed", "error", "not attempted", "?"]), max_size=20))
def test_replay_is_the_last_real_status(statuses: list[str]) -> None:
    standing = replay(check("1.1", s, float(s == "passed")) for s in statuses).get("1.1", NEW)
    real = [s for s in statuses if s in ("passed", "failed", "error")]
    assert standing.status.value == (real[-1] if real else "not attempted")
    assert standing.ever_passed == ("passed" in statuses)
    assert standing.points == float(bool(real) and real[-1] == "passed")


@pytest.mark.parametrize(
    ("wire", "kept"),
    [
        ({"kind": "quantity", "number": 1}, {"kind": "quantity", "number": 1}),
        ({"kind": "text", "text": "x" * MAX_ANSWER}, None),
        ({"kind": "quantity", "number": float("nan")}, None),
        (
            {"kind": "record", "record": {"id": "machine", "x": 1}},
            {"kind": "record", "id": "machine"},
        ),
    ],
)
def test_answers_are_kept_small(wire: dict[str, object], kept: object) -> None:
    assert json.dumps(keepable(wire)) == json.dumps(kept)
